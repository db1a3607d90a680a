/* A chain that touches no memory: the latency of a value that stays in its register.

   rdi  value
   rsi  steps, not 0
   rax  result: the value, inverted `steps` times

   `not` takes one cycle, touches no flags, and no renamer eliminates it. */

#include "linefill.h"

/* No load, no store. */
kernel linefill_register
        mov     rax, rdi
        .balign 32
1:      not     rax
        dec     rsi
        jnz     1b
        ret
kernel_end linefill_register
