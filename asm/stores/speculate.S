/* A store whose address is known late, and a later load that need not wait for it unless both have the
   same address (Drepper, section 6.3.3).

   An operation begins when both halves of the previous operation are done: an `and` with 0, which no renamer
   treats as a zeroing idiom, turns a result into a zero that is part of the next addresses. In the `_ordered`
   kernels the load's address waits for the store's address; nothing else differs. */

#include "linefill.h"

/* The store's address is late because it waits for 20 multiplications, 3 to 6 cycles each: the
   loaded value needs all 64 bits. The loaded value is multiplied as often.

   rdi  address of the store
   rsi  256 addresses to load from, used cyclically: an operation uses the address with the number
        rdx modulo 256
   rdx  operations, not 0
   rcx  factor, odd
   r8   value
   rax  result: the value after the last operation

   2 loads, 16 bytes, and 1 store, 8 bytes per operation. The value is stored; the new value is the loaded
   word times rcx to the power of 20. */
.macro chains name, index
kernel \name
        mov     rax, r8
        xor     r10d, r10d
        .balign 32
1:      movzx   r11d, dl
        mov     r11, [rsi + r11*8]
        lea     r8, [r10 + 1]
        .rept   20
        imul    r8, rcx
        .endr
        and     r8, 0
        mov     [rdi + r8], rax
        mov     r9, [r11 + \index]
        .rept   20
        imul    r9, rcx
        .endr
        mov     rax, r9
        mov     r10, r9
        and     r10, 0
        add     r10, r8
        dec     rdx
        jnz     1b
        ret
kernel_end \name
.endm

chains linefill_speculate, r10
chains linefill_speculate_ordered, r8

/* The store's address is late because it waits for a node of a list. The load is of another node.

   rdi  address of the store, not a pointer word
   rsi  address of the pointer word for which the store waits
   rdx  address of another pointer word, which is loaded after the store
   rcx  steps, not 0
   rax, rdx  result: addresses of the pointer words after the last step

   2 loads, 16 bytes, and 1 store, 8 bytes per step. The stored value is rdx before the step. */
.macro misses name, index
kernel \name
        xor     eax, eax
        .balign 32
1:      mov     rsi, [rsi + rax]
        mov     r8, rsi
        and     r8, 0
        mov     [rdi + r8], rdx
        mov     rdx, [rdx + \index]
        mov     rax, rdx
        and     rax, 0
        add     rax, r8
        dec     rcx
        jnz     1b
        mov     rax, rsi
        ret
kernel_end \name
.endm

misses linefill_speculate_miss, rax
misses linefill_speculate_miss_ordered, r8
