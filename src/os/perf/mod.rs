//! Counts events by `perf_event_open`: hardware events if there is a PMU and the kernel permits its use,
//! and software events nearly everywhere. Otherwise it reports the exact reason. For the lab it also
//! samples the addresses that a thread accesses.

#[cfg(feature = "lab")]
mod access;
mod counter;
mod event;
mod group;
#[cfg(feature = "lab")]
mod sampler;

use std::io;
use std::path::Path;

use super::root::{Root, read};
pub use crate::host::{Event, Refusal, Software};
#[cfg(all(test, feature = "lab"))]
pub(crate) use access::DataSource;
#[cfg(feature = "lab")]
pub(crate) use access::{Record, Sampled, access_events};
pub use counter::Counter;
pub use event::{Source, core_of, general_names, source_of};
pub use group::Group;
#[cfg(feature = "lab")]
pub(crate) use sampler::Sampler;
#[cfg(all(test, feature = "lab"))]
pub(crate) use sampler::tests::page_faults;

/// `perf_event_open` of the cycles event for the calling thread in user mode, closed at once: checks that this
/// process can use the CPU's performance monitoring unit.
///
/// # Errors
/// Why the cycles cannot be counted.
#[doc(alias = "perf_event_open")]
pub fn probe() -> Result<(), Refusal> {
    Event::CYCLES.open(None).map(|_| ()).map_err(|error| refusal(&Event::CYCLES, &error))
}

/// `perf_event_open` of the thread's task clock: checks that an event that needs no PMU counts.
///
/// # Errors
/// Why it does not count.
pub fn probe_software() -> Result<(), Refusal> {
    let event = Event::software(Software::TaskClock);
    let clock = Counter::open(&event)?;
    // The clock runs while this thread does. The calls themselves take long enough.
    let reading = clock.read().map_err(|error| refusal(&event, &error))?;
    if reading.value == 0 {
        return Err(Refusal::Other("the task clock opened, and stands still".into()));
    }
    Ok(())
}

/// Reads the setting `kernel.perf_event_paranoid`; `None` if the kernel lacks it.
pub fn paranoid(proc: &Path) -> Option<i64> {
    read(&proc.join("sys/kernel/perf_event_paranoid")).ok()?.parse().ok()
}

/// Returns why the kernel did not open `event`, by its answer.
fn refusal(event: &Event, error: &io::Error) -> Refusal {
    let root = Root::live();
    let listed = |name| event::named_source(&root, name).is_ok();
    let lacks = event.is_general() && event::PMUS.into_iter().any(listed);
    explain(error, paranoid(&root.proc), lacks)
}

/// Translates an error of `perf_event_open` (its manual page, section ERRORS). `lacks`: the event is one of
/// perf's own and there is a PMU, so that `ENOENT` says that this PMU has no such event (`set_ext_hw_attr` in
/// Linux's `arch/x86/events/core.c`).
fn explain(error: &io::Error, paranoid: Option<i64>, lacks: bool) -> Refusal {
    match error.raw_os_error() {
        Some(libc::ENOENT) if lacks => Refusal::Event,
        Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => Refusal::NoPmu,
        Some(libc::EACCES) => Refusal::Paranoid(paranoid),
        // Up to 2, user mode may be counted. Distributions add 3 and 4, which also answer EPERM.
        Some(libc::EPERM) if paranoid.is_none_or(|value| value > 2) => Refusal::Paranoid(paranoid),
        Some(libc::EPERM | libc::ENOSYS) => Refusal::Sandbox,
        Some(libc::EINVAL) => Refusal::Event,
        Some(libc::EBUSY) => Refusal::Busy,
        _ => Refusal::Other(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn software_events_count_or_cannot_be_opened() {
        // A kernel that opens the clock for this thread also lets it be read.
        let opened = Counter::open(&Event::software(Software::TaskClock));
        assert_eq!(probe_software(), opened.map(|_| ()));
    }

    #[test]
    fn hardware_events_count_only_where_software_events_do() {
        if probe().is_ok() {
            assert_eq!(probe_software(), Ok(()));
        }
    }

    #[test]
    fn each_answer_has_its_meaning() {
        let answer = io::Error::from_raw_os_error;
        let meaning = |code, setting| explain(&answer(code), setting, false);
        assert_eq!(explain(&answer(libc::ENOENT), Some(2), true), Refusal::Event);
        assert_eq!(meaning(libc::ENOENT, Some(2)), Refusal::NoPmu);
        assert_eq!(meaning(libc::ENODEV, Some(2)), Refusal::NoPmu);
        assert_eq!(meaning(libc::EOPNOTSUPP, Some(2)), Refusal::NoPmu);
        assert_eq!(meaning(libc::EACCES, Some(4)), Refusal::Paranoid(Some(4)));
        assert_eq!(meaning(libc::EACCES, None), Refusal::Paranoid(None));
        assert_eq!(meaning(libc::EPERM, Some(3)), Refusal::Paranoid(Some(3)));
        assert_eq!(meaning(libc::EPERM, Some(1)), Refusal::Sandbox);
        assert_eq!(meaning(libc::ENOSYS, Some(1)), Refusal::Sandbox);
        assert_eq!(meaning(libc::EINVAL, Some(1)), Refusal::Event);
        assert_eq!(meaning(libc::EBUSY, Some(1)), Refusal::Busy);
        let other = meaning(libc::EMFILE, Some(1));
        assert!(matches!(&other, Refusal::Other(text) if text.contains("24")), "{other}");
    }

    #[test]
    fn a_refusal_names_the_setting_and_its_mend() {
        let refusal = Refusal::Paranoid(Some(4));
        assert_eq!(refusal.to_string(), "kernel.perf_event_paranoid=4 forbids it");
        assert_eq!(refusal.mend(), "sudo sysctl kernel.perf_event_paranoid=1");
    }
}
