/* Walks along several rings side by side: a step of each in turn, so that as many loads are under
   way as there are rings.

   rdi  addresses of the pointer words that the walks come to next
   rsi  walks, not 0
   rdx  rounds, not 0: a step of every walk

   2 loads, 16 bytes, 1 store, 8 bytes per step: the cursor is loaded and stored, as there are more
   walks than registers. It waits some cycles for itself, where its ring waits for memory. */

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
