/* The sum of all outstanding payments (Drepper, section 6.2.1, `struct order`), in three layouts.

   Whole: orders of 64 bytes, the price (a double) at byte 0, `paid` (one byte, 0 or 1) at byte 8.
   Split: the same two fields in 16 bytes, the others elsewhere.
   Apart: an array of prices and an array of `paid`.

   rdi   address of the first order; apart: of the first price
   rsi   batches of 16 orders, not 0
   rdx   apart: address of the first `paid`
   rax   result: the bits of the sum of the prices of unpaid orders

   An iteration is a batch. The kernels for whole and split orders differ only in their displacements: 32
   loads, 144 bytes. Apart (AVX2): 8 loads, also 144 bytes. No store. `paid` becomes a mask of zeros or
   ones that is applied to the price, so that there is no branch to be mispredicted; four sums keep
   additions from waiting for each other. */

#include "linefill.h"

.macro order sum, at
        movzx   ecx, byte ptr [rdi + \at + 8]
        dec     rcx
        movq    xmm4, rcx
        movsd   xmm5, [rdi + \at]
        andpd   xmm4, xmm5
        addsd   \sum, xmm4
.endm

.macro orders name, size
kernel \name
        xorpd   xmm0, xmm0
        xorpd   xmm1, xmm1
        xorpd   xmm2, xmm2
        xorpd   xmm3, xmm3
        .balign 32
1:
        .irp    four, 0, 4, 8, 12
        order   xmm0, (\four+0)*\size
        order   xmm1, (\four+1)*\size
        order   xmm2, (\four+2)*\size
        order   xmm3, (\four+3)*\size
        .endr
        add     rdi, 16 * \size
        dec     rsi
        jnz     1b
        addsd   xmm0, xmm1
        addsd   xmm2, xmm3
        addsd   xmm0, xmm2
        movq    rax, xmm0
        ret
kernel_end \name
.endm

orders linefill_orders_whole, 64
orders linefill_orders_split, 16

.macro four sum, at
        vpmovzxbq ymm5, dword ptr [rdx + \at]
        vpaddq  ymm5, ymm5, ymm4
        vandpd  ymm5, ymm5, [rdi + 8 * \at]
        vaddpd  \sum, \sum, ymm5
.endm

kernel linefill_orders_apart
        vpcmpeqd ymm4, ymm4, ymm4
        vxorpd  xmm0, xmm0, xmm0
        vxorpd  xmm1, xmm1, xmm1
        vxorpd  xmm2, xmm2, xmm2
        vxorpd  xmm3, xmm3, xmm3
        .balign 32
1:      four    ymm0, 0
        four    ymm1, 4
        four    ymm2, 8
        four    ymm3, 12
        add     rdi, 128
        add     rdx, 16
        dec     rsi
        jnz     1b
        vaddpd  ymm0, ymm0, ymm1
        vaddpd  ymm2, ymm2, ymm3
        vaddpd  ymm0, ymm0, ymm2
        vextractf128 xmm1, ymm0, 1
        vaddpd  xmm0, xmm0, xmm1
        vunpckhpd xmm1, xmm0, xmm0
        vaddsd  xmm0, xmm0, xmm1
        vmovq   rax, xmm0
        vzeroupper
        ret
kernel_end linefill_orders_apart
