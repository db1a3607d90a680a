//! Takes the CPU from the firmware: interrupts off, our own page tables, all vector registers enabled, and
//! exceptions reported.
//!
//! The firmware calls the program by the Microsoft ABI, in which a function keeps xmm6 to xmm15 and the control
//! words. Kernels write them, and the compiler, which uses no vector registers on this target, saves none: this
//! module does.
//!
//! Boot services and their drivers need timer interrupts and the firmware's own page tables: code that needs
//! the firmware calls it through [`in_firmware`].

use core::arch::asm;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering};

use crate::cpuid::cpuid;

/// CR4 (Intel SDM volume 3A, section 2.5): global pages, five-level paging, XSAVE.
const CR4_PGE: u64 = 1 << 7;
const CR4_LA57: u64 = 1 << 12;
const CR4_OSXSAVE: u64 = 1 << 18;
const CPUID_1_ECX_XSAVE: u32 = 1 << 26;
/// x87, SSE, AVX, opmask, ZMM_Hi256, Hi16_ZMM.
const XCR0_WANTED: u64 = 0xe7;
/// Address bits of CR3, without the bits that may mark encrypted memory.
const PHYSICAL: u64 = (1 << 46) - (1 << 12);
const RFLAGS_IF: u64 = 1 << 9;

const VECTORS: usize = 32;
const STUB_BYTES: usize = 16;
/// Present, 64-bit interrupt gate, on the stack in use.
const INTERRUPT_GATE: u64 = 0x8e00;

unsafe extern "C" {
    /// The first of the stubs in `exceptions.S`.
    static exception_stubs: u8;
}

/// The operand of LIDT and SIDT.
#[derive(Clone, Copy)]
#[repr(C, packed)]
struct Idt {
    limit: u16,
    base: u64,
}

/// The part of the CPU's state that differs between the firmware and this program.
#[derive(Clone, Copy)]
struct State {
    cr3: u64,
    idt: Idt,
    interrupts: bool,
}

/// The saved state, and the interrupt descriptor table.
struct Memory {
    firmware: State,
    ours: State,
    cr4: u64,
    xcr0: Option<u64>,
    /// The x87 and vector registers, as the firmware left them.
    vectors: Vectors,
    gates: [[u64; 2]; VECTORS],
}

/// The memory of FXSAVE64 (Intel SDM volume 1, section 10.5).
#[repr(C, align(16))]
struct Vectors([u8; 512]);

const NOTHING: State = State { cr3: 0, idt: Idt { limit: 0, base: 0 }, interrupts: false };

struct Cell(UnsafeCell<Memory>);

// SAFETY: one CPU runs the program, and no interrupt comes into its functions: none is registered.
unsafe impl Sync for Cell {}

static MEMORY: Cell = Cell(UnsafeCell::new(Memory {
    firmware: NOTHING,
    ours: NOTHING,
    cr4: 0,
    xcr0: None,
    vectors: Vectors([0; 512]),
    gates: [[0; 2]; VECTORS],
}));
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Whether the page tables have five levels.
pub fn five_levels() -> bool {
    cr4() & CR4_LA57 != 0
}

/// The first entry of the active page tables.
pub fn first_entry() -> u64 {
    let root = State::now().cr3 & PHYSICAL;
    // SAFETY: the firmware's page tables are mapped onto themselves.
    unsafe { (root as *const u64).read_volatile() }
}

/// Takes the CPU from the firmware, and activates the page tables at `root`.
pub fn begin(root: u64) {
    // SAFETY: no other reference exists while this function runs.
    let memory = unsafe { &mut *MEMORY.0.get() };
    let code: u16;
    // SAFETY: this only reads a segment register.
    unsafe { asm!("mov {0:x}, cs", out(reg) code, options(nomem, nostack, preserves_flags)) };
    let stubs = (&raw const exception_stubs).addr();
    for (vector, gate) in memory.gates.iter_mut().enumerate() {
        let stub = (stubs + vector * STUB_BYTES) as u64;
        let low = stub & 0xffff | u64::from(code) << 16 | INTERRUPT_GATE << 32;
        *gate = [low | (stub >> 16 & 0xffff) << 48, stub >> 32];
    }
    memory.firmware = State::now();
    memory.ours = State {
        cr3: root,
        idt: Idt {
            limit: (size_of_val(&memory.gates) - 1) as u16,
            base: memory.gates.as_ptr().addr() as u64,
        },
        interrupts: false,
    };
    memory.cr4 = cr4();
    save_vectors(&mut memory.vectors);
    let has_xsave = cpuid(1, 0).ecx & CPUID_1_ECX_XSAVE != 0;
    // Global translations from the firmware's tables would stay in the TLBs after the switch to ours.
    let ours = memory.cr4 & !CR4_PGE | if has_xsave { CR4_OSXSAVE } else { 0 };
    memory.xcr0 = None;
    // SAFETY: the tables map all that the firmware's tables map, the gates point to our stubs, and CPUID
    // reports the state components that XCR0 enables.
    unsafe {
        memory.ours.load();
        set_cr4(ours);
        if has_xsave {
            memory.xcr0 = Some(xcr0());
            let supported = cpuid(0x0d, 0);
            let supported = u64::from(supported.edx) << 32 | u64::from(supported.eax);
            set_xcr0(supported & XCR0_WANTED);
        }
    }
    TAKEN.store(true, Ordering::Relaxed);
}

