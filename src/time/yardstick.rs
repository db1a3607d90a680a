//! A stretch of code whose length in core cycles is known.
//!
//! The core clock varies (turbo, power saving) while the time-stamp counter's rate does not, and without
//! performance counters nothing reports the core clock. A chain of dependent `imul` of 32 bits measures
//! it: each `imul` waits three cycles for the one before it on nearly every core, as [`ticks`] says, and no
//! renamer can eliminate a multiplication, as Golden Cove does additions of immediates. With 64 bits it would
//! wait five cycles on Silvermont to Tremont, six on Jaguar and fourteen on Bonnell.

// The instructions of the chain must be exactly these.
#![allow(unsafe_code)]

use core::arch::asm;
use core::ops::RangeInclusive;
use core::sync::atomic::{AtomicU64, Ordering};

use super::{start, stop};
use crate::cpu::{Identity, Vendor};

/// Core cycles whose ticks [`ticks`] returns.
pub const CYCLES: u64 = 3 * CHAIN;

/// The ratios of core cycles to ticks that clocks may have. An emulator that is stopped meanwhile gives others.
pub const RATIOS: RangeInclusive<f64> = 1e-3..=1e3;

/// Dependent multiplications in the shorter chain; the longer chain has twice as many.
const CHAIN: u64 = BLOCK * 20;

/// Multiplications per loop iteration. The two loop instructions run in parallel with them.
const BLOCK: u64 = 50;

/// Returns the ticks that [`CYCLES`] core cycles take now.
///
/// Times a chain and a second one of twice the length; the difference excludes the start, the stop and
/// the loop entry. The call takes about three times [`CYCLES`].
///
/// The result is 0, which is no value, if an interruption of the shorter chain exceeds the difference, so
/// callers take a median over several results. It is always 0 on a CPU whose `imul` has no known latency:
/// one of a vendor other than Intel, AMD and Hygon.
pub fn ticks() -> u64 {
    let Some(latency) = latency() else { return 0 };
    let short = timed(CHAIN);
    let long = timed(2 * CHAIN);
    3 * long.saturating_sub(short) / latency
}

/// Returns the cycles that a multiplication waits for the one before it, if they are known. CPUID is read
/// once: in a virtual machine it takes a microsecond or more.
fn latency() -> Option<u64> {
    const UNREAD: u64 = u64::MAX;
    const UNKNOWN: u64 = 0;
    static KNOWN: AtomicU64 = AtomicU64::new(UNREAD);
    let mut known = KNOWN.load(Ordering::Relaxed);
    if known == UNREAD {
        known = latency_of(&Identity::detect()).unwrap_or(UNKNOWN);
        KNOWN.store(known, Ordering::Relaxed);
    }
    (known != UNKNOWN).then_some(known)
}

/// Sources: the measurements of InstLatx64 ("IMUL r32, r32") from Conroe to Arrow Lake, from K8 to Zen 5 and of
/// Hygon's Zen; for Bonnell also LLVM's `X86ScheduleAtom.td`. Newer cores of these vendors are taken to be as
/// fast, as all have been since Nehalem and Zen.
fn latency_of(identity: &Identity) -> Option<u64> {
    // Virtual CPUs such as QEMU's kvm64, n270 and Opteron_G5 report the family of an old core, mostly on a newer
    // one. The cost: in a guest on such an old core, cycles are counted 3/10, 3/5 or 3/4 as high as they are.
    let real = identity.hypervisor.is_none();
    match (identity.vendor, identity.family, identity.model) {
        // NetBurst.
        (Vendor::Intel, 0x0f, _) if real => Some(10),
        // Bonnell and Saltwell.
        (Vendor::Intel, 6, 0x1c | 0x26 | 0x27 | 0x35 | 0x36) if real => Some(5),
        // Bulldozer to Excavator.
        (Vendor::Amd, 0x15, _) if real => Some(4),
        (Vendor::Intel | Vendor::Amd | Vendor::Hygon, ..) => Some(3),
        // Centaur's and Zhaoxin's take two to four, by the core.
        (Vendor::Other, ..) => None,
    }
}

#[inline(never)]
fn timed(multiplications: u64) -> u64 {
    let begin = start();
    chain(multiplications);
    stop() - begin
}

/// Executes this many dependent multiplications, a multiple of [`BLOCK`].
#[inline(always)]
pub(super) fn chain(multiplications: u64) {
    let blocks = multiplications / BLOCK;
    // SAFETY: multiplies a register by itself `BLOCK` times per loop iteration; touches nothing else.
    unsafe {
        asm!(
            "2:",
            ".rept 50",
            "imul {value:e}, {value:e}",
            ".endr",
            "dec {blocks}",
            "jnz 2b",
            value = inout(reg) 3_u32 => _,
            blocks = inout(reg) blocks => _,
            options(nostack, nomem),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::Text;

    #[test]
    fn the_yardstick_takes_time() {
        let mut seen = [0; 9];
        seen.fill_with(ticks);
        seen.sort_unstable();
        assert_eq!(seen[4] > 0, latency().is_some());
    }

    #[test]
    fn a_multiplication_takes_the_cycles_of_its_core() {
        for (vendor, family, model, cycles) in [
            (Vendor::Intel, 6, 0x0f, Some(3)),
            (Vendor::Intel, 6, 0x1c, Some(5)),
            (Vendor::Intel, 6, 0x36, Some(5)),
            (Vendor::Intel, 6, 0x37, Some(3)),
            (Vendor::Intel, 6, 0xcf, Some(3)),
            (Vendor::Intel, 0x0f, 0x06, Some(10)),
            (Vendor::Intel, 0x13, 0x01, Some(3)),
            (Vendor::Amd, 0x0f, 0x41, Some(3)),
            (Vendor::Amd, 0x15, 0x02, Some(4)),
            (Vendor::Amd, 0x19, 0x1c, Some(3)),
            (Vendor::Hygon, 0x18, 0x00, Some(3)),
            (Vendor::Other, 6, 0x0f, None),
        ] {
            let identity =
                Identity { vendor, family, model, hypervisor: None, ..Identity::detect() };
            assert_eq!(latency_of(&identity), cycles, "{vendor:?} {family:x}h {model:x}h");
        }
        // The virtual CPUs kvm64, n270 and Opteron_G5.
        for (vendor, family, model) in
            [(Vendor::Intel, 0x0f, 0x06), (Vendor::Intel, 6, 0x1c), (Vendor::Amd, 0x15, 0x02)]
        {
            let guest = Identity {
                vendor,
                family,
                model,
                hypervisor: Some(Text::new(b"KVMKVMKVM")),
                ..Identity::detect()
            };
            assert_eq!(latency_of(&guest), Some(3), "{family:x}h {model:x}h");
        }
    }
}
