/* Prefetches or loads at a stride, for instance one per page, that do not wait for each other.

   rdi  base of the places; any number for the prefetch
   rsi  accesses, not 0
   rdx  bytes from one place to the next
   rcx  bytes spanned by all places, a power of two, minus one
   r8   bytes from rdi to the first place
   rax  result: bytes from rdi to the place after the last

   1 load, 8 bytes per iteration; the kernel that prefetches has no load. No store. */

#include "linefill.h"

.macro accesses name, op:vararg
kernel \name
        mov     rax, r8
        .balign 32
1:      \op     [rdi + rax]
        add     rax, rdx
        and     rax, rcx
        dec     rsi
        jnz     1b
        ret
kernel_end \name
.endm

accesses linefill_translate_load, mov r9,
accesses linefill_translate_prefetch, prefetcht0
