/* Code at every offset of a line: 64 copies of it, the copy k at byte k of a line, so that they
   differ in nothing but where they lie.

   rdi  rounds, not 0
   esi  the offset, 0 to 63
   rax  result: rounds done

   No load, no store. Each copy lies on lines of its own. The instructions are a four-byte `nop`
   as often as is said, and the three that count: 8 bytes, of which the last two fuse. */

#include "linefill.h"

.macro nops count
        .rept   \count
        .byte   0x0F, 0x1F, 0x40, 0x00
        .endr
.endm

/* A loop that starts at the offset: \count nops and the counting. From a copy to the next it is
   257 bytes: four lines and one byte. */
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
        /* Never reached: the last copy ends in padding, and a function in `ret`. */
        ret
kernel_end \name
.endm

loop_at linefill_codealign_loop24, 4
loop_at linefill_codealign_loop48, 10

/* A block of 25 bytes at the offset, to which a loop that stays where it is jumps, and which jumps
   back: five nops and the jump. From a loop to the next it is 256 bytes; its block lies a line
   behind it. */
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
