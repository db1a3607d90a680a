/* Code at every offset of a line: 64 copies, copy k at byte k of a line. The copies differ only in their
   place.

   rdi  rounds, not 0
   esi  offset in the line, 0 to 63
   rax  result: rounds done

   No load, no store. Each copy is on separate lines. The instructions are four-byte `nop`s, as many as
   given, and the three that count rounds: 8 bytes, of which the last two instructions fuse. */

#include "linefill.h"

.macro nops count
        .rept   \count
        .byte   0x0F, 0x1F, 0x40, 0x00
        .endr
.endm

/* A loop that starts at the offset: \count nops and the counting. From one copy to the next it is 257
   bytes: four lines and one byte. */
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

/* A block of 25 bytes at the offset: five nops and a jump. A loop that stays at the start of a line jumps
   to the block, and the block jumps back. From one loop to the next it is 256 bytes; the block follows its
   loop by a line plus the offset. */
kernel linefill_codealign_target
        shl     esi, 8
        lea     rdx, [rip + 2f]
        add     rdx, rsi
        xor     eax, eax
        jmp     rdx
        .balign 256
2:
        .set    place, 0
        .rept   64
1:      {disp32} jmp 4f
3:      inc     rax
        cmp     rax, rdi
        jb      1b
        ret
        .fill   64 + place - (. - 1b), 1, 0x90
4:      nops    5
        {disp32} jmp 3b
        .fill   256 - (. - 1b), 1, 0x90
        .set    place, place + 1
        .endr
        ret
kernel_end linefill_codealign_target
