/* A walk that reads all 8 words of every 64-byte element, in ascending or descending order of their
   addresses.

   rdi  address of a pointer word
   rsi  steps, not 0
   rax  result: address of the pointer word after the last step
   rdx  result: wrapping sum of all words read, the pointers included

   8 loads, 64 bytes per step, no store. All kernels have the same instructions in different orders.
   Four accumulators keep the sum off the pointer chain. */

#include "linefill.h"

/* Reads word `word` of an element whose pointer is word `pointer`. */
.macro field word, pointer, sum
        .if     \word == \pointer
        mov     rcx, [rax]
        add     \sum, rcx
        .else
        add     \sum, [rax + 8 * (\word - \pointer)]
        .endif
.endm

.macro fields name, pointer, w0, w1, w2, w3, w4, w5, w6, w7
kernel \name
        mov     rax, rdi
        xor     edx, edx
        xor     r8d, r8d
        xor     r9d, r9d
        xor     r10d, r10d
        .balign 32
1:      field   \w0, \pointer, rdx
        field   \w1, \pointer, r8
        field   \w2, \pointer, r9
        field   \w3, \pointer, r10
        field   \w4, \pointer, rdx
        field   \w5, \pointer, r8
        field   \w6, \pointer, r9
        field   \w7, \pointer, r10
        mov     rax, rcx
        dec     rsi
        jnz     1b
        add     rdx, r8
        add     r9, r10
        add     rdx, r9
        ret
kernel_end \name
.endm

fields linefill_fields_first_ascending, 0, 0, 1, 2, 3, 4, 5, 6, 7
fields linefill_fields_first_descending, 0, 7, 6, 5, 4, 3, 2, 1, 0
fields linefill_fields_last_ascending, 7, 0, 1, 2, 3, 4, 5, 6, 7
fields linefill_fields_last_descending, 7, 7, 6, 5, 4, 3, 2, 1, 0
