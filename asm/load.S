/* Reads whole lines by 16-byte loads and adds up their words.

   rdi  address of the first line
   rsi  lines, not 0
   rax  result: wrapping sum of all 8-byte words

   4 loads, 64 bytes an iteration, no store. Each load has an accumulator of its own, so that
   the additions never wait for each other within a line. Between the kernels only the load
   differs. */

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
