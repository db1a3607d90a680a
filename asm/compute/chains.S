/* Exchanges as in shuffle.S by a table of indices, but each exchange waits for the previous exchange of its
   chain. An `and` with 0, which no CPU treats as a zeroing idiom, clears the integer that the previous
   exchange loaded; the result is added to the next index. The integer waits in an xmm register, which costs
   some cycles. The exchanges are distributed over 1, 2, 4 or 8 interleaved chains, so that as many exchanges
   are outstanding as there are chains.

   rdi  the integers, 32 bits each
   rsi  the indices, 32 bits each, entry i - 1 for i
   rdx  the first i
   rcx  rounds, not 0; a round is one exchange per chain

   5 loads, 20 bytes, 3 stores, 12 bytes per exchange; a round is an iteration. */

#include "linefill.h"

/* An exchange of the chain whose last loaded integer is in \last; \nth is the chain's number. */
.macro link last, nth
        movq    r8, \last
        and     r8, 0
        mov     eax, [rsi + 4*rdx - 4*\nth - 4]
        add     rax, r8
        mov     r9d, [rdi + 4*rax]
        movq    \last, r9
        xor     r9d, [rdi + 4*rdx - 4*\nth - 4]
        mov     [rdi + 4*rdx - 4*\nth - 4], r9d
        xor     r9d, [rdi + 4*rax]
        mov     [rdi + 4*rax], r9d
        xor     [rdi + 4*rdx - 4*\nth - 4], r9d
.endm

.macro chains name, count
kernel \name
        .balign 32
1:      link    xmm0, 0
        .if \count > 1
        link    xmm1, 1
        .endif
        .if \count > 2
        link    xmm2, 2
        link    xmm3, 3
        .endif
        .if \count > 4
        link    xmm4, 4
        link    xmm5, 5
        link    xmm6, 6
        link    xmm7, 7
        .endif
        sub     rdx, \count
        dec     rcx
        jnz     1b
        ret
kernel_end \name
.endm

chains linefill_chains1, 1
chains linefill_chains2, 2
chains linefill_chains4, 4
chains linefill_chains8, 8
