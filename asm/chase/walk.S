/* Drepper's list walks (section 3.3.2).

   rdi  address of a pointer word
   rsi  steps, not 0
   rdx  bytes from a pointer word to the word that is changed, or to the second word that is read
   rcx  bytes from the next pointer word to the word that is added to the changed word
   rax  result: address of the pointer word after the last step

   The loop's `dec` and `jnz` run in parallel with the dependent load and add no cycle. */

#include "linefill.h"

/* 1 load per step: `p = p->n`. */
kernel linefill_walk_follow
        mov     rax, rdi
        .balign 32
1:      mov     rax, [rax]
        dec     rsi
        jnz     1b
        ret
kernel_end linefill_walk_follow

/* 2 loads, 1 store per step: `p->pad[0]++; p = p->n`. */
kernel linefill_walk_inc
        mov     rax, rdi
        .balign 32
1:      inc     qword ptr [rax + rdx]
        mov     rax, [rax]
        dec     rsi
        jnz     1b
        ret
kernel_end linefill_walk_inc

/* 3 loads, 1 store per step: `p->pad[0] += p->n->pad[k]; p = p->n`. */
kernel linefill_walk_addnext
        mov     rax, rdi
        .balign 32
1:      mov     r8, [rax]
        mov     r9, [r8 + rcx]
        add     [rax + rdx], r9
        mov     rax, r8
        dec     rsi
        jnz     1b
        ret
kernel_end linefill_walk_addnext

/* 2 loads per step: the pointer, and a word of the element's other line. */
kernel linefill_walk_lines
        mov     rax, rdi
        .balign 32
1:      mov     r8, [rax + rdx]
        mov     rax, [rax]
        dec     rsi
        jnz     1b
        ret
kernel_end linefill_walk_lines
