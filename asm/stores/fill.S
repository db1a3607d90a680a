/* Fills lines (Drepper, section 6.1, `setbytes`), with 16-byte stores or with `rep stosb`.

   rdi  address of the first line
   rsi  lines, not 0 (groups of lines in the interleaved kernel)
   rdx  value: a byte, repeated 8 times
   rcx  lines per group, not 0, in the interleaved kernel
   rax  result: address after the last line

   No loads. The caller fences. */

#include "linefill.h"

/* 4 stores, 64 bytes, a whole line per iteration, in ascending order. */
.macro fills name, op
kernel \name
        movq    xmm0, rdx
        punpcklqdq xmm0, xmm0
        .balign 32
1:      \op     [rdi], xmm0
        \op     [rdi + 16], xmm0
        \op     [rdi + 32], xmm0
        \op     [rdi + 48], xmm0
        add     rdi, 64
        dec     rsi
        jnz     1b
        mov     rax, rdi
        ret
kernel_end \name
.endm

fills linefill_fill_cached, movdqa
fills linefill_fill_stream, movntdq

/* Non-temporal stores to only the first quarters of each line: 1 to 3 stores, 16 to 48 bytes per
   iteration. */
.macro fills_part name, quarters
kernel \name
        movq    xmm0, rdx
        punpcklqdq xmm0, xmm0
        .balign 32
1:      movntdq [rdi], xmm0
        .if     \quarters > 1
        movntdq [rdi + 16], xmm0
        .endif
        .if     \quarters > 2
        movntdq [rdi + 32], xmm0
        .endif
        add     rdi, 64
        dec     rsi
        jnz     1b
        mov     rax, rdi
        ret
kernel_end \name
.endm

fills_part linefill_fill_quarter, 1
fills_part linefill_fill_half, 2
fills_part linefill_fill_three_quarters, 3

/* The first quarter of every line of the group, then the second of every line, and so on. 1 store, 16
   bytes, a quarter of a line per iteration of the inner loop. */
kernel linefill_fill_interleaved
        movq    xmm0, rdx
        punpcklqdq xmm0, xmm0
        shl     rcx, 6
1:      lea     r8, [rdi + rcx]
        mov     r9d, 4
2:      mov     rax, rdi
        .balign 32
3:      movntdq [rax], xmm0
        add     rax, 64
        cmp     rax, r8
        jb      3b
        add     rdi, 16
        add     r8, 16
        dec     r9d
        jnz     2b
        lea     rdi, [r8 - 64]
        dec     rsi
        jnz     1b
        mov     rax, rdi
        ret
kernel_end linefill_fill_interleaved

/* One instruction for all lines; the CPU chooses the stores. */
kernel linefill_fill_rep_stosb
        mov     rcx, rsi
        shl     rcx, 6
        mov     eax, edx
        rep stosb
        mov     rax, rdi
        ret
kernel_end linefill_fill_rep_stosb
