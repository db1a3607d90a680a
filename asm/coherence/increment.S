/* Increments of a word that other threads may also increment, and turns of a spin lock.

   rdi  address of the word, aligned
   rsi  operations, not 0
   rax  result: the word after the last increment; for the lock, the operations

   An iteration is an operation:
     plain    1 load, 8 bytes; 1 store, 8 bytes, in one instruction that is not atomic: increments
              get lost if other threads increment too
     compare  2 loads, 16 bytes; 1 store, 8 bytes, if no other thread writes in between
     spin     1 load, 8 bytes; 2 stores, 16 bytes, if the lock is free: taken with an exchange, released
              with a plain store. While the lock is taken, the thread only reads it
   The third way of Sestoft's table, getAndIncrement, is `linefill_lock_add`. */

#include "linefill.h"

kernel linefill_increment_plain
        .balign 32
1:      add     qword ptr [rdi], 1
        dec     rsi
        jnz     1b
        mov     rax, [rdi]
        ret
kernel_end linefill_increment_plain

kernel linefill_increment_compare
        .balign 32
1:      mov     rax, [rdi]
        lea     rdx, [rax + 1]
        lock cmpxchg [rdi], rdx
        jnz     1b
        dec     rsi
        jnz     1b
        mov     rax, rdx
        ret
kernel_end linefill_increment_compare

kernel linefill_increment_spin
        mov     rcx, rsi
        jmp     1f
2:      pause
        cmp     qword ptr [rdi], 0
        je      1f
        jmp     2b
        .balign 32
1:      mov     eax, 1
        xchg    [rdi], rax
        test    eax, eax
        jnz     2b
        mov     qword ptr [rdi], 0
        dec     rsi
        jnz     1b
        mov     rax, rcx
        ret
kernel_end linefill_increment_spin
