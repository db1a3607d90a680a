/* Walks that load the pointer by an instruction wider or narrower than a pointer: how long a load
   takes that lies across a line or a page, by width.

   rdi  address of a pointer word
   rsi  steps, not 0
   rdx  an address at or below all pointer words, less than 4 GiB (width 4 alone)
   rax  result: address of the pointer word after the last step

   1 load of the width a step, no store. The pointer is the low 8 bytes of what is loaded. `movq`
   takes it out of a vector register: its latency, one to three cycles, is part of each step. Four
   bytes are the low half alone: less the low half of rdx they are an offset from there, which
   costs a cycle for the `sub`, and on some CPUs one for the index. The walk by 8 bytes is
   `linefill_walk_follow`. */

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

/* `op` loads `reg`, whose low 16 bytes are xmm0; `take` takes the pointer out of it. */
.macro straddle name, op, reg, take
kernel \name
        mov     rax, rdi
        .balign 32
1:      \op     \reg, [rax]
        \take   rax, xmm0
        dec     rsi
        jnz     1b
        .ifnc   \reg, xmm0
        vzeroupper
        .endif
        ret
kernel_end \name
.endm

straddle linefill_straddle16, movdqu, xmm0, movq
straddle linefill_straddle32, vmovdqu, ymm0, vmovq
straddle linefill_straddle64, vmovdqu64, zmm0, vmovq
