/* Turns of locks that serve threads in the order of their arrival.

   rdi  address of the lock's words, aligned. ticket: the next ticket to draw, and the ticket being
        served. mcs: the address of the last node, 0 while the lock is free
   rsi  operations, not 0
   rdx  mcs: address of the thread's node, two words: the address of the next node, and whether the
        thread waits
   rax  result. ticket: the number after the last ticket taken; mcs: the operations

   An iteration is an operation: the lock is taken and released. If the lock is free it makes:
     ticket   2 loads, 16 bytes; 2 stores, 16 bytes: a ticket is taken with `lock xadd`, and the next
              ticket is served with a plain store
     mcs      3 loads, 24 bytes; 3 stores, 24 bytes: a node is appended to the list with `xchg`, and
              removed with `lock cmpxchg` if there is no next node
   mcs is the list-based lock of Mellor-Crummey and Scott, "Algorithms for scalable synchronization on
   shared-memory multiprocessors", ACM TOCS 9(1), 1991: each thread waits on its own node. */

#include "linefill.h"

kernel linefill_queue_ticket
        jmp     1f
2:      pause
        mov     rcx, [rdi + 8]
        cmp     rcx, rax
        je      3f
        jmp     2b
        .balign 32
1:      mov     eax, 1
        lock xadd [rdi], rax
        cmp     [rdi + 8], rax
        jne     2b
3:      inc     rax
        mov     [rdi + 8], rax
        dec     rsi
        jnz     1b
        ret
kernel_end linefill_queue_ticket

kernel linefill_queue_mcs
        mov     rcx, rsi
        .balign 32
1:      mov     qword ptr [rdx], 0
        mov     rax, rdx
        xchg    [rdi], rax
        test    rax, rax
        jnz     2f
4:      mov     r8, [rdx]
        test    r8, r8
        jnz     6f
        mov     rax, rdx
        lock cmpxchg [rdi], r8
        jnz     5f
        dec     rsi
        jnz     1b
        mov     rax, rcx
        ret
2:      mov     qword ptr [rdx + 8], 1
        mov     [rax], rdx
3:      cmp     qword ptr [rdx + 8], 0
        je      4b
        pause
        jmp     3b
        # Another thread has appended its node, but not linked it yet.
5:      pause
        mov     r8, [rdx]
        test    r8, r8
        jnz     6f
        jmp     5b
6:      mov     qword ptr [r8 + 8], 0
        dec     rsi
        jnz     1b
        mov     rax, rcx
        ret
kernel_end linefill_queue_mcs
