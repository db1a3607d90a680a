/* Sestoft's memory latency loop (note A.1): `k = a[k]` on 32-bit indices.

   rdi  the slots
   rsi  the first index
   rdx  steps, not 0
   rcx  number of slots, used by the kernel that checks the index
   rax  result: the last index */

#include "linefill.h"

/* 1 load per step. */
kernel linefill_jump
        mov     eax, esi
        .balign 32
1:      mov     eax, [rdi + rax * 4]
        dec     rdx
        jnz     1b
        ret
kernel_end linefill_jump

/* 1 load per step, and a branch that is never taken. */
kernel linefill_jump_checked
        mov     eax, esi
        .balign 32
1:      cmp     rax, rcx
        jae     2f
        mov     eax, [rdi + rax * 4]
        dec     rdx
        jnz     1b
        ret
2:      ud2
kernel_end linefill_jump_checked
