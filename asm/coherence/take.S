/* Stores or locked additions to lines that another core may hold, with or without a prefetch of each line
   (Drepper, section 6.3.2: prefetchw).

   rdi  address of the lines
   rsi  operations, not 0
   rdx  byte offset of the first line to write
   rcx  number of offsets, a power of two, minus 1
   r8   bytes to the next line to write
   r9   bytes to the line to prefetch
   rax  result: byte offset of the next line to write

   An iteration is an operation on the first word of a line: a store of the number of operations that are
   left, including this one, a `lock add` of 1, or (fenced) a `lock add` followed by an `mfence`. The
   operation follows no prefetch, a `prefetcht0` (t0) or a `prefetchw` (w) of the line r9 bytes ahead.

   linefill_take_store: 1 store, 8 bytes
   linefill_take_store_t0: 1 store, 8 bytes
   linefill_take_store_w: 1 store, 8 bytes
   linefill_take_add: 1 load, 8 bytes; 1 store, 8 bytes
   linefill_take_add_t0: 1 load, 8 bytes; 1 store, 8 bytes
   linefill_take_add_w: 1 load, 8 bytes; 1 store, 8 bytes
   linefill_take_fenced: 1 load, 8 bytes; 1 store, 8 bytes
   linefill_take_fenced_t0: 1 load, 8 bytes; 1 store, 8 bytes
   linefill_take_fenced_w: 1 load, 8 bytes; 1 store, 8 bytes
*/

#include "linefill.h"

.macro takes name, kind, hint
kernel \name
        .balign 32
1:
        .ifnb   \hint
        lea     r10, [rdx + r9]
        and     r10, rcx
        \hint   [rdi + r10]
        .endif
        .ifc    \kind, store
        mov     [rdi + rdx], rsi
        .else
        lock add qword ptr [rdi + rdx], 1
        .endif
        .ifc    \kind, fenced
        mfence
        .endif
        add     rdx, r8
        and     rdx, rcx
        dec     rsi
        jnz     1b
        mov     rax, rdx
        ret
kernel_end \name
.endm

takes   linefill_take_store, store
takes   linefill_take_store_t0, store, prefetcht0
takes   linefill_take_store_w, store, prefetchw
takes   linefill_take_add, add
takes   linefill_take_add_t0, add, prefetcht0
takes   linefill_take_add_w, add, prefetchw
takes   linefill_take_fenced, fenced
takes   linefill_take_fenced_t0, fenced, prefetcht0
takes   linefill_take_fenced_w, fenced, prefetchw
