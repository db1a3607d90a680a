/* A store, then a load of the stored value: the latency of a value through memory.

   rdi  address of the store
   rsi  bytes from the store to the load
   rdx  round trips, not 0
   rcx  value
   r8   bytes from the first store to the second, in the kernels with two stores
   rax  result: low 8 bytes of the value after the last round trip

   A round trip is 1 store of the first number's bytes and 1 load of the second number's bytes. In the `_two`
   kernels it is 2 stores of the same value and a load twice as wide. The loaded value is stored next, so that
   every access waits for the previous one. Narrow loads zero-extend. A value wider than 8 bytes begins as
   rcx, repeated. The addresses are in separate registers, none of them a copy of another, so that no renamer
   can tell from the operands whether the addresses are equal: Zen 2 and later and Ice Lake and later pass a
   value from a store to a load with the same operand without the store queue. In the `_renamed` kernel the
   operands are the same.

   A value of up to 8 bytes stays in a general register, unless one of the accesses is wider; a wider
   value stays in a vector register. In the `_general` kernel the store is from a vector register and the
   load into a general register: the `movq` between them is part of the round trip. */

#include "linefill.h"

/* `put` stores `from`, and `get` loads `to`, with `size` where the operands leave the size open; `wide`
   is the widest register among them. `mode` is `two`, `renamed` or `general`. */
.macro trips name, wide, put, from, get, to, size, mode
kernel \name
        add     rsi, rdi
        .ifc    \mode, two
        add     r8, rdi
        .endif
        .ifc    \wide, rax
        mov     rax, rcx
        .endif
        spread  \wide, 0, rcx
        .balign 32
1:      \put    [rdi], \from
        .ifc    \mode, two
        \put    [r8], \from
        .endif
        .ifc    \mode, renamed
        \get    \to, [rdi]
        .else
        \get    \to, \size [rsi]
        .endif
        .ifc    \mode, general
        movq    \from, \to
        .endif
        dec     rdx
        jnz     1b
        .ifc    \wide, xmm0
        movq    rax, xmm0
        .endif
        .ifc    \wide, ymm0
        vmovq   rax, xmm0
        .endif
        .ifc    \wide, zmm0
        vmovq   rax, xmm0
        .endif
        return  \wide
kernel_end \name
.endm

trips linefill_forward1_1, rax, mov, al, movzx, eax, "byte ptr"
trips linefill_forward1_2, rax, mov, al, movzx, eax, "word ptr"
trips linefill_forward1_4, rax, mov, al, mov, eax
trips linefill_forward1_8, rax, mov, al, mov, rax

trips linefill_forward2_1, rax, mov, ax, movzx, eax, "byte ptr"
trips linefill_forward2_2, rax, mov, ax, movzx, eax, "word ptr"
trips linefill_forward2_4, rax, mov, ax, mov, eax
trips linefill_forward2_8, rax, mov, ax, mov, rax

trips linefill_forward4_1, rax, mov, eax, movzx, eax, "byte ptr"
trips linefill_forward4_2, rax, mov, eax, movzx, eax, "word ptr"
trips linefill_forward4_4, rax, mov, eax, mov, eax
trips linefill_forward4_8, rax, mov, eax, mov, rax

trips linefill_forward8_1, rax, mov, rax, movzx, eax, "byte ptr"
trips linefill_forward8_2, rax, mov, rax, movzx, eax, "word ptr"
trips linefill_forward8_4, rax, mov, rax, mov, eax
trips linefill_forward8_8, rax, mov, rax, mov, rax

trips linefill_forward8_16, xmm0, movq, xmm0, movdqu, xmm0
trips linefill_forward8_32, ymm0, vmovq, xmm0, vmovdqu, ymm0
trips linefill_forward8_64, zmm0, vmovq, xmm0, vmovdqu64, zmm0

trips linefill_forward16_8, xmm0, movdqu, xmm0, movq, xmm0
trips linefill_forward16_16, xmm0, movdqu, xmm0, movdqu, xmm0
trips linefill_forward16_32, ymm0, vmovdqu, xmm0, vmovdqu, ymm0
trips linefill_forward16_64, zmm0, vmovdqu, xmm0, vmovdqu64, zmm0

trips linefill_forward32_8, ymm0, vmovdqu, ymm0, vmovq, xmm0
trips linefill_forward32_16, ymm0, vmovdqu, ymm0, vmovdqu, xmm0
trips linefill_forward32_32, ymm0, vmovdqu, ymm0, vmovdqu, ymm0
trips linefill_forward32_64, zmm0, vmovdqu, ymm0, vmovdqu64, zmm0

trips linefill_forward64_8, zmm0, vmovdqu64, zmm0, vmovq, xmm0
trips linefill_forward64_16, zmm0, vmovdqu64, zmm0, vmovdqu, xmm0
trips linefill_forward64_32, zmm0, vmovdqu64, zmm0, vmovdqu, ymm0
trips linefill_forward64_64, zmm0, vmovdqu64, zmm0, vmovdqu64, zmm0

trips linefill_forward4_8_two, rax, mov, eax, mov, rax, mode=two
trips linefill_forward8_16_two, xmm0, movq, xmm0, movdqu, xmm0, mode=two
trips linefill_forward16_32_two, ymm0, vmovdqu, xmm0, vmovdqu, ymm0, mode=two
trips linefill_forward32_64_two, zmm0, vmovdqu, ymm0, vmovdqu64, zmm0, mode=two

trips linefill_forward8_8_renamed, rax, mov, rax, mov, rax, mode=renamed
trips linefill_forward16_8_general, xmm0, movdqu, xmm0, mov, rax, mode=general
