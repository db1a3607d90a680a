/* Startin's shuffles: element i - 1 is exchanged with an element below i, for descending i. In stages, the
   indices of a stage are written to a buffer before they are used.

   rdi  the integers, 32 bits each
   rsi  table: the indices, 32 bits each, entry i - 1 for i; random: the generator, its seed (64
        bits) at byte 0 and its probe (32 bits, not 0) at byte 8
   rdx  the first i
   rcx  exchanges, not 0; in stages: stages, not 0
   r8   in stages: the buffer
   r9   in stages: indices per stage, not 0

   An exchange is three steps of `xor`, as in the post: 4 loads, 16 bytes, 3 stores, 12 bytes. If both
   indices are equal it leaves 0.
   table:   1 more load, 4 bytes. Unrolled: four exchanges per iteration.
   random:  2 more loads, 12 bytes, 1 more store, 8 bytes.
   staged:  1 more load and 1 more store of 4 bytes each, of the buffer; 2 loops.

   An index is compared with its bound before it is used, as in Java and in safe Rust; an index beyond
   the bound ends in `ud2`.

   The draw is `ThreadLocalRandom.current().nextInt(i)` of JDK 8 with the same accesses to memory: it reads
   the thread's probe, and keeps the seed in the thread. With exchange and loop it is 40 instructions; an
   index from the table takes 13. The compiler of JDK 17 translates the loop of the post into 56
   instructions, some of which spill and reload registers. The experiment is about the number of exchanges
   that fit into the window of an out-of-order CPU. */

#include "linefill.h"

/* Exchanges elements r11 and \other; uses rax. */
.macro exchange other
        mov     eax, [rdi + 4*\other]
        xor     eax, [rdi + 4*r11]
        mov     [rdi + 4*r11], eax
        xor     eax, [rdi + 4*\other]
        mov     [rdi + 4*\other], eax
        xor     [rdi + 4*r11], eax
.endm

/* Draws edx below r10; leaves r10 - 1 in r11, uses rax and rcx. */
.macro draw
        cmp     dword ptr [rsi + 8], 0  /* current(): the thread has a seed */
        je      9f
        test    r10d, r10d              /* the bound is positive */
        jle     9f
2:      mov     rax, [rsi]              /* nextSeed() */
        movabs  rcx, 0x9e3779b97f4a7c15
        add     rax, rcx
        mov     [rsi], rax
        mov     rcx, rax                /* mix32() */
        shr     rcx, 33
        xor     rax, rcx
        movabs  rcx, 0xff51afd7ed558ccd
        imul    rax, rcx
        mov     rcx, rax
        shr     rcx, 33
        xor     rax, rcx
        movabs  rcx, 0xc4ceb9fe1a85ec53
        imul    rax, rcx
        shr     rax, 32
        lea     r11, [r10 - 1]
        test    r10d, r11d              /* a power of two? */
        jz      7f
        shr     eax, 1
        mov     ecx, eax
        cdq
        idiv    r10d
        add     ecx, r11d               /* one of the last few, which would favour some? */
        sub     ecx, edx
        js      8f
3:
.endm

/* The branch targets of a draw: for a power of two, for another try, and for impossible arguments. */
.macro drawn_aside
7:      and     eax, r11d
        mov     edx, eax
        jmp     3b
8:      jmp     2b
9:      ud2
.endm

kernel linefill_shuffle_table
        .balign 32
1:      lea     r11, [rdx - 1]
        mov     r10d, [rsi + 4*r11]
        cmp     r10, rdx
        jae     9f
        exchange r10
        dec     rdx
        dec     rcx
        jnz     1b
        ret
9:      ud2
kernel_end linefill_shuffle_table

/* Four exchanges per iteration: rcx counts iterations. */
kernel linefill_shuffle_unrolled
        .balign 32
1:      .irp    nth, 0, 1, 2, 3
        lea     r11, [rdx - \nth - 1]
        mov     r10d, [rsi + 4*r11]
        cmp     r10, r11
        ja      9f
        exchange r10
        .endr
        sub     rdx, 4
        dec     rcx
        jnz     1b
        ret
9:      ud2
kernel_end linefill_shuffle_unrolled

kernel linefill_shuffle_random
        mov     r10, rdx
        mov     r9, rcx
        .balign 32
1:      draw
        cmp     rdx, r10
        jae     9f
        exchange rdx
        dec     r10
        dec     r9
        jnz     1b
        ret
        drawn_aside
kernel_end linefill_shuffle_random

/* The second loop of a stage. The first loop has moved r8 past the last index, r9 to 0 and r10 to the i
   that follows the stage. xmm1 holds the indices per stage. Leaves r8 and r9 as they were before the
   stage. */
.macro exchange_stage
        movq    r9, xmm1
        lea     rcx, [r10 + r9]
        lea     rax, [4*r9]
        sub     r8, rax
        .balign 32
5:      lea     r11, [rcx - 1]
        mov     edx, [r8]
        cmp     rdx, rcx
        jae     9f
        exchange rdx
        dec     rcx
        add     r8, 4
        dec     r9
        jnz     5b
        movq    r9, xmm1
        lea     rax, [4*r9]
        sub     r8, rax
        movq    rax, xmm0
        dec     rax
        movq    xmm0, rax
.endm

/* The numbers of stages left and of indices per stage are in xmm0 and xmm1, because no other registers are
   free. */
.macro begin_stages
        movq    xmm0, rcx
        movq    xmm1, r9
        mov     r10, rdx
.endm

kernel linefill_staged_table
        begin_stages
1:
        .balign 32
4:      mov     eax, [rsi + 4*r10 - 4]
        mov     [r8], eax
        dec     r10
        add     r8, 4
        dec     r9
        jnz     4b
        exchange_stage
        jnz     1b
        ret
9:      ud2
kernel_end linefill_staged_table

kernel linefill_staged_random
        begin_stages
1:
        .balign 32
4:      draw
        mov     [r8], edx
        dec     r10
        add     r8, 4
        dec     r9
        jnz     4b
        exchange_stage
        jnz     1b
        ret
        drawn_aside
kernel_end linefill_staged_random
