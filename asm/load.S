/* Reads whole lines and adds up their words.

   rdi  address of the first line
   rsi  lines, not 0
   rax  result: wrapping sum of all 8-byte words

   4 loads of 16 bytes, 2 of 32 or 1 of 64, 64 bytes per iteration, no store. Each load of a line
   has an accumulator of its own, so that the additions never wait for each other within a line.
   Between the kernels of a width only the load differs. */

#include "linefill.h"

.macro loads name, op
kernel \name
        pxor    xmm0, xmm0
        pxor    xmm1, xmm1
        pxor    xmm2, xmm2
        pxor    xmm3, xmm3
        .balign 32
1:      \op     xmm4, [rdi]
        \op     xmm5, [rdi + 16]
        \op     xmm6, [rdi + 32]
        \op     xmm7, [rdi + 48]
        paddq   xmm0, xmm4
        paddq   xmm1, xmm5
        paddq   xmm2, xmm6
        paddq   xmm3, xmm7
        add     rdi, 64
        dec     rsi
        jnz     1b
        paddq   xmm0, xmm1
        paddq   xmm2, xmm3
        paddq   xmm0, xmm2
        pshufd  xmm1, xmm0, 0xEE
        paddq   xmm0, xmm1
        movq    rax, xmm0
        ret
kernel_end \name
.endm

loads linefill_load_cached, movdqa
loads linefill_load_stream, movntdqa

.macro loads32 name, op
kernel \name
        vpxor   xmm0, xmm0, xmm0
        vpxor   xmm1, xmm1, xmm1
        .balign 32
1:      \op     ymm4, [rdi]
        \op     ymm5, [rdi + 32]
        vpaddq  ymm0, ymm0, ymm4
        vpaddq  ymm1, ymm1, ymm5
        add     rdi, 64
        dec     rsi
        jnz     1b
        vpaddq  ymm0, ymm0, ymm1
        vextracti128 xmm1, ymm0, 1
        vpaddq  xmm0, xmm0, xmm1
        vpshufd xmm1, xmm0, 0xEE
        vpaddq  xmm0, xmm0, xmm1
        vmovq   rax, xmm0
        vzeroupper
        ret
kernel_end \name
.endm

loads32 linefill_load_cached32, vmovdqa
loads32 linefill_load_stream32, vmovntdqa

.macro loads64 name, op
kernel \name
        vpxor   xmm0, xmm0, xmm0
        .balign 32
1:      \op     zmm4, [rdi]
        vpaddq  zmm0, zmm0, zmm4
        add     rdi, 64
        dec     rsi
        jnz     1b
        vextracti64x4 ymm1, zmm0, 1
        vpaddq  ymm0, ymm0, ymm1
        vextracti128 xmm1, ymm0, 1
        vpaddq  xmm0, xmm0, xmm1
        vpshufd xmm1, xmm0, 0xEE
        vpaddq  xmm0, xmm0, xmm1
        vmovq   rax, xmm0
        vzeroupper
        ret
kernel_end \name
.endm

loads64 linefill_load_cached64, vmovdqa64
loads64 linefill_load_stream64, vmovntdqa
