/* A tile of the product of two matrices of doubles, computed from packed elements. The tile stays in
   registers, each of which is the destination of one fused multiply-add per iteration, and is added to
   the result at the end.

   rdi  packed mul1: for each k, the elements of the tile's rows
   rsi  packed mul2: for each k, the elements of the tile's columns, aligned to a line
   rdx  number of k, not 0
   rcx  the tile in the result
   r8   bytes from one row of the result to the next

   AVX2 and FMA: a tile of 4 x 12. Per iteration: 3 loads of 32 bytes, 4 broadcast loads of 8, 12
   multiply-adds. AVX-512: a tile of 8 x 24. Per iteration: 3 loads of 64 bytes, 8 broadcast loads of
   8, 24 multiply-adds.

   Outside the loop: before the first iteration, prefetches of the tile in the result; after the last
   iteration, 3 loads and 3 stores of a register per row. */

#include "linefill.h"

/* One row of the tile: its element of mul1 times the three registers of mul2. */
.macro multiply reg, place, first, second, third, element, b0, b1, b2
        vbroadcastsd \reg\element, [rdi + \place]
        vfmadd231pd \reg\first, \reg\element, \reg\b0
        vfmadd231pd \reg\second, \reg\element, \reg\b1
        vfmadd231pd \reg\third, \reg\element, \reg\b2
.endm

.macro multiply256 place, first, second, third
        multiply ymm, \place, \first, \second, \third, 15, 12, 13, 14
.endm

.macro multiply512 place, first, second, third
        multiply zmm, \place, \first, \second, \third, 27, 24, 25, 26
.endm

/* Adds one row of the tile to the result, and advances to the next. */
.macro add_row reg, bytes, first, second, third
        vaddpd  \reg\first, \reg\first, [rcx]
        vaddpd  \reg\second, \reg\second, [rcx + \bytes]
        vaddpd  \reg\third, \reg\third, [rcx + 2 * \bytes]
        vmovupd [rcx], \reg\first
        vmovupd [rcx + \bytes], \reg\second
        vmovupd [rcx + 2 * \bytes], \reg\third
        add     rcx, r8
.endm

kernel linefill_tile_avx2
        mov     rax, rcx
        .rept   4
        prefetcht0 [rax]
        prefetcht0 [rax + 88]
        add     rax, r8
        .endr
        .irp    register, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
        vxorpd  xmm\register, xmm\register, xmm\register
        .endr
        .balign 32
1:      vmovapd ymm12, [rsi]
        vmovapd ymm13, [rsi + 32]
        vmovapd ymm14, [rsi + 64]
        multiply256 0, 0, 1, 2
        multiply256 8, 3, 4, 5
        multiply256 16, 6, 7, 8
        multiply256 24, 9, 10, 11
        add     rdi, 32
        add     rsi, 96
        dec     rdx
        jnz     1b
        add_row ymm, 32, 0, 1, 2
        add_row ymm, 32, 3, 4, 5
        add_row ymm, 32, 6, 7, 8
        add_row ymm, 32, 9, 10, 11
        vzeroupper
        ret
kernel_end linefill_tile_avx2

kernel linefill_tile_avx512
        mov     rax, rcx
        .rept   8
        prefetcht0 [rax]
        prefetcht0 [rax + 64]
        prefetcht0 [rax + 128]
        prefetcht0 [rax + 184]
        add     rax, r8
        .endr
        .irp    register, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
        vpxorq  zmm\register, zmm\register, zmm\register
        .endr
        .irp    register, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23
        vpxorq  zmm\register, zmm\register, zmm\register
        .endr
        .balign 32
1:      vmovapd zmm24, [rsi]
        vmovapd zmm25, [rsi + 64]
        vmovapd zmm26, [rsi + 128]
        multiply512 0, 0, 1, 2
        multiply512 8, 3, 4, 5
        multiply512 16, 6, 7, 8
        multiply512 24, 9, 10, 11
        multiply512 32, 12, 13, 14
        multiply512 40, 15, 16, 17
        multiply512 48, 18, 19, 20
        multiply512 56, 21, 22, 23
        add     rdi, 64
        add     rsi, 192
        dec     rdx
        jnz     1b
        add_row zmm, 64, 0, 1, 2
        add_row zmm, 64, 3, 4, 5
        add_row zmm, 64, 6, 7, 8
        add_row zmm, 64, 9, 10, 11
        add_row zmm, 64, 12, 13, 14
        add_row zmm, 64, 15, 16, 17
        add_row zmm, 64, 18, 19, 20
        add_row zmm, 64, 21, 22, 23
        vzeroupper
        ret
kernel_end linefill_tile_avx512
