/* A store whose address comes late, and behind it a load that need not wait for it, unless both are
   of one place (Drepper, section 6.3.3).

   Each operation begins when both halves of the one before are done: `and` with 0, which no
   renamer sees through, makes a zero of a result, and the zero is part of the next addresses.
   In the kernels of `_ordered` the load's address waits for the store's; nothing else differs. */

#include "linefill.h"

/* The address comes late because it waits for 20 multiplications, 3 cycles each (see
   `src/time/yardstick.rs`); what is loaded is multiplied as often.

   rdi  address of the store
   rsi  256 addresses to load from, taken in turn: the one whose number is what is left in rdx,
        modulo 256
   rdx  operations, not 0
   rcx  multiplier, odd
   r8   value
   rax  result: the value after the last operation

   2 loads, 16 bytes, and 1 store, 8 bytes per operation. The value is stored, and becomes what was
   loaded, times rcx to the power of 20. */
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

/* The address comes late because it waits for a node of a list, and the load is of another node.

   rdi  address of the store, no pointer word
   rsi  address of a pointer word: what the store waits for
   rdx  address of another pointer word: what is loaded behind it
   rcx  steps, not 0
   rax, rdx  result: addresses of the pointer words after the last step

   2 loads, 16 bytes, and 1 store, 8 bytes per step. What is stored is rdx before the step. */
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
