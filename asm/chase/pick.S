/* Adds up the first word and another word of each array element that a list of indices picks (Drepper,
   section 6.2.1, Figure 6.3: the first and the last member of a structure).

   rdi  address of the first element
   rsi  address of the next index: 32 bits, in words of 8 bytes from the first element
   rdx  picks, not 0
   rcx  bytes from an element to the second word
   rax  result: wrapping sum of the words added

   3 loads, 20 bytes per pick, no store. No pick waits for another: as many are outstanding as the CPU
   has room for. */

#include "linefill.h"

kernel linefill_pick
        add     rcx, rdi
        xor     eax, eax
        .balign 32
1:      mov     r8d, [rsi]
        mov     r9, [rdi + 8*r8]
        add     r9, [rcx + 8*r8]
        add     rax, r9
        add     rsi, 4
        dec     rdx
        jnz     1b
        ret
kernel_end linefill_pick
