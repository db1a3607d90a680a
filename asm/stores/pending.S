/* A chain of divisions, then stores: shows how many stores can wait behind instructions that have not
   retired.

   rdi  address of a word
   rsi  rounds, not 0
   rdx  stores per round, 128 at most
   rcx  the number before the first one to be stored
   rax  result: the number stored last, rcx + rounds

   Up to 128 stores, 8 bytes each, per round, all to one word, and no load. A round begins with 12
   divisions that wait for each other and for nothing before them, so that rounds overlap as long as
   the stores between them fit: a store keeps its entry of the store buffer until it has retired and
   has been written to the L1d. Divisions have a long latency, several can be in flight at a time, and
   they take few entries of other resources. */

#include "linefill.h"

kernel linefill_pending
        mov     eax, 1
        cvtsi2sd xmm1, eax
        movapd  xmm2, xmm1
        /* A store is 3 bytes: jump to the first of the last rdx stores. */
        lea     r8, [rip + 2f]
        lea     rax, [rdx + 2*rdx]
        sub     r8, rax
        mov     rax, rcx
        .balign 64
1:      movapd  xmm0, xmm1
        inc     rax
        .rept   12
        divsd   xmm0, xmm2
        .endr
        jmp     r8
        .balign 64
        .rept   128
        mov     [rdi], rax
        .endr
2:      dec     rsi
        jnz     1b
        ret
kernel_end linefill_pending
