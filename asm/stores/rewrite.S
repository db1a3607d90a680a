/* Repeated stores to the same word, under the write policies that a program can choose for ordinary
   memory.

   rdi  address of the word, a multiple of 8
   rsi  stores, not 0
   rdx  the first value to store; it grows by 1 per store
   rax  result: the last stored value plus 1

   1 store, 8 bytes per iteration, no load. The caller fences. */

#include "linefill.h"

/* Through the cache: the line stays modified. */
kernel linefill_rewrite
        mov     rax, rdx
        .balign 32
1:      mov     [rdi], rax
        inc     rax
        dec     rsi
        jnz     1b
        ret
kernel_end linefill_rewrite

/* Through the cache; each value is also written back to memory at once. */
kernel linefill_rewrite_through
        mov     rax, rdx
        .balign 32
1:      mov     [rdi], rax
        clwb    [rdi]
        inc     rax
        dec     rsi
        jnz     1b
        ret
kernel_end linefill_rewrite_through

/* Past the cache. */
kernel linefill_rewrite_stream
        mov     rax, rdx
        .balign 32
1:      movnti  [rdi], rax
        inc     rax
        dec     rsi
        jnz     1b
        ret
kernel_end linefill_rewrite_stream
