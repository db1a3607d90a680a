/* Multiplication of square matrices of doubles: Drepper, section 6.2.1 and appendix A.1. All
   matrices are stored row by row. Products are added to an element one after the other, in the order
   of the loops. */

#include "linefill.h"

/* Copies elements from one stride to another.

   rdi  destination
   rsi  source
   rdx  bytes from one element to the next in the destination
   rcx  bytes from one element to the next in the source
   r8   elements, not 0

   1 load, 1 store of 8 bytes per iteration. */

kernel linefill_matmul_copy
        .balign 32
1:      mov     rax, [rsi]
        mov     [rdi], rax
        add     rsi, rcx
        add     rdi, rdx
        dec     r8
        jnz     1b
        ret
kernel_end linefill_matmul_copy

/* The inner loop k, for one element of the result.

   rdi  a row of mul1
   rsi  a column of mul2, or a row of the transposed mul2
   rdx  bytes from one element of the column to the next
   rcx  elements of the row and of the column, not 0
   r8   bits of the element so far
   rax  result: the bits of the element with all products added

   2 loads, 16 bytes per iteration, no store: the element stays in a register. */

kernel linefill_matmul_dot
        movq    xmm0, r8
        .balign 32
1:      movsd   xmm1, [rdi]
        mulsd   xmm1, [rsi]
        addsd   xmm0, xmm1
        add     rdi, 8
        add     rsi, rdx
        dec     rcx
        jnz     1b
        movq    rax, xmm0
        ret
kernel_end linefill_matmul_dot

/* The loops k, i2, k2 and j2 of the six, over sub-matrices of 8 x 8 with rows of one line.

   rdi  the sub-matrix of the result
   rsi  the first sub-matrix of mul1; the others follow to the right
   rdx  the first sub-matrix of mul2; the others follow below
   rcx  bytes per row
   r8   sub-matrices of each factor, not 0

   Per iteration of j2: 2 loads, 1 store, 16 bytes read, 8 written. With SSE2, which takes two j2
   at a time: 2 loads, 1 store, 32 bytes read, 16 written, all aligned. Outside that loop, per k2: 1
   load of 8 bytes, which SSE2 duplicates. With SSE2, per i2: a prefetch of the line of mul1 that the
   next k uses. */

.macro submatrix name, sse2
kernel \name
        lea     rax, [rcx * 8]
1:      mov     r9d, 8
2:      .if     \sse2
        prefetchnta [rsi + 64]
        .endif
        xor     r10d, r10d
3:      movsd   xmm1, [rsi + 8 * r10]
        .if     \sse2
        unpcklpd xmm1, xmm1
        .endif
        xor     r11d, r11d
        .balign 32
4:      .if     \sse2
        movapd  xmm0, [rdx + 8 * r11]
        mulpd   xmm0, xmm1
        addpd   xmm0, [rdi + 8 * r11]
        movapd  [rdi + 8 * r11], xmm0
        add     r11d, 2
        .else
        movsd   xmm0, [rdx + 8 * r11]
        mulsd   xmm0, xmm1
        addsd   xmm0, [rdi + 8 * r11]
        movsd   [rdi + 8 * r11], xmm0
        inc     r11d
        .endif
        cmp     r11d, 8
        jne     4b
        add     rdx, rcx
        inc     r10d
        cmp     r10d, 8
        jne     3b
        sub     rdx, rax
        add     rdi, rcx
        add     rsi, rcx
        dec     r9d
        jnz     2b
        sub     rdi, rax
        sub     rsi, rax
        add     rsi, 64
        add     rdx, rax
        dec     r8
        jnz     1b
        ret
kernel_end \name
.endm

submatrix linefill_matmul_submatrix, 0
submatrix linefill_matmul_submatrix_sse2, 1
