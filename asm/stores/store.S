/* Stores of one width at a constant distance, through or past the cache.

   rdi  address of the first store, a multiple of the width
   rsi  bytes from one store to the next, a multiple of the width
   rdx  stores, not 0
   rcx  value, repeated over the width; only its low half if the width is 4
   rax  result: `rdi` advanced by all stores

   1 store of 4, 8, 16, 32 or 64 bytes per iteration, no load. The cached and the non-temporal kernel
   of a width differ only in the store. The caller fences. */

#include "linefill.h"

/* `op` stores `reg` to memory. */
.macro stores name, op, reg
kernel \name
        spread  \reg, 0, rcx
        .balign 32
1:      \op     [rdi], \reg
        add     rdi, rsi
        dec     rdx
        jnz     1b
        mov     rax, rdi
        return  \reg
kernel_end \name
.endm

stores linefill_store4, mov, ecx
stores linefill_store8, mov, rcx
stores linefill_store16, movdqa, xmm0
stores linefill_store32, vmovdqa, ymm0
stores linefill_store64, vmovdqa64, zmm0

stores linefill_stream4, movnti, ecx
stores linefill_stream8, movnti, rcx
stores linefill_stream16, movntdq, xmm0
stores linefill_stream32, vmovntdq, ymm0
stores linefill_stream64, vmovntdq, zmm0
