//! The time-stamp counter, its rate as CPUID reports it, and the performance counters.
//!
//! [`rdtsc`] and [`rdtscp`] are the intrinsics on every target: one inlined instruction in an optimised
//! build, and a call in a debug build. `core` has no intrinsic for [`rdpmc`].
//!
//! No read is ordered against its neighbours as a measurement needs it; `time` adds the fences for
//! `rdtsc` and `rdtscp`. Source: Intel SDM volume 2B, "RDTSC", "RDTSCP" and "RDPMC"; AMD64 APM volume 3,
//! "RDPMC".

// In `core`, reading the time-stamp counter is unsafe; whether `rdpmc` may be executed is the operating
// system's choice.
#![allow(unsafe_code)]

use core::arch::asm;
use core::arch::x86_64::{__rdtscp, _rdtsc};

use super::identity::{Identity, Vendor};
use super::token::Rdtscp;
use raw_cpuid::{CpuId, CpuIdReader, CpuIdReaderNative};

/// `rdtsc`: reads the time-stamp counter, in ticks.
///
/// Not ordered: the CPU may read the counter before earlier instructions have finished, and may start
/// later instructions before the read. The compiler moves no memory access across it.
///
/// If the operating system sets CR4.TSD, the instruction faults outside ring 0. Linux sets it only for a
/// process that asked for it (`prctl(PR_SET_TSC)`).
#[doc(alias = "_rdtsc")]
#[inline(always)]
pub fn rdtsc() -> u64 {
    // SAFETY: reads a counter and touches nothing else; every x86-64 CPU has it.
    unsafe { _rdtsc() }
}

/// `rdtscp`: reads the time-stamp counter, in ticks, and IA32_TSC_AUX.
///
/// Waits until every earlier instruction has executed and every earlier load is globally visible; later
/// instructions may start before it. Linux keeps `node << 12 | cpu` in IA32_TSC_AUX, so two reads with
/// different values ran on two CPUs.
///
/// CPUs before 2008 and some virtual CPUs lack it.
#[doc(alias = "__rdtscp")]
#[inline(always)]
pub fn rdtscp(_has: Rdtscp) -> (u64, u32) {
    let mut aux = 0;
    // SAFETY: the token proves the instruction, which writes only `aux` and registers.
    let ticks = unsafe { __rdtscp(&mut aux) };
    (ticks, aux)
}

/// `rdpmc`: reads performance counter `counter`, zero-extended from its width (40 to 48 bits).
///
/// On Intel `counter` is the number of a general counter, or `1 << 30 | n` for fixed counter `n`.
/// Not ordered against other instructions.
///
/// # Safety
/// The CPU has this counter, and CR4.PCE is set or the caller runs in ring 0. Otherwise the
/// general-protection fault ends the process (SIGSEGV). On Linux, check `cap_user_rdpmc` in the
/// `perf_event` page first and never probe by executing the instruction: a virtual machine often has no
/// counters.
#[doc(alias = "_rdpmc")]
#[inline(always)]
pub unsafe fn rdpmc(counter: u32) -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: the caller vouches that the counter may be read; only edx:eax is written.
    unsafe {
        asm!("rdpmc", in("ecx") counter, out("eax") low, out("edx") high,
             options(nostack, preserves_flags));
    }
    u64::from(high) << 32 | u64::from(low)
}

/// Returns the time-stamp counter's ticks per second, as the CPU or the hypervisor reports it.
///
/// The value is a hint: `None` on AMD and in most virtual machines, and a nominal value on some Intel
/// CPUs. A measurement calibrates the rate in any case.
pub fn tsc_hz() -> Option<u64> {
    read_tsc_hz(CpuIdReaderNative)
}

/// Returns the rate that a CPUID reader reports, as [`tsc_hz`] does.
///
/// The hypervisor's leaf 4000_0010h (in kHz; VMware's convention, which others follow) comes first,
/// because a guest's counter may be scaled; then leaf 15h (Intel SDM volume 3B, "Determining the
/// Processor Base Frequency"); then the base frequency of leaf 16h, which is nominal.
pub fn read_tsc_hz<R: CpuIdReader>(reader: R) -> Option<u64> {
    let cpu = CpuId::with_cpuid_reader(reader.clone());
    let stated_by_host = cpu
        .get_hypervisor_info()
        .and_then(|info| info.tsc_frequency())
        .filter(|khz| *khz != 0)
        .map(|khz| u64::from(khz) * 1_000);
    if stated_by_host.is_some() {
        return stated_by_host;
    }
    let clock = cpu.get_tsc_info()?;
    let (numerator, denominator) = (clock.numerator(), clock.denominator());
    if numerator == 0 || denominator == 0 {
        return None;
    }
    let crystal = match clock.nominal_frequency() {
        0 => unstated_crystal_hz(&Identity::read(reader)),
        hz => Some(u64::from(hz)),
    };
    match crystal {
        Some(hz) => Some(hz * u64::from(numerator) / u64::from(denominator)),
        None => cpu
            .get_processor_frequency_info()
            .map(|info| u64::from(info.processor_base_frequency()) * 1_000_000)
            .filter(|hz| *hz != 0),
    }
}

/// Returns the crystal frequency of CPUs whose leaf 15h gives only the ratio: Intel SDM volume 3B,
/// "Nominal Core Crystal Clock Frequency". Model 55h is left out: its crystal differs between products.
fn unstated_crystal_hz(id: &Identity) -> Option<u64> {
    match (id.vendor, id.family, id.model) {
        (Vendor::Intel, 0x06, 0x4e | 0x5e | 0x8e | 0x9e | 0xa5 | 0xa6) => Some(24_000_000),
        (Vendor::Intel, 0x06, 0x5c) => Some(19_200_000),
        _ => None,
    }
}
