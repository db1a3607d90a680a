/* A store to one address, then a load from another address that may have the same low bits. In
   linefill_alias, the address of the store is known long before the load's. In linefill_alias_late, it
   becomes known with the load's: both derive from the word loaded last.

   rdi  address of the store
   rsi  address of the load, a word that holds its own address
   rdx  iterations, not 0
   rax  result: the word loaded last

   1 load, 8 bytes, 1 store, 8 bytes per iteration. The stored value is the number of iterations left. Each
   load waits only for the previous load, as long as the load and the store share no byte. The latency rises
   if the core at first treats the two addresses as equal. In the first loop, Zen 4 and Zen 5 do so and
   Raptor Cove does not; in the second, Raptor Cove does. */

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

kernel linefill_alias_late
        sub     rdi, rsi                # from the load to the store
        mov     rax, rsi
        .balign 32
1:      mov     [rax + rdi], rdx
        mov     rax, [rax]
        dec     rdx
        jnz     1b
        ret
kernel_end linefill_alias_late
