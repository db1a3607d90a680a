/* A store to one place, then a load of another whose address may be the same in its low bits.

   rdi  address of the store
   rsi  address of the load, a word that holds its own address
   rdx  iterations, not 0
   rax  result: the word loaded last

   1 load, 8 bytes, 1 store, 8 bytes per iteration. What is stored is the number of iterations left.
   Each load waits for the one before and for nothing else, as long as the two share no byte: if the
   core takes them for the same at first, that shows as latency. */

#include "linefill.h"

kernel linefill_alias
        mov     rax, rsi
        .balign 32
1:      mov     [rdi], rdx
        mov     rax, [rax]
        dec     rdx
        jnz     1b
        ret
kernel_end linefill_alias
