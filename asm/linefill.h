/* The beginning and the end of every file of kernels. Objects are ELF, or COFF for UEFI. */

#if defined(LINEFILL_UEFI) && defined(__ELF__)
#error "this compiler writes ELF objects, and UEFI programs are linked from COFF: use clang"
#endif

        .intel_syntax noprefix

/* A global function that starts on a separate line, so that its loop does not move when a neighbour grows.
   `name` to `name`_end are its bytes, for the tests that disassemble it. */

#ifdef __ELF__

.macro kernel name
        .section .text.\name,"ax",@progbits
        .balign 64
        .globl  \name
        .hidden \name
        .type   \name,@function
\name:
.endm

.macro kernel_end name
        .globl  \name\()_end
        .hidden \name\()_end
\name\()_end:
        .size   \name, . - \name
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

#endif
