/* Evicts lines from the caches, or writes them back.

   rdi  address of the first line
   rsi  lines, not 0
   rax  result: address after the last line

   1 flush of a line per iteration, no load, no store. The kernels differ only in the instruction. The
   caller fences. */

#include "linefill.h"

.macro flushes name, op
kernel \name
        .balign 32
1:      \op     [rdi]
        add     rdi, 64
        dec     rsi
        jnz     1b
        mov     rax, rdi
        ret
kernel_end \name
.endm

flushes linefill_flush, clflush
flushes linefill_flush_back, clwb
flushes linefill_flush_opt, clflushopt
