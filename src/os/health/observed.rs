//! What no file at rest tells: CPUID, limits, a probe, and two looks at the load.

use std::thread;
use std::time::Duration;

use raw_cpuid::CpuId;

use crate::os::affinity;
use crate::os::limits;
use crate::os::perf::{self, Pmu, Refusal};
use crate::os::root::{Root, Unreadable, read};

/// Time between the two looks: twenty ticks of the kernel's usual accounting clock (100 Hz).
const WINDOW: Duration = Duration::from_millis(200);

/// Who made the CPU, as far as its registers differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vendor {
    /// `GenuineIntel`.
    Intel,
    /// `AuthenticAMD`, and `HygonGenuine` which follows it.
    Amd,
    /// Anybody else.
    Other,
}

/// What was seen of a machine beside its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// The maker of the CPU.
    pub vendor: Vendor,
    /// The hypervisor's name, where there is one (CPUID leaf 1, ECX bit 31; leaf 4000_0000h).
    pub hypervisor: Option<String>,
    /// Whether the TSC runs at one rate in all power states (CPUID leaf 8000_0007h, EDX bit 8).
    pub invariant_tsc: bool,
    /// The CPUs this process may use; empty when unknown.
    pub allowed: Vec<usize>,
    /// Bytes this process may lock; `None` when unlimited.
    pub locked_memory: Option<u64>,
    /// Whether hardware events count.
    pub pmu: Pmu,
    /// Whether software events count.
    pub software_events: Result<(), Refusal>,
    /// Two readings of `/proc/stat`, 200 ms apart.
    pub stat: Result<(String, String), Unreadable>,
}

impl Observed {
    /// Looks at this machine; `root` is where `/proc/stat` is read.
    pub fn now(root: &Root) -> Self {
        let cpuid = CpuId::new();
        let vendor = cpuid.get_vendor_info();
        let bit = |bit: Option<bool>| bit.unwrap_or(false);
        let virtual_cpu = bit(cpuid.get_feature_info().map(|info| info.has_hypervisor()));
        let power = cpuid.get_advanced_power_mgmt_info();
        Self {
            vendor: match vendor.as_ref().map(|vendor| vendor.as_str()) {
                Some("GenuineIntel") => Vendor::Intel,
                Some("AuthenticAMD" | "HygonGenuine") => Vendor::Amd,
                _ => Vendor::Other,
            },
            hypervisor: virtual_cpu.then(|| {
                let info = cpuid.get_hypervisor_info();
                info.map_or_else(|| "unnamed".into(), |info| format!("{:?}", info.identify()))
            }),
            invariant_tsc: bit(power.map(|power| power.has_invariant_tsc())),
            allowed: affinity::allowed(),
            locked_memory: limits::locked_memory(),
            pmu: perf::probe(),
            software_events: perf::probe_software(),
            stat: two_readings(root),
        }
    }
}

fn two_readings(root: &Root) -> Result<(String, String), Unreadable> {
    let path = root.proc.join("stat");
    let before = read(&path)?;
    thread::sleep(WINDOW);
    Ok((before, read(&path)?))
}
