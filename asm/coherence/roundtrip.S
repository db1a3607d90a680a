/* A token passed around among threads: each thread waits until the word has its value, and writes the next
   value.

   rdi  address of the word, aligned
   rsi  operations, not 0
   rdx  the value to wait for
   rcx  threads, which are added to the awaited value after each turn
   rax  result: the value to wait for next

   An iteration is an operation. With a single wait it makes:
     store    1 load, 8 bytes; 1 store, 8 bytes
     compare  1 load, 8 bytes; 1 store, 8 bytes, with one `lock cmpxchg`
   No `pause` while waiting: it would be part of the time. */

#include "linefill.h"

kernel linefill_roundtrip_store
        .balign 32
1:      cmp     qword ptr [rdi], rdx
        jne     1b
        lea     rax, [rdx + 1]
        mov     [rdi], rax
        add     rdx, rcx
        dec     rsi
        jnz     1b
        mov     rax, rdx
        ret
kernel_end linefill_roundtrip_store

kernel linefill_roundtrip_compare
        lea     r8, [rdx + 1]
        .balign 32
1:      mov     rax, rdx
        lock cmpxchg [rdi], r8
        jne     1b
        add     rdx, rcx
        lea     r8, [rdx + 1]
        dec     rsi
        jnz     1b
        mov     rax, rdx
        ret
kernel_end linefill_roundtrip_compare
