/* A token passed around among threads: each waits until the word has its value, and writes the next.

   rdi  address of the word, aligned
   rsi  operations, not 0
   rdx  the value to wait for
   rcx  threads: what is added to it for the next time
   rax  result: the value to wait for next

   An iteration is an operation, waiting once:
     store    1 load, 8 bytes; 1 store, 8 bytes
     compare  1 load, 8 bytes; 1 store, 8 bytes, by one `lock cmpxchg`
   Nobody pauses while waiting: a `pause` would be part of the time. */

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
