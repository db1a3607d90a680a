/* Reads, writes, updates, copies and adds up blocks of 512 bytes, repeatedly (Drepper, section 3.5.1), at the
   limit of the load and store ports.

   rdi  address of the first block; with several parts, in the first part
   rsi  blocks, not 0
   rdx  address of the block that follows after the last
   rcx  address after the last block
   r8   value to write or to add, every 8 bytes; with several parts, the bytes from a place in each part
        to its partner in the next
   rax  result: the address of the next block; for the reads, the wrapping sum of the 8-byte words in
        the last 128 bytes read, which the registers hold after the loop

   An iteration moves one block and, with several parts, its partner in each part: 512 / width accesses to
   each, in ascending order. After the last block a conditional move goes back to the first. A branch there
   would be mispredicted once per round, which in a small working set costs more than the move. Blocks begin
   on lines. The cached and the non-temporal kernel of a width differ only in the store. The caller fences.

   The kernels that read two halves load a line of the first half, then its partner in the second half. On
   Zen 4 with a working set above 1 KiB, loads that execute in pairs lose one cycle in 17 if the lines of a
   pair are in different sets of the L1d. 64-byte loads avoid this loss only in this order, with partners a
   multiple of 4 KiB apart. 32-byte loads suffer it if they happen to pair up across lines. With fewer than
   1,024 bytes per iteration the pairs get out of step in this order, too. */

#include "linefill.h"

/* The beginning of the loop over blocks. */
.macro blocks
        .balign 64
1:
.endm

/* `rax` = the sum of the words in the registers that hold the last 128 bytes. */
.macro sum_up reg
        .ifc    \reg, xmm
        .irp    number, 1, 2, 3, 4, 5, 6, 7
        paddq   xmm0, xmm\number
        .endr
        .endif
        .ifc    \reg, ymm
        vpaddq  ymm0, ymm4, ymm5
        vpaddq  ymm1, ymm6, ymm7
        vpaddq  ymm0, ymm0, ymm1
        .endif
        .ifc    \reg, zmm
        vpaddq  zmm0, zmm6, zmm7
        .endif
        sum_words \reg
.endm

/* 512 / width loads, no store. */
.macro reads name, op, reg, width
kernel \name
        blocks
        .set    lf_at, 0
        .rept   64 / \width
        .irp    number, 0, 1, 2, 3, 4, 5, 6, 7
        \op     \reg\number, [rdi + lf_at]
        .set    lf_at, lf_at + \width
        .endr
        .endr
        next_block
        sum_up  \reg
        return  \reg
kernel_end \name
.endm

/* 1024 / width loads, no store. A load at an offset with bit 6 set reads the second half, at the line
   whose partner has just been read. */
.macro reads_of_halves name, op, reg, width
kernel \name
        blocks
        lea     r9, [rdi + r8]
        .set    lf_at, 0
        .rept   128 / \width
        .irp    number, 0, 1, 2, 3, 4, 5, 6, 7
        .if     lf_at & 64
        \op     \reg\number, [r9 + (lf_at >> 7 << 6) + (lf_at & 63)]
        .else
        \op     \reg\number, [rdi + (lf_at >> 7 << 6) + (lf_at & 63)]
        .endif
        .set    lf_at, lf_at + \width
        .endr
        .endr
        next_block
        sum_up  \reg
        return  \reg
kernel_end \name
.endm

/* 2048 / width loads, no store: a line of each quarter in turn. Bits 7 and 6 of an offset are the quarter. */
.macro reads_of_quarters name, op, reg, width
kernel \name
        blocks
        lea     r9, [rdi + r8]
        lea     r10, [rdi + 2 * r8]
        lea     r11, [r9 + 2 * r8]
        .set    lf_at, 0
        .rept   256 / \width
        .irp    number, 0, 1, 2, 3, 4, 5, 6, 7
        .set    lf_there, (lf_at >> 8 << 6) + (lf_at & 63)
        .if     (lf_at >> 6 & 3) == 0
        \op     \reg\number, [rdi + lf_there]
        .elseif (lf_at >> 6 & 3) == 1
        \op     \reg\number, [r9 + lf_there]
        .elseif (lf_at >> 6 & 3) == 2
        \op     \reg\number, [r10 + lf_there]
        .else
        \op     \reg\number, [r11 + lf_there]
        .endif
        .set    lf_at, lf_at + \width
        .endr
        .endr
        next_block
        sum_up  \reg
        return  \reg
