//! What no file at rest tells: CPUID, limits, a probe, and two looks at the load.

use std::thread;
use std::time::Duration;

use crate::cpu::{Features, Identity, PrefetchSwitches};
use crate::os::affinity;
use crate::os::limits;
use crate::os::perf::{self, Pmu, Refusal};
use crate::os::root::{Root, Unreadable, read};

/// Time between the two looks: twenty ticks of the kernel's usual accounting clock (100 Hz).
const WINDOW: Duration = Duration::from_millis(200);

/// What was seen of a machine beside its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// What switches the prefetchers of the core off; `None` if that is not known.
    pub switches: Option<PrefetchSwitches>,
    /// The hypervisor's name; `None` on the bare machine.
    pub hypervisor: Option<String>,
    /// Whether CPUID promises a TSC of one rate in every power state.
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
        let identity = Identity::detect();
        Self {
            switches: identity.core().and_then(|core| core.prefetch_switches()),
            hypervisor: identity.hypervisor_name().map(str::to_owned),
            invariant_tsc: Features::detect().invariant_tsc(),
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
