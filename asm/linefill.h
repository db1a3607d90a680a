/* What every file of kernels begins with. Objects are ELF, or COFF for UEFI. */

#if defined(LINEFILL_UEFI) && defined(__ELF__)
#error "this compiler writes ELF objects, and UEFI programs are linked from COFF: use clang"
#endif

        .intel_syntax noprefix

/* A global function that starts on a separate line, so that its loop does not move when a neighbour grows.
   `name` to `name`_end are its bytes, for the tests that disassemble it. A profiler or debugger that unwinds by
   DWARF finds the caller: no kernel moves rsp, but for the calls in `linefill_tensor_called`. */

#ifdef __ELF__

.macro kernel name
        .section .text.\name,"ax",@progbits
        .balign 64
        .globl  \name
        .hidden \name
        .type   \name,@function
\name:
        .cfi_startproc
.endm

.macro kernel_end name
        .globl  \name\()_end
        .hidden \name\()_end
\name\()_end:
        .cfi_endproc
        .size   \name, . - \name
.endm

/* For unwinding: from here on, `bytes` more lie on the stack than before. */
.macro pushed bytes
        .cfi_adjust_cfa_offset \bytes
.endm

/* The stack needs no execute permission. */
        .section .note.GNU-stack,"",@progbits

#else

.macro kernel name
        .section .text$\name,"xr"
        .balign 64
        .globl  \name
\name:
.endm

.macro kernel_end name
        .globl  \name\()_end
\name\()_end:
.endm

.macro pushed bytes
.endm

#endif

/* What several files use. */

/* Copies the 8 bytes of `from` to all of `reg`, if that is the vector register with this number. */
.macro spread reg, number, from
        .ifc    \reg, xmm\number
        movq    xmm\number, \from
        punpcklqdq xmm\number, xmm\number
        .endif
        .ifc    \reg, ymm\number
        vmovq   xmm\number, \from
        vpbroadcastq ymm\number, xmm\number
        .endif
        .ifc    \reg, zmm\number
        vpbroadcastq zmm\number, \from
        .endif
.endm

/* `rax` = the sum of the words in register 0 of this kind. Changes register 1. */
.macro sum_words reg
        .ifc    \reg, xmm
        pshufd  xmm1, xmm0, 0xEE
        paddq   xmm0, xmm1
        movq    rax, xmm0
        .else
        .ifc    \reg, zmm
        vextracti64x4 ymm1, zmm0, 1
        vpaddq  ymm0, ymm0, ymm1
        .endif
        vextracti128 xmm1, ymm0, 1
        vpaddq  xmm0, xmm0, xmm1
        vpshufd xmm1, xmm0, 0xEE
        vpaddq  xmm0, xmm0, xmm1
        vmovq   rax, xmm0
        .endif
.endm

/* Returns from a kernel whose widest register is `reg`, or of its kind. */
.macro return reg
        .irp    wide, ymm, ymm0, zmm, zmm0
        .ifc    \reg, \wide
        vzeroupper
        .endif
        .endr
        ret
.endm

/* Goes to the next block of 512 bytes, or from the last to the first, and repeats. */
.macro next_block
        add     rdi, 512
        cmp     rdi, rcx
        cmove   rdi, rdx
        dec     rsi
        jnz     1b
.endm