kernel_end \name
.endm

/* No load, 512 / width stores. */
.macro writes name, op, reg, width
kernel \name
        spread  \reg\()0, 0, r8
        blocks
        .set    lf_at, 0
        .rept   512 / \width
        \op     [rdi + lf_at], \reg\()0
        .set    lf_at, lf_at + \width
        .endr
        next_block
        mov     rax, rdi
        return  \reg
kernel_end \name
.endm

/* 512 / width loads and as many stores to the same places, with `r8` added. */
.macro updates name, op, reg, width
kernel \name
        spread  \reg\()8, 8, r8
        blocks
        .set    lf_at, 0
        .rept   64 / \width
        .irp    number, 0, 1, 2, 3, 4, 5, 6, 7
        \op     \reg\number, [rdi + lf_at]
        .ifc    \reg, xmm
        paddq   xmm\number, xmm8
        .else
        # With the register above 7 first, both assemblers find the shorter encoding.
        vpaddq  \reg\number, \reg\()8, \reg\number
        .endif
        \op     [rdi + lf_at], \reg\number
        .set    lf_at, lf_at + \width
        .endr
        .endr
        next_block
        mov     rax, rdi
        return  \reg
kernel_end \name
.endm

/* 512 / width loads from the first half and as many stores to the second, line by line: on Zen 4, groups of
   two or more lines are a tenth to a fifth slower in memory, and no faster in the caches. The stores have no
   index register, because one of Haswell's store-address ports does not support indexed addresses. */
.macro copies name, load, store, reg, width
kernel \name
        blocks
        lea     r9, [rdi + r8]
        .set    lf_at, 0
        .rept   8
        .irp    number, 0, 1, 2, 3
        .if     \number * \width < 64
        \load   \reg\number, [rdi + lf_at + \number * \width]
        .endif
        .endr
        .irp    number, 0, 1, 2, 3
        .if     \number * \width < 64
        \store  [r9 + lf_at + \number * \width], \reg\number
        .endif
        .endr
        .set    lf_at, lf_at + 64
        .endr
        next_block
        mov     rax, rdi
        return  \reg
kernel_end \name
.endm

/* Adds up one vector per source, `here` bytes into the block, in register `number`. The sources are two (at
   rdi and r9), three (also at r10), or for `triad` the first plus twice the second: STREAM's triad with the
   scalar 2. */
.macro sum_of sources, load, reg, number, other
        \load   \reg\number, [rdi + lf_here]
        \load   \reg\other, [r9 + lf_here]
        .ifc    \sources, triad
        add_to  \reg, \other, \other
        .endif
        add_to  \reg, \number, \other
        .ifc    \sources, three
        \load   \reg\other, [r10 + lf_here]
        add_to  \reg, \number, \other
        .endif
.endm

.macro add_to reg, number, other
        .ifc    \reg, xmm
        paddq   xmm\number, xmm\other
        .else
        vpaddq  \reg\number, \reg\number, \reg\other
        .endif
.endm

/* 512 / width loads from each source and as many stores to the last part, line by line as in the copies. The
   sums are of integers, because the time of an integer addition does not depend on its values. */
.macro sums name, sources, load, store, reg, width
kernel \name
        blocks
        lea     r9, [rdi + r8]
        lea     r10, [rdi + 2 * r8]
        .ifc    \sources, three
        lea     r11, [r9 + 2 * r8]
        .else
        mov     r11, r10
        .endif
        .set    lf_at, 0
        .rept   8
        .set    lf_here, lf_at
        sum_of  \sources, \load, \reg, 0, 4
        .if     \width < 64
        .set    lf_here, lf_here + \width
        sum_of  \sources, \load, \reg, 1, 5
        .endif
        .if     \width < 32
        .set    lf_here, lf_here + \width
        sum_of  \sources, \load, \reg, 2, 6
        .set    lf_here, lf_here + \width
        sum_of  \sources, \load, \reg, 3, 7
        .endif
        .irp    number, 0, 1, 2, 3
        .if     \number * \width < 64
        \store  [r11 + lf_at + \number * \width], \reg\number
        .endif
        .endr
        .set    lf_at, lf_at + 64
        .endr
        next_block
        mov     rax, rdi
        return  \reg
