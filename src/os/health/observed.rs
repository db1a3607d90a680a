//! What no file at rest tells: CPUID, limits, a probe, and two looks at the load.

use std::thread;
use std::time::{Duration, Instant};

use crate::cpu::{Features, Identity, PrefetchSwitches};
use crate::os::perf::{self, Pmu, Refusal};
use crate::os::root::{Root, Unreadable, read};
use crate::os::{affinity, limits, pause};
use crate::time::SmtContention;

/// Time between the two looks: twenty ticks of the kernel's usual accounting clock (100 Hz).
const WINDOW: Duration = Duration::from_millis(200);

/// Looks at a core before those that count, to see what a thread has that is alone there.
const LOOKS: usize = 1000;

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
    /// Of a hundred looks at the core's throughput those at which somebody else took a share of
    /// it; `None` if no thread could be started and kept there to look.
    pub company: Option<u32>,
}

impl Observed {
    /// Looks at this machine and the core of `cpu`; `root` is where `/proc/stat` is read.
    pub fn now(root: &Root, cpu: usize) -> Self {
        let identity = Identity::detect();
        Self {
            switches: identity.core().and_then(|core| core.prefetchers.value()),
            hypervisor: identity.hypervisor_name().map(str::to_owned),
            invariant_tsc: Features::detect().invariant_tsc(),
            allowed: affinity::allowed(),
            locked_memory: limits::locked_memory(),
            pmu: perf::probe(),
            software_events: perf::probe_software(),
            stat: two_readings(root),
            company: company(cpu),
        }
    }
}

/// Of a hundred looks at the core of `cpu` those at which this program was not alone there, over
/// another such time.
fn company(cpu: usize) -> Option<u32> {
    let looking = thread::Builder::new().spawn(move || {
        affinity::pin(cpu).ok()?;
        let mut share = SmtContention::after(LOOKS);
        let began = Instant::now();
        let (mut looks, mut crowded) = (0_u32, 0_u32);
        while began.elapsed() < WINDOW {
            crowded += u32::from(!share.alone());
            looks += 1;
        }
        Some(100 * crowded / looks.max(1))
    });
    // Refused where a limit or a sandbox leaves no second thread.
    looking.ok()?.join().ok()?
}

fn two_readings(root: &Root) -> Result<(String, String), Unreadable> {
    let path = root.proc.join("stat");
    let before = read(&path)?;
    pause(WINDOW);
    Ok((before, read(&path)?))
}
