//! Why the kernel does not count.

use std::{fmt, io};

use crate::pmu::UnknownEvent;

/// Why the kernel counts no hardware event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such event (`ENOENT`, `ENODEV`, `EOPNOTSUPP`): no PMU, which is usual in
    /// virtual machines.
    NoPmu,
    /// The setting `perf_event_paranoid` forbids it (`EACCES`), with its value where that can be
    /// read.
    Paranoid(Option<i64>),
    /// A sandbox forbids the call (`EPERM` though the setting allows it, or `ENOSYS`).
    Sandbox,
    /// This CPU's PMU does not know the event, or not with this counter (`EINVAL`).
    Event,
    /// The tables have no event of this name for this core.
    Unknown(UnknownEvent),
    /// The tables do not have this CPU's events.
    NoTable,
    /// Another user has the counter for himself (`EBUSY`).
    Busy,
    /// Another answer.
    Other(String),
}

impl Refusal {
    /// The command or setting that lifts it.
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
                "stop whoever counts there: sudo lsof /dev/cpu/*/msr, or the NMI watchdog: sudo sysctl kernel.nmi_watchdog=0"
            }
            Self::Other(_) => "look for perf in the kernel log: sudo dmesg | grep -i perf",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPmu => f.write_str("the kernel sees no PMU on this CPU"),
            Self::Paranoid(Some(value)) => {
                write!(f, "kernel.perf_event_paranoid={value} forbids it")
            }
            Self::Paranoid(None) => f.write_str("kernel.perf_event_paranoid forbids it"),
            Self::Sandbox => f.write_str("a sandbox (seccomp) forbids perf_event_open"),
            Self::Event => f.write_str("this CPU's PMU does not count such an event"),
            Self::Unknown(unknown) => unknown.fmt(f),
            Self::NoTable => f.write_str("no table has the events of this CPU"),
            Self::Busy => f.write_str("somebody else has the counter for himself"),
            Self::Other(answer) => write!(f, "perf_event_open: {answer}"),
        }
    }
}

impl std::error::Error for Refusal {}

/// What an answer of `perf_event_open` means (its manual page, section ERRORS).
pub(super) fn explain(error: &io::Error, paranoid: Option<i64>) -> Refusal {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => Refusal::NoPmu,
        Some(libc::EACCES) => Refusal::Paranoid(paranoid),
        // User mode may be counted up to 2; distributions add 3 and 4, which answer EPERM too.
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
    fn each_answer_has_its_meaning() {
        let meaning = |code, setting| explain(&io::Error::from_raw_os_error(code), setting);
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
        assert!(
            matches!(&other, Refusal::Other(text) if text.contains("24")),
            "{other}"
        );
    }

    #[test]
    fn a_refusal_names_the_setting_and_its_mend() {
        let refusal = Refusal::Paranoid(Some(4));
        assert_eq!(
            refusal.to_string(),
            "kernel.perf_event_paranoid=4 forbids it"
        );
        assert_eq!(refusal.mend(), "sudo sysctl kernel.perf_event_paranoid=1");
    }
}