/// Returns the CPU to the firmware, if it was taken.
pub fn end() {
    if !TAKEN.swap(false, Ordering::Relaxed) {
        return;
    }
    // SAFETY: as in `begin`.
    let memory = unsafe { &*MEMORY.0.get() };
    // SAFETY: this restores the state that `begin` saved. Compiled code uses no vector registers.
    unsafe {
        if let Some(before) = memory.xcr0 {
            set_xcr0(before);
        }
        set_cr4(memory.cr4);
        load_vectors(&memory.vectors);
        memory.firmware.load();
    }
}

/// Calls `work` in the firmware's state, whether or not the CPU is taken.
pub fn in_firmware<R>(work: impl FnOnce() -> R) -> R {
    if !TAKEN.load(Ordering::Relaxed) {
        return work();
    }
    let (firmware, ours) = {
        // SAFETY: as in `begin`; the reference ends here.
        let memory = unsafe { &*MEMORY.0.get() };
        (memory.firmware, memory.ours)
    };
    // SAFETY: this is the state that the firmware had.
    unsafe { firmware.load() };
    let result = work();
    // SAFETY: as in `begin`.
    unsafe { ours.load() };
    result
}

impl State {
    fn now() -> Self {
        let (cr3, flags): (u64, u64);
        let mut idt = NOTHING.idt;
        // SAFETY: this reads registers, and `idt` is valid for the write by SIDT.
        unsafe {
            asm!("mov {}, cr3", out(reg) cr3, options(nomem, nostack, preserves_flags));
            asm!("sidt [{}]", in(reg) &raw mut idt, options(nostack, preserves_flags));
            asm!("pushfq", "pop {}", out(reg) flags);
        }
        Self { cr3, idt, interrupts: flags & RFLAGS_IF != 0 }
    }

    /// # Safety
    /// The tables map the program, its stack and everything it uses onto themselves, and the gates point to
    /// handlers.
    unsafe fn load(&self) {
        // SAFETY: the caller guarantees valid tables and gates; interrupts are off, so no handler runs in
        // between.
        unsafe {
            asm!("cli");
            asm!("mov cr3, {}", in(reg) self.cr3, options(nostack, preserves_flags));
            asm!("lidt [{}]", in(reg) &raw const self.idt, options(nostack, preserves_flags));
            if self.interrupts {
                asm!("sti");
            }
        }
    }
}

/// Saves the x87 and vector registers with their control words. UEFI firmware has SSE switched on.
fn save_vectors(into: &mut Vectors) {
    // SAFETY: the memory has the size and the alignment that the instruction needs.
    unsafe {
        asm!("fxsave64 [{}]", in(reg) into, options(nostack, preserves_flags));
    }
}

/// # Safety
/// No compiled code has values in these registers; on this target none has.
unsafe fn load_vectors(from: &Vectors) {
    // SAFETY: `save_vectors` wrote the memory; that registers change is the caller's affair.
    unsafe {
        asm!("fxrstor64 [{}]", in(reg) from, options(readonly, nostack, preserves_flags));
    }
}

fn cr4() -> u64 {
    let value;
    // SAFETY: this only reads a register, in ring 0.
    unsafe { asm!("mov {}, cr4", out(reg) value, options(nomem, nostack, preserves_flags)) };
    value
}

/// # Safety
/// The CPU supports the bits, and the caller intends their effect.
unsafe fn set_cr4(value: u64) {
    // SAFETY: the caller guarantees this.
    unsafe { asm!("mov cr4, {}", in(reg) value, options(nostack, preserves_flags)) };
}

fn xcr0() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: CR4.OSXSAVE is set at every call.
    unsafe {
        asm!("xgetbv", in("ecx") 0, out("eax") low, out("edx") high,
             options(nomem, nostack, preserves_flags));
    }
    u64::from(high) << 32 | u64::from(low)
}

/// # Safety
/// CR4.OSXSAVE is set, and CPUID reports these state components.
unsafe fn set_xcr0(value: u64) {
    let (low, high) = (value as u32, (value >> 32) as u32);
    // SAFETY: the caller guarantees this.
    unsafe {
        asm!("xsetbv", in("ecx") 0, in("eax") low, in("edx") high,
             options(nostack, preserves_flags));
    }
}
