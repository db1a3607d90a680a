/* From a load to the address of the next, by addressing mode and by the register loaded.

   rdi  what the load before the first would have loaded
   rsi  steps, not 0
   rdx  what an offset counts from, where the mode adds a register
   rax  result: what the last step loaded

   1 load per step, no store. Each load's address comes from the load before it and from nothing
   else; `dec` and `jnz` run beside. Bytes a load: 8, or as its operand says. */

#include "linefill.h"

.macro chase name, load:vararg
kernel \name
        mov     rax, rdi
        .balign 32
1:      \load
        dec     rsi
        jnz     1b
        ret
kernel_end \name
.endm

/* By way of a vector register. */
.macro vector name, load, back, register
kernel \name
        mov     rax, rdi
        .balign 32
1:      \load   \register, [rax]
        \back   rax, xmm0
        dec     rsi
        jnz     1b
        .ifnc   \back, movq
        vzeroupper
        .endif
        ret
kernel_end \name
.endm

/* What was loaded is an address, less the displacement. */
chase linefill_chase_base, mov rax, [rax]
chase linefill_chase_disp8, mov rax, [rax + 64]
chase linefill_chase_disp32, mov rax, [rax + 4096]

/* It is an offset: in bytes, or in words of 8 bytes. */
chase linefill_chase_index, mov rax, [rdx + rax]
chase linefill_chase_scaled, mov rax, [rdx + rax*8 + 64]

/* The same, of fewer bytes. */
chase linefill_chase_load32, mov eax, [rdx + rax]
chase linefill_chase_movsxd, movsxd rax, dword ptr [rdx + rax]
chase linefill_chase_movzx16, movzx eax, word ptr [rdx + rax]
chase linefill_chase_movsx16, movsx rax, word ptr [rdx + rax]

/* An address again; the last two load 32 and 64 bytes. */
vector linefill_chase_xmm8, movq, movq, xmm0
vector linefill_chase_xmm16, movdqa, movq, xmm0
vector linefill_chase_ymm32, vmovdqa, vmovq, ymm0
vector linefill_chase_zmm64, vmovdqa64, vmovq, zmm0
