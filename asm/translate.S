/* Prefetches and loads, one a line or one a page, that do not wait for each other.

   rdi  where places begin: for the prefetch, any number at all
   rsi  accesses, not 0
   rdx  bytes from one place to the next
   rcx  bytes of all places together, a power of two, less one
   r8   bytes from rdi to the first place
   rax  result: bytes from rdi to the place behind the last

   1 load, 8 bytes per iteration; none in the kernel that prefetches. No store. */

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
