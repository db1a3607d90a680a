/* Independent accesses of one width, eight at a time, at places that registers determine.

   rdi  address of the first place
   rsi  index of the first burst, in bytes
   rdx  bytes from a burst's index to the index of the next burst
   rcx  mask that wraps the index
   r8   bytes from one access of a burst to the next
   r9   bursts, not 0
   rax  result: low 8 bytes of the last value loaded or stored (low 4 if the width is 4)

   8 loads or 8 stores of one width per iteration, and no other access: at rdi + (index & rcx) + k * r8
   for k from 0 to 7. No access waits for another; the index is a dependence chain of one cycle per
   iteration. Kernels of one width differ only in the direction of the access; the `_aligned` kernels
   have `movdqa` instead of `movdqu`. Stores write the index of the next burst, not wrapped and repeated
   every 8 bytes. */

#include "linefill.h"

.macro load op, reg, place:vararg
        \op     \reg, \place
.endm

.macro store op, reg, place:vararg
        \op     \place, \reg
.endm

.macro burst name, direction, op, reg, last:vararg
kernel \name
        lea     r10, [r8 + 2 * r8]
        .balign 32
1:      mov     rax, rsi
        and     rax, rcx
        add     rax, rdi
        add     rsi, rdx
        .ifc    \direction, store
        spread  \reg, 0, rsi
        .endif
        \direction \op, \reg, [rax]
        \direction \op, \reg, [rax + r8]
        \direction \op, \reg, [rax + 2 * r8]
        \direction \op, \reg, [rax + r10]
        lea     rax, [rax + 4 * r8]
        \direction \op, \reg, [rax]
        \direction \op, \reg, [rax + r8]
        \direction \op, \reg, [rax + 2 * r8]
        \direction \op, \reg, [rax + r10]
        dec     r9
        jnz     1b
        \last
        return  \reg
kernel_end \name
.endm

burst linefill_burst_load4, load, mov, r11d, mov eax, r11d
burst linefill_burst_load8, load, mov, r11, mov rax, r11
burst linefill_burst_load16, load, movdqu, xmm0, movq rax, xmm0
burst linefill_burst_load16_aligned, load, movdqa, xmm0, movq rax, xmm0
burst linefill_burst_load32, load, vmovdqu, ymm0, vmovq rax, xmm0
burst linefill_burst_load64, load, vmovdqu64, zmm0, vmovq rax, xmm0

burst linefill_burst_store4, store, mov, esi, mov eax, esi
burst linefill_burst_store8, store, mov, rsi, mov rax, rsi
burst linefill_burst_store16, store, movdqu, xmm0, movq rax, xmm0
burst linefill_burst_store16_aligned, store, movdqa, xmm0, movq rax, xmm0
burst linefill_burst_store32, store, vmovdqu, ymm0, vmovq rax, xmm0
burst linefill_burst_store64, store, vmovdqu64, zmm0, vmovq rax, xmm0
