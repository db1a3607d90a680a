//! What CPUID says about the rate of the time-stamp counter.

use raw_cpuid::{CpuId, CpuIdReader, CpuIdReaderNative};

use super::identity::{Identity, Vendor};

/// The time-stamp counter's ticks per second, as the CPU or the hypervisor states it.
///
/// A hint: `None` on AMD and in most virtual machines, and a nominal value on some Intel CPUs, so
/// a measurement calibrates all the same.
pub fn tsc_hz() -> Option<u64> {
    read_tsc_hz(CpuIdReaderNative)
}

/// [`tsc_hz`] as a CPUID reader reports it.
///
/// The hypervisor's leaf 4000_0010h (kHz; VMware's convention, which others follow) comes first,
/// since a guest's counter may be scaled; then leaf 15h (Intel SDM volume 3B, "Determining the
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

/// The crystal of CPUs whose leaf 15h gives the ratio alone: Intel SDM volume 3B, "Nominal Core
/// Crystal Clock Frequency". Model 55h is left out: its crystal differs between products.
fn unstated_crystal_hz(id: &Identity) -> Option<u64> {
    match (id.vendor, id.family, id.model) {
        (Vendor::Intel, 0x06, 0x4e | 0x5e | 0x8e | 0x9e | 0xa5 | 0xa6) => Some(24_000_000),
        (Vendor::Intel, 0x06, 0x5c) => Some(19_200_000),
        _ => None,
    }
}
