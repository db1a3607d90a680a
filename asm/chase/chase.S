/* Walks in which each load takes its address from the previous load, by addressing mode and by destination
   register.

   rdi  the first link: the value that a previous step would have loaded
   rsi  steps, not 0
   rdx  the address from which offsets count, if the mode adds a register
   rax  result: the link that the last step loaded

   1 load per step, no store. Each load's address depends only on the previous load; `dec` and `jnz` run in
   parallel. Bytes per load: 8, or as the operand says. */

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

/* Loads through a vector register. */
.macro vector name, load, back, register
kernel \name
        mov     rax, rdi
        .balign 32
1:      \load   \register, [rax]
        \back   rax, xmm0
        dec     rsi
        jnz     1b
        return  \register
kernel_end \name
.endm

/* The link is an address minus the displacement. */
chase linefill_chase_base, mov rax, [rax]
chase linefill_chase_disp8, mov rax, [rax + 64]
chase linefill_chase_disp32, mov rax, [rax + 4096]

/* The link is an offset, in bytes or in words of 8 bytes. */
chase linefill_chase_index, mov rax, [rdx + rax]
chase linefill_chase_scaled, mov rax, [rdx + rax*8 + 64]

/* The link is an offset in bytes, of 4 or 2 bytes. */
chase linefill_chase_load32, mov eax, [rdx + rax]
chase linefill_chase_movsxd, movsxd rax, dword ptr [rdx + rax]
chase linefill_chase_movzx16, movzx eax, word ptr [rdx + rax]
chase linefill_chase_movsx16, movsx rax, word ptr [rdx + rax]

/* The link is an address. The kernels load 8, 16, 32 and 64 bytes. */
vector linefill_chase_xmm8, movq, movq, xmm0
vector linefill_chase_xmm16, movdqa, movq, xmm0
vector linefill_chase_ymm32, vmovdqa, vmovq, ymm0
vector linefill_chase_zmm64, vmovdqa64, vmovq, zmm0
