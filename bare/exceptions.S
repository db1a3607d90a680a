# One stub per exception vector, for the interrupt descriptor table to point at.
#
# Each stub leaves the vector number and an error code (0 where the CPU pushes none) on the stack below the
# CPU's own frame. It then calls exception_entry with the address of the vector number and the value of CR2,
# as sysv64 passes arguments. exception_entry does not return.

    .set VECTORS,           32
    .set STUB_BYTES,        16

    .globl exception_stubs
    .text
    .balign STUB_BYTES
exception_stubs:
    .set vector, 0
    .rept VECTORS
    .balign STUB_BYTES
    .if (vector == 8) || ((vector >= 10) && (vector <= 14)) || (vector == 17) || (vector == 21) || (vector == 29) || (vector == 30)
    .else
    pushq $0
    .endif
    pushq $vector
    jmp exception_common
    .set vector, vector + 1
    .endr

exception_common:
    movq %rsp, %rdi
    movq %cr2, %rsi
    andq $-16, %rsp
    cld
    call exception_entry
    ud2
