//! Events that can be counted, and why an event is not counted.

use alloc::string::String;

use super::{Lack, Meter};
use crate::pmu::{Quantity, UnknownEvent};

// Constants of `include/uapi/linux/perf_event.h`: events are numbered as Linux does.
const TYPE_HARDWARE: u32 = 0;
const TYPE_SOFTWARE: u32 = 1;
const TYPE_CACHE: u32 = 3;
const CPU_CYCLES: u64 = 0;

/// The type of an event given by its quantity, for a host that programs its counters itself. Linux has
/// no such type.
const TYPE_QUANTITY: u32 = u32::MAX;

variants! {
    /// An event that the kernel itself counts, without a PMU, by the name that `perf list` prints.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Software {
        /// Nanoseconds for which the thread ran.
        TaskClock = "task-clock",
        /// Page faults, minor and major.
        PageFaults = "page-faults",
        /// Context switches.
        ContextSwitches = "context-switches",
        /// Migrations to another CPU.
        Migrations = "cpu-migrations",
        /// Page faults served without waiting for a disk.
        MinorFaults = "minor-faults",
        /// Page faults that waited for a disk.
        MajorFaults = "major-faults",
    }
}

impl Software {
    /// Returns the event's number (PERF_COUNT_SW_*). The variants stand in the order of the numbers, from 1 on.
    const fn config(self) -> u64 {
        self as u64 + 1
    }
}

/// An event that can be counted for the calling thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Event {
    pub(crate) kind: u32,
    pub(crate) config: u64,
    pub(crate) config1: u64,
    /// Whether events in the kernel are left out.
    pub(crate) user_only: bool,
}

impl Event {
    /// Core cycles, by the kernel's generic event.
    pub const CYCLES: Event = Event::generic(CPU_CYCLES);

    /// Retired instructions.
    pub const INSTRUCTIONS: Event = Event::generic(1);

    /// Retired branches.
    pub const BRANCHES: Event = Event::generic(4);

    /// Loads that missed the first-level data cache: the event that the kernel uses for this on the CPU.
    #[doc(alias = "L1-dcache-load-misses")]
    pub const L1D_LOAD_MISSES: Event = Event::load_misses(0);

    /// Loads that missed all TLBs: the event that the kernel uses for this on the CPU.
    #[doc(alias = "dTLB-load-misses")]
    pub const DTLB_LOAD_MISSES: Event = Event::load_misses(3);

    /// PERF_COUNT_HW_CACHE_*: `cache` is the first byte, loads are 0 in the second, misses 1 in the third.
    const fn load_misses(cache: u64) -> Event {
        Event::cache(cache | 1 << 16)
    }

    /// Returns an event of perf's caches, by its number.
    pub(crate) const fn cache(config: u64) -> Event {
        Event { kind: TYPE_CACHE, ..Event::generic(config) }
    }

    /// Returns an event that perf defines for every PMU, by its number.
    pub(crate) const fn generic(config: u64) -> Event {
        Event { kind: TYPE_HARDWARE, config, config1: 0, user_only: true }
    }

    /// Returns an event that the kernel itself counts. What the kernel does on the thread's behalf is
    /// included: context switches and migrations occur only there. Where an unprivileged user may count
    /// user mode only, these two are refused, and the others count in user mode.
    #[doc(hidden)]
    pub const fn software(software: Software) -> Event {
        Event { kind: TYPE_SOFTWARE, config: software.config(), config1: 0, user_only: false }
    }

    /// Returns the event that counts a quantity, for a host that programs its counters itself.
    #[doc(hidden)]
    pub const fn of_quantity(quantity: Quantity) -> Event {
        Event { kind: TYPE_QUANTITY, config: quantity as u64, config1: 0, user_only: false }
    }

    /// Returns the quantity of an event that was made by [`of_quantity`](Self::of_quantity).
    #[doc(hidden)]
    pub fn quantity(&self) -> Option<Quantity> {
        let index = usize::try_from(self.config).ok()?;
        match self.kind {
            TYPE_QUANTITY => Quantity::ALL.get(index).copied(),
            _ => None,
        }
    }

