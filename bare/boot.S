# From the loader's 32-bit protected mode to Rust in 64-bit mode.
#
# Two doors lead to start32, and both open on the same state (paging off, flat 32-bit segments,
# interrupts off): the PVH note, which QEMU's and Cloud Hypervisor's `-kernel` take, and the
# Multiboot2 header, which GRUB takes on real hardware.

    .set PAGE_TABLE_ENTRY,  0x03        # present, writable
    .set PAGE_2M_ENTRY,     0x83        # present, writable, page size
    .set CR0_CLEAR,         0x6000000c  # CD, NW: caches on; TS, EM: the FPU is real
    .set CR0_SET,           0x00000022  # MP, NE
    .set CR0_PAGING,        0x80010000  # PG, WP
    .set CR4_SET,           0x00000620  # PAE, OSFXSR, OSXMMEXCPT
    .set CR4_OSXSAVE,       0x00040000
    .set MSR_EFER,          0xc0000080
    .set EFER_LME,          0x100
    .set CPUID1_ECX_XSAVE,  26
    .set XCR0_WANTED,       0xe7        # x87, SSE, AVX, opmask, ZMM_Hi256, Hi16_ZMM
    .set CODE64,            0x08
    .set DATA,              0x10
    .set STACK_BYTES,       0x10000

# --- the doors -------------------------------------------------------------------------------

# XEN_ELFNOTE_PHYS32_ENTRY (xen/include/public/elfnote.h): the 32-bit physical entry point.
# QEMU reads a descriptor of 8 bytes from a 64-bit ELF file.
    .section .note.pvh, "a", @note
    .balign 4
    .long 4                             # bytes of the name
    .long 8                             # bytes of the descriptor
    .long 18                            # XEN_ELFNOTE_PHYS32_ENTRY
    .asciz "Xen"
    .quad start32

# Multiboot2 specification, section 3.1: magic, architecture i386, length, checksum, end tag.
    .section .multiboot2, "a", @progbits
    .balign 8
multiboot2:
    .long 0xe85250d6
    .long 0
    .long multiboot2_end - multiboot2
    .long 0x100000000 - (0xe85250d6 + (multiboot2_end - multiboot2))
    .short 0, 0
    .long 8
multiboot2_end:

# --- 32-bit ----------------------------------------------------------------------------------

    .section .boot, "ax", @progbits
    .code32
    .globl start32
start32:
    cli
    cld
    movl $stack_top, %esp
    movl %ebx, boot_info                # physical address of what the loader has to say

    # PML4[0] -> PDPT; PDPT[0..4] -> four page directories; 2048 pages of 2 MiB: 4 GiB.
    movl $pdpt + PAGE_TABLE_ENTRY, pml4
    movl $page_directories + PAGE_TABLE_ENTRY, %eax
    movl $pdpt, %edi
    movl $4, %ecx
1:  movl %eax, (%edi)
    addl $0x1000, %eax
    addl $8, %edi
    loop 1b
    movl $PAGE_2M_ENTRY, %eax
    movl $page_directories, %edi
    movl $2048, %ecx
2:  movl %eax, (%edi)
    addl $0x200000, %eax
    addl $8, %edi
    loop 2b

    movl %cr0, %eax
    andl $~CR0_CLEAR, %eax
    orl $CR0_SET, %eax
    movl %eax, %cr0
    movl %cr4, %eax
    orl $CR4_SET, %eax
    movl %eax, %cr4
    movl $pml4, %eax
    movl %eax, %cr3

    movl $MSR_EFER, %ecx
    rdmsr
    orl $EFER_LME, %eax
    wrmsr
    movl %cr0, %eax
    orl $CR0_PAGING, %eax
    movl %eax, %cr0

    lgdt gdt_pointer
    ljmp $CODE64, $start64

# --- 64-bit ----------------------------------------------------------------------------------

    .code64
start64:
    movl $DATA, %eax
    movl %eax, %ds
    movl %eax, %es
    movl %eax, %ss
    xorl %eax, %eax
    movl %eax, %fs
    movl %eax, %gs
    movl $stack_top, %esp

    # AVX and AVX-512 are off until XCR0 enables the state that this CPU says it has
    # (Intel SDM volume 1, section 13.3).
    movl $1, %eax
    cpuid
    btl $CPUID1_ECX_XSAVE, %ecx
    jnc 3f
    movq %cr4, %rax
    orq $CR4_OSXSAVE, %rax
    movq %rax, %cr4
    movl $0x0d, %eax
    xorl %ecx, %ecx
    cpuid
    andl $XCR0_WANTED, %eax
    xorl %edx, %edx
    xorl %ecx, %ecx
    xsetbv
3:
    movl boot_info, %edi
    xorl %ebp, %ebp
    call kernel_main
    ud2

# --- exceptions ------------------------------------------------------------------------------

# One 16-byte stub a vector. Each leaves the vector number and an error code (0 where the CPU
# pushes none) on the stack below the CPU's own frame.
    .text
    .balign 16
    .globl exception_stubs
exception_stubs:
    .set vector, 0
    .rept 32
    .balign 16
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

# --- tables and stack ------------------------------------------------------------------------

    .section .data
    .balign 8
gdt:
    .quad 0
    .quad 0x00af9b000000ffff            # CODE64: ring 0, execute/read, long mode
    .quad 0x00cf93000000ffff            # DATA: ring 0, read/write
gdt_pointer:
    .short gdt_pointer - gdt - 1
    .quad gdt
boot_info:
    .long 0

    .section .bss
    .balign 4096
pml4:
    .skip 0x1000
pdpt:
    .skip 0x1000
page_directories:
    .skip 0x4000
    .skip STACK_BYTES
stack_top:
