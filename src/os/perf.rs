//! Whether hardware events can be counted here, and if not, exactly why. Only a probe.
// `perf_event_open` has no wrapper in C; its descriptor is adopted from a raw number.
#![allow(unsafe_code)]

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::FromRawFd;
use std::path::Path;

use super::root::read;

// Constants and layout of `include/uapi/linux/perf_event.h`.
const TYPE_HARDWARE: u32 = 0;
const TYPE_SOFTWARE: u32 = 1;
const CPU_CYCLES: u64 = 0;
const TASK_CLOCK: u64 = 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HV: u64 = 1 << 6;
const FLAG_FD_CLOEXEC: libc::c_ulong = 1 << 3;

/// `struct perf_event_attr` in its first version (`PERF_ATTR_SIZE_VER0`), which every kernel
/// takes.
#[repr(C)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    bp_type: u32,
    config1: u64,
}

const _: () = assert!(size_of::<Attributes>() == 64);

/// Whether the CPU's performance monitoring unit can be used by this process.
#[doc(alias = "perf_event_open")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pmu {
    /// The cycles of this thread in user mode can be counted.
    Available,
    /// They cannot: why.
    Refused(Refusal),
}

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
            Self::Other(answer) => write!(f, "perf_event_open: {answer}"),
        }
    }
}

/// `perf_event_open` of the cycles event, for the calling thread in user mode, closed at once.
pub fn probe() -> Pmu {
    match open(TYPE_HARDWARE, CPU_CYCLES) {
        Ok(_event) => Pmu::Available,
        Err(error) => Pmu::Refused(explain(&error, paranoid(Path::new("/proc")))),
    }
}

/// `perf_event_open` of the thread's task clock: whether an event that needs no PMU counts.
///
/// # Errors
/// Why it does not.
pub fn probe_software() -> Result<(), Refusal> {
    let other = |error: &io::Error| explain(error, paranoid(Path::new("/proc")));
    let mut event = open(TYPE_SOFTWARE, TASK_CLOCK).map_err(|error| other(&error))?;
    // The clock runs while this thread does: the calls themselves take time enough.
    let mut count = [0; 8];
    event
        .read_exact(&mut count)
        .map_err(|error| other(&error))?;
    if u64::from_ne_bytes(count) == 0 {
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

/// The event, as a file from which its count is read.
fn open(kind: u32, config: u64) -> io::Result<File> {
    let attributes = Attributes {
        kind,
        size: size_of::<Attributes>() as u32,
        config,
        sample_period: 0,
        sample_type: 0,
        read_format: 0,
        flags: EXCLUDE_KERNEL | EXCLUDE_HV,
        wakeup_events: 0,
        bp_type: 0,
        config1: 0,
    };
    let (this_thread, any_cpu, no_group) = (0, -1, -1);
    // SAFETY: `attributes` is valid and says its own size; the other arguments are numbers.
    let descriptor = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            this_thread,
            any_cpu,
            no_group,
            FLAG_FD_CLOEXEC,
        )
    };
    match i32::try_from(descriptor) {
        // SAFETY: the kernel has just made this descriptor, and nobody else has it.
        Ok(descriptor @ 0..) => Ok(unsafe { File::from_raw_fd(descriptor) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// What an answer of `perf_event_open` means (its manual page, section ERRORS).
fn explain(error: &io::Error, paranoid: Option<i64>) -> Refusal {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => Refusal::NoPmu,
        Some(libc::EACCES) => Refusal::Paranoid(paranoid),
        // User mode may be counted up to 2; distributions add 3 and 4, which answer EPERM too.
        Some(libc::EPERM) if paranoid.is_none_or(|value| value > 2) => Refusal::Paranoid(paranoid),
        Some(libc::EPERM | libc::ENOSYS) => Refusal::Sandbox,
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

    #[test]
    fn hardware_events_count_only_where_software_events_do() {
        if probe() == Pmu::Available {
            assert_eq!(probe_software(), Ok(()));
        }
    }
}
