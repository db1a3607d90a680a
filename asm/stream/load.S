/* Reads whole lines and adds up their words: line by line, or in blocks of 8 lines.

   rdi  address of the first line or block
   rsi  lines or blocks, not 0
   rdx  blocks: address of the block that follows after the last
   rcx  blocks: address after the last block
   rax  result: wrapping sum of all 8-byte words

   Lines: 4 loads of 16 bytes, 2 of 32 or 1 of 64, 64 bytes per iteration, no store. Each load of a
   line has its own accumulator, so that the additions of a line do not wait for each other.

   Blocks: 512 bytes per iteration, with four accumulators used cyclically. If all lines are in the L1d,
   the loop over lines takes longer than its loads: a wide core begins one iteration per cycle, and pays
   for a mispredicted branch at the end of each round. Blocks make the loop so short that the load ports
   are the limit, and wrap around to the first block without a branch.

   The kernels of a width differ only in the load.

   linefill_load_blocks_cached: 32 loads, 512 bytes
   linefill_load_blocks_stream: 32 loads, 512 bytes
   linefill_load_blocks_cached32: 16 loads, 512 bytes
   linefill_load_blocks_stream32: 16 loads, 512 bytes
   linefill_load_blocks_cached64: 8 loads, 512 bytes
   linefill_load_blocks_stream64: 8 loads, 512 bytes
*/

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
        sum_words xmm
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
        sum_words ymm
        return  ymm
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
        sum_words zmm
        return  zmm
kernel_end \name
.endm

loads64 linefill_load_cached64, vmovdqa64
loads64 linefill_load_stream64, vmovntdqa

.macro blocks name, op
kernel \name
        pxor    xmm0, xmm0
        pxor    xmm1, xmm1
        pxor    xmm2, xmm2
        pxor    xmm3, xmm3
        .balign 64
1:
        .irp    line, 0, 64, 128, 192, 256, 320, 384, 448
        \op     xmm4, [rdi + \line]
        \op     xmm5, [rdi + \line + 16]
        \op     xmm6, [rdi + \line + 32]
        \op     xmm7, [rdi + \line + 48]
        paddq   xmm0, xmm4
        paddq   xmm1, xmm5
        paddq   xmm2, xmm6
        paddq   xmm3, xmm7
        .endr
        next_block
        paddq   xmm0, xmm1
        paddq   xmm2, xmm3
        paddq   xmm0, xmm2
        sum_words xmm
        ret
kernel_end \name
.endm

blocks linefill_load_blocks_cached, movdqa
blocks linefill_load_blocks_stream, movntdqa

/* Like `blocks`, with registers of 32 or 64 bytes; `quads` are the offsets of the groups of four loads. */
.macro wide_blocks name, op, reg, width, quads:vararg
kernel \name
        vpxor   xmm0, xmm0, xmm0
        vpxor   xmm1, xmm1, xmm1
        vpxor   xmm2, xmm2, xmm2
        vpxor   xmm3, xmm3, xmm3
        .balign 64
1:
        .irp    quad, \quads
        \op     \reg\()4, [rdi + \quad]
        \op     \reg\()5, [rdi + \quad + \width]
        \op     \reg\()6, [rdi + \quad + 2 * \width]
        \op     \reg\()7, [rdi + \quad + 3 * \width]
        vpaddq  \reg\()0, \reg\()0, \reg\()4
        vpaddq  \reg\()1, \reg\()1, \reg\()5
        vpaddq  \reg\()2, \reg\()2, \reg\()6
        vpaddq  \reg\()3, \reg\()3, \reg\()7
        .endr
        next_block
        vpaddq  \reg\()0, \reg\()0, \reg\()1
        vpaddq  \reg\()2, \reg\()2, \reg\()3
        vpaddq  \reg\()0, \reg\()0, \reg\()2
        sum_words \reg
        return  \reg
kernel_end \name
.endm

wide_blocks linefill_load_blocks_cached32, vmovdqa, ymm, 32, 0, 128, 256, 384
wide_blocks linefill_load_blocks_stream32, vmovntdqa, ymm, 32, 0, 128, 256, 384
wide_blocks linefill_load_blocks_cached64, vmovdqa64, zmm, 64, 0, 256
wide_blocks linefill_load_blocks_stream64, vmovntdqa, zmm, 64, 0, 256
