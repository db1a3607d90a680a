/* Interleaved walks along several rings, so that as many loads are outstanding as there are rings.

   rdi  address of the walks' cursors: the addresses of their next pointer words
   rsi  walks, not 0
   rdx  rounds, not 0; a round is one step per walk

   2 loads, 16 bytes, 1 store, 8 bytes per step: the cursor is loaded and stored, as there are more
   walks than registers. The load of a cursor waits some cycles for its last store, in addition to the
   wait of the ring's load for memory. */

#include "linefill.h"

kernel linefill_lanes
1:      xor     ecx, ecx
        .balign 32
2:      mov     rax, [rdi + 8*rcx]
        mov     rax, [rax]
        mov     [rdi + 8*rcx], rax
        inc     rcx
        cmp     rcx, rsi
        jb      2b
        dec     rdx
        jnz     1b
        ret
kernel_end linefill_lanes
