# From the loader's 32-bit protected mode to Rust in 64-bit mode.
#
# The loader enters at start32, in one of two ways. Both leave the same state (paging off, flat 32-bit
# segments, interrupts off): the PVH note, which QEMU's `-kernel` uses, and the Multiboot2 header, which GRUB
# uses on real hardware.
#
# This file is assembled after exceptions.S, whose symbols it uses.
#
# Rust is entered in ring 0, or in ring 3 if the command line says so. Everything that needs ring 0 is
# therefore done here, before any compiled code runs. A nested hypervisor that interprets ring 0 would also
# not know all instructions that a compiler emits.

    .set PAGE_TABLE_ENTRY,  0x07        # present, writable, user
    .set PAGE_2M_ENTRY,     0x87        # present, writable, user, page size
    .set CR0_CLEAR,         0x6000000c  # CD, NW (turns the caches on); TS, EM (enables the FPU)
    .set CR0_SET,           0x00000022  # MP, NE
    .set CR0_PAGING,        0x80010000  # PG, WP
    .set CR4,               0x00000660  # PAE, MCE, OSFXSR, OSXMMEXCPT
    .set CR4_OSXSAVE,       0x00040000
    .set MSR_EFER,          0xc0000080
    .set EFER_LME,          0x100
    .set CPUID1_ECX_XSAVE,  26
    .set XCR0_WANTED,       0xe7        # x87, SSE, AVX, opmask, ZMM_Hi256, Hi16_ZMM
    .set CODE64,            0x08
    .set DATA,              0x10
    .set USER_DATA,         0x1b        # with requested privilege level 3
    .set USER_CODE64,       0x23
    .set TASK,              0x28
    .set USER_FLAGS,        0x2         # interrupts off
    .set INTERRUPT_GATE,    0x8e01      # present, 64-bit, entry 1 of the interrupt stack table
    .set STACK_BYTES,       0x100000
    .set EXCEPTION_STACK_BYTES, 0x10000
    .set START_MAGIC,       0x336ec578  # XEN_HVM_START_MAGIC_VALUE (xen .../start_info.h)
    .set START_CMDLINE,     24          # offset of cmdline_paddr (same source)
    .set IO_PORTS,          0x400       # ports that ring 3 may use: serial port, timer, exit
    .set TSS_FIXED_BYTES,   104
    .set TSS_BYTES,         TSS_FIXED_BYTES + IO_PORTS / 8 + 1

# --- entry points ----------------------------------------------------------------------------

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
    movl %ebx, boot_info                # physical address of the loader's information

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
    # No bit of the loader's is kept: under SMEP and SMAP user pages are no kernel's, and LA57 means five levels.
    movl $CR4, %eax
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

    # AVX and AVX-512 stay off until XCR0 enables the state components that CPUID reports (Intel SDM volume 1,
    # section 13.3).
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
    # Exceptions: one gate per stub, and a task state segment with the stack for the handlers.
    movl $tss, %eax
    movw %ax, gdt_tss + 2
    shrl $16, %eax
    movb %al, gdt_tss + 4
    movb %ah, gdt_tss + 7
    movl $TASK, %eax
    ltr %ax
    movl $exception_stubs, %eax
    movl $idt, %edi
    movl $VECTORS, %ecx
4:  movl %eax, %edx
    shrl $16, %edx
    movw %ax, (%rdi)
    movw $CODE64, 2(%rdi)
    movw $INTERRUPT_GATE, 4(%rdi)
    movw %dx, 6(%rdi)                   # bits 63..32 of the address stay 0
    addl $STUB_BYTES, %eax
    addq $16, %rdi
    loop 4b
    lidt idt_pointer

    # Is `ring=3` a word of a PVH loader's command line?
    movl boot_info, %esi
    cmpl $START_MAGIC, (%rsi)
    jne enter_rust
    movq START_CMDLINE(%rsi), %rsi
    testq %rsi, %rsi
    jz enter_rust
    movb $' ', %al                      # the byte before (%rsi)
5:  cmpb $0, (%rsi)
    je enter_rust
    cmpb $' ', %al
    jne 6f
    cmpl $0x676e6972, (%rsi)            # "ring"
    jne 6f
    cmpw $0x333d, 4(%rsi)               # "=3"
    jne 6f
    testb $0xdf, 6(%rsi)                # a space, or the end
    jz 7f
6:  lodsb
    jmp 5b
7:  pushq $USER_DATA
    pushq $stack_top
    pushq $USER_FLAGS
    pushq $USER_CODE64
    pushq $enter_rust
    iretq

enter_rust:
    movl boot_info, %edi
    xorl %ebp, %ebp
    call kernel_main
    ud2

# --- tables and stack ------------------------------------------------------------------------

    .section .data
    .balign 8
gdt:
    .quad 0
    .quad 0x00af9b000000ffff            # 08h, CODE64: ring 0, execute/read, long mode
    .quad 0x00cf93000000ffff            # 10h, DATA: ring 0, read/write
    .quad 0x00cff3000000ffff            # 18h: DATA for ring 3
    .quad 0x00affb000000ffff            # 20h: CODE64 for ring 3
gdt_tss:                                # 28h: the task state segment; start64 fills in its base
    .quad 0x0000890000000000 + TSS_BYTES - 1, 0
gdt_pointer:
    .short gdt_pointer - gdt - 1
    .quad gdt
idt_pointer:
    .short VECTORS * 16 - 1
    .quad idt
boot_info:
    .long 0

# The 64-bit task state segment (Intel SDM volume 3A, figure 9-11).
    .balign 16
tss:
    .long 0
    .quad 0, 0, 0                       # stacks of rings 0 to 2: no gate uses them
    .quad 0
    .quad exception_stack_top           # the interrupt stack table
    .quad 0, 0, 0, 0, 0, 0
    .quad 0
    .short 0
    .short TSS_FIXED_BYTES              # offset of the I/O map
    .skip IO_PORTS / 8                  # one bit per port: 0 lets ring 3 use it
    .byte 0xff

    .section .bss
    .balign 4096
    .globl pml4                         # the memory map code adds mappings
pml4:
    .skip 0x1000
pdpt:
    .skip 0x1000
page_directories:
    .skip 0x4000
    .skip STACK_BYTES
stack_top:
    .skip EXCEPTION_STACK_BYTES
exception_stack_top:
idt:
    .skip VECTORS * 16

# Where other assembly of a program continues.
    .text
