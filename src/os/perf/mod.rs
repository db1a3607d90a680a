//! Counting events by `perf_event_open`: hardware events where there is a PMU and the kernel lets
//! it be used, software events nearly everywhere, and the exact reason where not. For the lab also
//! sampling: the addresses that a thread accesses.

#[cfg(feature = "lab")]
mod access;
mod counter;
mod event;
mod group;
mod named;
#[cfg(feature = "lab")]
mod records;
mod refusal;
#[cfg(feature = "lab")]
mod sampler;
mod source;

use std::path::Path;

pub use crate::host::{Event, Refusal, Software};
#[cfg(feature = "lab")]
pub(crate) use access::{Sampled, access_events};
pub use counter::Counter;
pub use group::Group;
pub use named::{core_of, general_names};
#[cfg(all(test, feature = "lab"))]
pub(crate) use records::DataSource;
#[cfg(feature = "lab")]
pub(crate) use records::Record;
#[cfg(feature = "lab")]
pub(crate) use sampler::Sampler;
#[cfg(all(test, feature = "lab"))]
pub(crate) use sampler::tests::page_faults;
pub use source::{Source, source_of};

use super::root::read;
use refusal::explain;

/// Whether the CPU's performance monitoring unit can be used by this process.
#[doc(alias = "perf_event_open")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pmu {
    /// The cycles of this thread in user mode can be counted.
    Available,
    /// They cannot: why.
    Refused(Refusal),
}

/// `perf_event_open` of the cycles event, for the calling thread in user mode, closed at once.
pub fn probe() -> Pmu {
    match Event::CYCLES.open(None) {
        Ok(_event) => Pmu::Available,
        Err(error) => Pmu::Refused(explain(&error, paranoid(Path::new("/proc")))),
    }
}

/// `perf_event_open` of the thread's task clock: whether an event that needs no PMU counts.
///
/// # Errors
/// Why it does not.
pub fn probe_software() -> Result<(), Refusal> {
    let clock = Counter::open(&Event::software(Software::TaskClock))?;
    // The clock runs while this thread does: the calls themselves take time enough.
    let reading = clock
        .read()
        .map_err(|error| explain(&error, paranoid(Path::new("/proc"))))?;
    if reading.value == 0 {
        return Err(Refusal::Other(
            "the task clock opened, and stands still".into(),
        ));
    }
    Ok(())
}

/// The setting `kernel.perf_event_paranoid`, where there is one.
pub fn paranoid(proc: &Path) -> Option<i64> {
    read(&proc.join("sys/kernel/perf_event_paranoid"))
        .ok()?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn software_events_count_or_cannot_be_opened() {
        // A kernel that opens the clock for this thread lets it be read.
        let opened = Counter::open(&Event::software(Software::TaskClock));
        assert_eq!(probe_software(), opened.map(|_| ()));
    }

    #[test]
    fn hardware_events_count_only_where_software_events_do() {
        if probe() == Pmu::Available {
            assert_eq!(probe_software(), Ok(()));
        }
    }
}
