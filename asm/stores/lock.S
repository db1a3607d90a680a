/* Repeated locked additions.

   rdi  address of the word
   rsi  additions, not 0
   rax  result: the word before the last addition

   1 load, 8 bytes; 1 store, 8 bytes per iteration, by one `lock xadd`. Within a line the core holds
   the line for the duration of the instruction; across two lines it has to keep all other cores from
   memory (Intel SDM volume 3, section "Bus Locking"). */

#include "linefill.h"

kernel linefill_lock_add
        .balign 32
1:      mov     eax, 1
        lock xadd [rdi], rax
        dec     rsi
        jnz     1b
        ret
kernel_end linefill_lock_add
