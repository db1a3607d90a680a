/* A chain of floating-point additions that touches no memory: the latency of an addition.

   rdi  bits of a double
   rsi  additions, not 0
   rax  result: the bits of the double plus 1, rsi times

   No renamer eliminates `addsd`. The loop's own instructions run in parallel with the addition. */

#include "linefill.h"

/* No load, no store. */
kernel linefill_addition
        movq    xmm0, rdi
        mov     eax, 1
        cvtsi2sd xmm1, rax
        .balign 32
1:      addsd   xmm0, xmm1
        dec     rsi
        jnz     1b
        movq    rax, xmm0
        ret
kernel_end linefill_addition