kernel_end \name
.endm

reads   linefill_bandwidth_read16, movdqa, xmm, 16
reads   linefill_bandwidth_read32, vmovdqa, ymm, 32
reads   linefill_bandwidth_read64, vmovdqa64, zmm, 64

reads_of_halves linefill_bandwidth_read_halves16, movdqa, xmm, 16
reads_of_halves linefill_bandwidth_read_halves32, vmovdqa, ymm, 32
reads_of_halves linefill_bandwidth_read_halves64, vmovdqa64, zmm, 64

reads_of_quarters linefill_bandwidth_read_quarters16, movdqa, xmm, 16
reads_of_quarters linefill_bandwidth_read_quarters32, vmovdqa, ymm, 32
reads_of_quarters linefill_bandwidth_read_quarters64, vmovdqa64, zmm, 64

writes  linefill_bandwidth_write16, movdqa, xmm, 16
writes  linefill_bandwidth_write32, vmovdqa, ymm, 32
writes  linefill_bandwidth_write64, vmovdqa64, zmm, 64

writes  linefill_bandwidth_stream16, movntdq, xmm, 16
writes  linefill_bandwidth_stream32, vmovntdq, ymm, 32
writes  linefill_bandwidth_stream64, vmovntdq, zmm, 64

updates linefill_bandwidth_update16, movdqa, xmm, 16
updates linefill_bandwidth_update32, vmovdqa, ymm, 32
updates linefill_bandwidth_update64, vmovdqa64, zmm, 64

copies  linefill_bandwidth_copy16, movdqa, movdqa, xmm, 16
copies  linefill_bandwidth_copy32, vmovdqa, vmovdqa, ymm, 32
copies  linefill_bandwidth_copy64, vmovdqa64, vmovdqa64, zmm, 64

copies  linefill_bandwidth_copy_stream16, movdqa, movntdq, xmm, 16
copies  linefill_bandwidth_copy_stream32, vmovdqa, vmovntdq, ymm, 32
copies  linefill_bandwidth_copy_stream64, vmovdqa64, vmovntdq, zmm, 64

sums    linefill_bandwidth_add16, two, movdqa, movdqa, xmm, 16
sums    linefill_bandwidth_add32, two, vmovdqa, vmovdqa, ymm, 32
sums    linefill_bandwidth_add64, two, vmovdqa64, vmovdqa64, zmm, 64

sums    linefill_bandwidth_add_three16, three, movdqa, movdqa, xmm, 16
sums    linefill_bandwidth_add_three32, three, vmovdqa, vmovdqa, ymm, 32
sums    linefill_bandwidth_add_three64, three, vmovdqa64, vmovdqa64, zmm, 64

sums    linefill_bandwidth_triad16, triad, movdqa, movdqa, xmm, 16
sums    linefill_bandwidth_triad32, triad, vmovdqa, vmovdqa, ymm, 32
sums    linefill_bandwidth_triad64, triad, vmovdqa64, vmovdqa64, zmm, 64

sums    linefill_bandwidth_triad_stream16, triad, movdqa, movntdq, xmm, 16
sums    linefill_bandwidth_triad_stream32, triad, vmovdqa, vmovntdq, ymm, 32
sums    linefill_bandwidth_triad_stream64, triad, vmovdqa64, vmovntdq, zmm, 64

/* One instruction for all blocks up to the last; the CPU chooses the accesses. `rax` is the address after
   them. There is no next round; `rdx` and `rcx` are not read. */
kernel linefill_bandwidth_rep_stosb
        mov     rcx, rsi
        shl     rcx, 9
        mov     eax, r8d
        rep stosb
        mov     rax, rdi
        ret
kernel_end linefill_bandwidth_rep_stosb

kernel linefill_bandwidth_rep_movsb
        mov     rcx, rsi
        shl     rcx, 9
        mov     rsi, rdi
        add     rdi, r8
        rep movsb
        mov     rax, rsi
        ret
kernel_end linefill_bandwidth_rep_movsb