    /// Returns whether the kernel itself counts the event.
    #[cfg(feature = "std")]
    pub(crate) const fn is_software(&self) -> bool {
        self.kind == TYPE_SOFTWARE
    }

    /// Returns whether the event is one of perf's own that a PMU counts, if it has such an event.
    #[cfg(feature = "std")]
    pub(crate) const fn is_general(&self) -> bool {
        matches!(self.kind, TYPE_HARDWARE | TYPE_CACHE)
    }

    /// Returns whether the event occurs in the kernel alone, so that its count in user mode is always 0.
    #[cfg(feature = "std")]
    pub(crate) const fn is_in_kernel_alone(&self) -> bool {
        self.is_software()
            && (self.config == Software::ContextSwitches.config()
                || self.config == Software::Migrations.config())
    }
}

/// Why an event is not counted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// There is no such event (`ENOENT`, `ENODEV`, `EOPNOTSUPP`): no PMU, which is usual in
    /// virtual machines.
    NoPmu,
    /// The setting `perf_event_paranoid` forbids it (`EACCES`). Holds the setting's value if that can be
    /// read.
    Paranoid(Option<i64>),
    /// A sandbox forbids the call (`EPERM` though the setting allows it, or `ENOSYS`).
    Sandbox,
    /// This CPU's PMU does not know the event (also `ENOENT` if there is a PMU), or cannot count it with this
    /// counter (`EINVAL`).
    Event,
    /// The tables have no event of this name for this core.
    Unknown(UnknownEvent),
    /// The tables do not have this CPU's events.
    NoTable,
    /// Another user has exclusive use of the counter (`EBUSY`).
    Busy,
    /// More events were requested than are counted at once, which are this many.
    TooMany(usize),
    /// The host counts no events at all.
    #[doc(hidden)]
    Lacking(Lack),
    /// Another error.
    Other(String),
}

impl Refusal {
    /// Returns the command or setting that removes the obstacle.
    pub fn mend(&self) -> &'static str {
        match self {
            Self::NoPmu => {
                "measure on the bare machine, or let the hypervisor pass the PMU on \
                 (QEMU: -cpu host,pmu=on; EC2: a metal instance)"
            }
            Self::Paranoid(_) => "sudo sysctl kernel.perf_event_paranoid=1",
            Self::Sandbox => {
                "allow the system call in the sandbox \
                 (Docker: --cap-add PERFMON --security-opt seccomp=unconfined)"
            }
            Self::Event => {
                "compare the event's encoding with `perf list --details` on this machine"
            }
            Self::Unknown(_) => {
                "name an event of this core (linefill::pmu::events lists them), \
                 or one of perf's own, such as cache-misses"
            }
            Self::NoTable => "name one of perf's own events, such as cache-misses",
            Self::Busy => {
                "stop the program that uses the counter: sudo lsof /dev/cpu/*/msr, or the NMI \
                 watchdog: sudo sysctl kernel.nmi_watchdog=0"
            }
            Self::TooMany(_) => "count these events in another run",
            Self::Lacking(_) => "count on a host that has counters",
            Self::Other(_) => "look for perf in the kernel log: sudo dmesg | grep -i perf",
        }
    }
}

messages! { Refusal:
    Refusal::NoPmu => ("the kernel sees no PMU on this CPU");
    Refusal::Paranoid(Some(value)) => ("kernel.perf_event_paranoid={value} forbids it");
    Refusal::Paranoid(None) => ("kernel.perf_event_paranoid forbids it");
    Refusal::Sandbox => ("a sandbox (seccomp) forbids perf_event_open");
    Refusal::Event => ("this CPU's PMU does not count such an event");
    Refusal::Unknown(unknown) => ("{unknown}");
    Refusal::NoTable => ("no table has the events of this CPU");
    Refusal::Busy => ("another user holds the counter exclusively");
    Refusal::TooMany(most) => ("at most {most} events are counted at once");
    Refusal::Lacking(lack) => ("{lack}");
    Refusal::Other(answer) => ("perf_event_open: {answer}");
}

/// Events that are counted together.
pub trait Group: Meter {
    /// Returns why the event at `place` is not counted; `None` if it is counted.
    fn refusal(&self, place: usize) -> Option<&Refusal>;
}
