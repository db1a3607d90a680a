/* A walk that adds up two words of every element (Drepper, section 6.2.1, Figure 6.2).

   rdi  address of a pointer word
   rsi  steps, not 0
   rdx  bytes from a pointer word to the first word that is added
   rcx  bytes from a pointer word to the second
   rax  result: address of the pointer word after the last step
   rdx  result: wrapping sum of the words added

   3 loads, 24 bytes per step, no store. The sum and the pointer chain do not wait for each other. */

#include "linefill.h"

kernel linefill_pair
        mov     rax, rdi
        mov     r10, rdx
        xor     edx, edx
        .balign 32
1:      mov     r8, [rax + r10]
        add     r8, [rax + rcx]
        mov     rax, [rax]
        add     rdx, r8
        dec     rsi
        jnz     1b
        ret
kernel_end linefill_pair
