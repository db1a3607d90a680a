/* Code at every offset of a line: 64 copies, copy k at byte k of a line. The copies differ only in their
   place.

   rdi  rounds, not 0
   esi  offset in the line, 0 to 63
   rax  result: rounds done

   No load, no store. Each copy is on separate lines. The instructions are a given number of four-byte `nop`s
   and three instructions that count rounds. Those three take 8 bytes, and the last two of them fuse. */

#include "linefill.h"

.macro nops count
        .rept   \count
        .byte   0x0F, 0x1F, 0x40, 0x00
        .endr
.endm

/* A loop that starts at the offset: \count nops and the three instructions that count. The next copy starts
   257 bytes later: four lines and one byte. */
.macro loop_at name, count
kernel \name
        imul    esi, esi, 257
        lea     rdx, [rip + 2f]
        add     rdx, rsi
        xor     eax, eax
        jmp     rdx
        .balign 64
2:
        .rept   64
1:      nops    \count
        inc     rax
        cmp     rax, rdi
        jb      1b
        ret
        .fill   257 - (. - 1b), 1, 0x90
        .endr
        /* Never reached: ends the function in `ret`, because the last copy ends in padding. */
        ret
kernel_end \name
.endm

loop_at linefill_codealign_loop24, 4
loop_at linefill_codealign_loop48, 10

/* A block of 25 bytes at the offset: five nops and a jump. A loop that stays at the start of a line jumps to
   the block, and the block jumps back. Each loop starts 256 bytes after the previous loop. The block starts
   one line plus the offset after the start of its loop. */
kernel linefill_codealign_target
        shl     esi, 8
        lea     rdx, [rip + 2f]
        add     rdx, rsi
        xor     eax, eax
        jmp     rdx
        .balign 256
2:
        .set    lf_place, 0
        .rept   64
1:      {disp32} jmp 4f
3:      inc     rax
        cmp     rax, rdi
        jb      1b
        ret
        .fill   64 + lf_place - (. - 1b), 1, 0x90
4:      nops    5
        {disp32} jmp 3b
        .fill   256 - (. - 1b), 1, 0x90
        .set    lf_place, lf_place + 1
        .endr
        ret
kernel_end linefill_codealign_target
