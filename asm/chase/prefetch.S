/* Drepper's walk with work at every node and a prefetch ahead (section 6.3.2, Figure 6.7).

   rdi  address of a pointer word
   rsi  steps, not 0
   rdx  bytes from a pointer word to the word that holds the address to prefetch
   rcx  multiplications per step, 0 to 256
   rax  result: address of the pointer word after the last step

   1 load, 8 bytes per step; with a prefetch 2 loads, 16 bytes, as the address to prefetch is loaded too.
   No store.

   The work is a chain of `imul` (3 cycles each, see `src/time/yardstick.rs`) on the loaded pointer, so it
   waits for the node. The point where the jump enters the run of `imul` sets the amount of work, so that no
   branch depends on the amount. In a serial kernel the next address waits for the product: an `and` with 0,
   which no CPU treats as a zeroing idiom, clears the product, and the result is added to the pointer. In the
   other kernels the cleared product is added to an unused register. The kernels do not differ otherwise. */

#include "linefill.h"

/* `op` is the prefetch or `none`; `sink` is the register to which the cleared product is added. */
.macro prefetches name, op, sink
kernel \name
        lea     r9, [rip + 2f]
        shl     rcx, 2                  /* bytes of an imul */
        sub     r9, rcx
        mov     rax, rdi
        .balign 32
1:      .ifnc   \op, none
        mov     r10, [rax + rdx]
        \op     [r10]
        .endif
        mov     rax, [rax]
        mov     r8, rax
        jmp     r9
        .rept   256
        imul    r8d, r8d
        .endr
2:      and     r8, 0
        add     \sink, r8
        dec     rsi
        jnz     1b
        ret
kernel_end \name
.endm

prefetches linefill_prefetch_none, none, r11
prefetches linefill_prefetch_t0, prefetcht0, r11
prefetches linefill_prefetch_t1, prefetcht1, r11
prefetches linefill_prefetch_t2, prefetcht2, r11
prefetches linefill_prefetch_nta, prefetchnta, r11
prefetches linefill_prefetch_w, prefetchw, r11

prefetches linefill_prefetch_none_serial, none, rax
prefetches linefill_prefetch_t0_serial, prefetcht0, rax
prefetches linefill_prefetch_t1_serial, prefetcht1, rax
prefetches linefill_prefetch_t2_serial, prefetcht2, rax
prefetches linefill_prefetch_nta_serial, prefetchnta, rax
prefetches linefill_prefetch_w_serial, prefetchw, rax
