/* Walks that load the pointer with an instruction wider or narrower than a pointer. They show the latency
   of a load that crosses a line or a page, by width.

   rdi  address of a pointer word
   rsi  steps, not 0
   rdx  an address at or below all pointer words, less than 4 GiB below (used by width 4 only)
   rax  result: address of the pointer word after the last step

   1 load of the width per step, no store. The pointer is the low 8 bytes of the loaded value. `movq`
   moves it out of a vector register: the latency of `movq`, one to three cycles, is part of each step.
   A 4-byte load gets only the low half of the pointer. Minus the low half of rdx, it is an offset from
   rdx; this costs one cycle for the `sub`, and on some CPUs one more for the index. The walk with 8 bytes
   is `linefill_walk_follow`. */

#include "linefill.h"

kernel linefill_straddle4
        mov     rax, rdi
        sub     rax, rdx
        .balign 32
1:      mov     eax, [rdx + rax]
        sub     eax, edx
        dec     rsi
        jnz     1b
        add     rax, rdx
        ret
kernel_end linefill_straddle4

/* `op` loads `reg`, whose low 16 bytes are xmm0; `take` moves the pointer from xmm0 to rax. */
.macro straddle name, op, reg, take
kernel \name
        mov     rax, rdi
        .balign 32
1:      \op     \reg, [rax]
        \take   rax, xmm0
        dec     rsi
        jnz     1b
        return  \reg
kernel_end \name
.endm

straddle linefill_straddle16, movdqu, xmm0, movq
straddle linefill_straddle32, vmovdqu, ymm0, vmovq
straddle linefill_straddle64, vmovdqu64, zmm0, vmovq
