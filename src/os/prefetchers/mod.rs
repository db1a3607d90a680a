//! The hardware prefetchers of a CPU: reads whether they are on, and, if the user allows it, switches them
//! off while a measurement runs.
//!
//! Before the register is written, a child process stands ready to restore it ([`Off`] describes when).
//! The register is restored after a crash, a panic, Ctrl-C or SIGKILL.

#[cfg(test)]
mod tests;

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::OnceLock;

use super::affinity;
use super::guardian::{Guardian, Undo};
use super::root::Root;
use crate::cpu::{Identity, PrefetchSwitches};

/// The state of the prefetchers' register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// The register and its bits.
    pub switches: PrefetchSwitches,
    /// The register's value.
    pub value: u64,
}

impl fmt::Display for Setting {
    /// Lists the prefetchers that are off, or says that all are on, and names the register.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let off: Vec<&str> = self.switches.off(self.value).collect();
        if off.is_empty() {
            f.write_str("all on")?
        } else {
            write!(f, "off: {}", off.join(", "))?
        }
        write!(f, " (register {:#x} is {:#x})", self.switches.register, self.value)
    }
}

/// Why the prefetchers cannot be read or switched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// The user has not allowed this process to write registers.
    NotAllowed,
    /// No register is published for this core.
    Unknown,
    /// The thread may move to another CPU.
    NotPinned,
    /// The register cannot be read or written.
    Register(MsrError),
    /// The write was accepted, but the register holds another value.
    NoEffect {
        /// The value written.
        wanted: u64,
        /// The value found.
        found: u64,
    },
    /// The process that would restore the register could not be started.
    NoGuardian(String),
    /// The CPUs are of two or more kinds of core, whose registers have different bits.
    TwoKinds {
        /// The CPUs of one of these kinds.
        alike: Vec<usize>,
    },
}

messages! { Refused:
    Refused::NotAllowed => (
        "switching the prefetchers off writes a model-specific register: run with \
         --allow-msr, as root"
    );
    Refused::Unknown => (
        "no documented register disables this CPU's prefetchers"
    );
    Refused::NotPinned => ("pin the thread first: the register belongs to one CPU");
    Refused::Register(error @ MsrError::Missing(_)) => (
        "{error}: sudo modprobe msr; guests and containers may have none"
    );
    Refused::Register(error @ MsrError::Denied(_)) => ("{error}: run as root, with CAP_SYS_RAWIO");
    Refused::Register(error) => ("{error}");
    Refused::NoEffect { wanted, found } => (
        "the register was to hold {wanted:#x} and holds {found:#x}: the hypervisor or the \
         firmware keeps the prefetchers as they are"
    );
    Refused::NoGuardian(problem) => (
        "no process could be started that would put the register back: {problem}"
    );
    Refused::TwoKinds { alike } => (
        "the cores of this CPU are of several kinds, whose registers have different bits: keep the \
         run on one kind, such as by `taskset -c {}`",
        alike.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
    );
}

impl From<MsrError> for Refused {
    fn from(error: MsrError) -> Self {
        Refused::Register(error)
    }
}

/// Reads the state of the prefetchers of `cpu`.
///
/// # Errors
/// If the core has no known register (`switches` is `None`), or the register cannot be read.
pub fn look(
    root: &Root,
    cpu: usize,
    switches: Option<PrefetchSwitches>,
) -> Result<Setting, Refused> {
    let switches = switches.ok_or(Refused::Unknown)?;
    let value = Msr::open(root, cpu, OpenOptions::new().read(true))?.read(switches.register)?;
    Ok(Setting { switches, value })
}

/// The machine whose registers this process may write, once the user has allowed it.
static ALLOWED: OnceLock<Root> = OnceLock::new();

/// Allows this process to switch the prefetchers of `root`'s machine off, until it ends.
pub fn allow(root: Root) {
    // An earlier call named the same machine.
    let _ = ALLOWED.set(root);
}

/// A register that was read and whose device is open for writing. Nothing more can be checked before the
/// write.
#[derive(Debug)]
pub struct Ready {
    msr: Msr,
    register: u32,
    before: u64,
    wanted: u64,
}

impl Ready {
    /// Prepares the prefetchers of the CPU that this thread is pinned to.
    ///
    /// # Errors
    /// Unless the user has [allowed](allow) it, the thread is pinned and the register can be read.
    pub fn here() -> Result<Self, Refused> {
        let root = ALLOWED.get().ok_or(Refused::NotAllowed)?;
        let cpu = affinity::only().ok_or(Refused::NotPinned)?;
        let core = Identity::detect().core();
        let switches = core.and_then(|core| core.prefetchers.value());
        Ready::at(root, cpu, switches.ok_or(Refused::Unknown)?)
    }

    /// Prepares the prefetchers of `cpu`.
    ///
    /// # Errors
    /// If the register cannot be read, or its device cannot be opened for writing.
    pub fn at(root: &Root, cpu: usize, switches: PrefetchSwitches) -> Result<Self, Refused> {
        let msr = Msr::open(root, cpu, OpenOptions::new().read(true).write(true))?;
        let register = switches.register;
        let before = msr.read(register)?;
        Ok(Ready { msr, register, before, wanted: before | switches.mask() })
    }

    /// Switches all of the CPU's prefetchers off. Forks: lay out the data to measure first. The child
    /// shares this process's pages, and a shared page is copied at the next write to it.
    ///
    /// # Errors
    /// If no process can be started to restore the register, the register cannot be written, or the write
    /// has no effect.
    pub fn switch_off(self) -> Result<Off, Refused> {
        Off::of(vec![self])
    }
}

/// The prefetchers of one or more CPUs, off until dropped.
///
/// Dropping restores the old value of each register, also during a panic. A child process, started
/// before the register is written, restores it if this process ends without dropping: by a signal of
/// any kind, an abort or an exit. The register stays changed only if both processes end at once, as when
/// their container ends.
#[derive(Debug)]
pub struct Off {
    /// The registers that were written, or were about to be.
    registers: Vec<Ready>,
    _guardian: Guardian,
}

impl Off {
    /// Switches the prefetchers of all `cpus` off, or of none. A thread on any of these CPUs then runs
    /// without prefetchers. Forks, as [`Ready::switch_off`] does.
    ///
    /// # Errors
    /// As [`Ready::at`] and [`Ready::switch_off`]. The prefetchers already switched off are then on again.
    /// Also if a hybrid CPU's `cpus` are of several kinds: `switches` are those of one.
    pub fn on(
        root: &Root,
        cpus: &[usize],
        switches: Option<PrefetchSwitches>,
    ) -> Result<Self, Refused> {
        let switches = switches.ok_or(Refused::Unknown)?;
        for kind in [affinity::performance_cores, affinity::low_power_cores] {
            let mut alike = kind(root);
            alike.retain(|cpu| cpus.contains(cpu));
            if (1..cpus.len()).contains(&alike.len()) {
                return Err(Refused::TwoKinds { alike });
            }
        }
        let ready = cpus.iter().map(|&cpu| Ready::at(root, cpu, switches));
        Off::of(ready.collect::<Result<_, _>>()?)
    }

    /// Starts one guardian for all registers before it writes the first.
    fn of(registers: Vec<Ready>) -> Result<Self, Refused> {
        let undo = registers.iter().map(|of| {
            let before = of.before.to_le_bytes();
            Undo::write(&of.msr.path, of.register.into(), &before)
        });
        let guardian = undo
            .collect::<Result<Vec<_>, _>>()
            .and_then(|undo| Guardian::post(&undo))
            .map_err(|error| Refused::NoGuardian(error.to_string()))?;
        let off = Off { registers, _guardian: guardian };
        for of in &off.registers {
            of.msr.write(of.register, of.wanted)?;
            let (wanted, found) = (of.wanted, of.msr.read(of.register)?);
            if found != wanted {
                return Err(Refused::NoEffect { wanted, found });
            }
        }
        Ok(off)
    }
}

impl Drop for Off {
    /// Restores the registers. If a write fails, the guardian, which is dropped next, tries again.
    fn drop(&mut self) {
        for of in &self.registers {
            let _ = of.msr.write(of.register, of.before);
        }
    }
}

/// `/dev/cpu/N/msr`, opened: the registers of one CPU, whichever CPU the caller runs on.
#[derive(Debug)]
pub struct Msr {
    file: File,
    path: PathBuf,
}

/// Why a register cannot be read or written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MsrError {
    /// The device does not exist: the driver is not loaded, or the kernel has none.
    Missing(PathBuf),
    /// This user may not open the device, or not for this access.
    Denied(PathBuf),
    /// The device cannot be opened for another reason, such as too many open files.
    NotOpened {
        /// The device.
        path: PathBuf,
        /// The kernel's error.
        problem: String,
    },
    /// The CPU lacks the register, or the hypervisor refuses the access.
    Refused {
        /// The register.
        register: u32,
        /// Whether the access was a write; otherwise it was a read.
        written: bool,
        /// The kernel's error.
        problem: String,
    },
}

messages! { MsrError:
    MsrError::Missing(path) => ("{} does not exist", path.display());
    MsrError::Denied(path) => ("{} is closed to this user", path.display());
    MsrError::NotOpened { path, problem } => ("{} cannot be opened: {problem}", path.display());
    MsrError::Refused { register, written, problem } => (
        "register {register:#x} cannot be {done}: the CPU does not have it, or the \
         hypervisor or a locked-down kernel refuses it ({problem})",
         done = if *written { "written" } else { "read" }
    );
}

impl Msr {
    /// Opens the registers of `cpu`, to read or also to write.
    ///
    /// # Errors
    /// If there is no device, or this user may not open it so.
    pub fn open(root: &Root, cpu: usize, how: &OpenOptions) -> Result<Self, MsrError> {
        let path = root.dev.join(format!("cpu/{cpu}/msr"));
        match how.open(&path) {
            Ok(file) => Ok(Msr { file, path }),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                Err(MsrError::Denied(path))
            }
            // ENXIO: the kernel has no such CPU, though the file is there.
            Err(error)
                if error.kind() == ErrorKind::NotFound
                    || error.raw_os_error() == Some(libc::ENXIO) =>
            {
                Err(MsrError::Missing(path))
            }
            Err(error) => Err(MsrError::NotOpened { path, problem: error.to_string() }),
        }
    }

    /// `rdmsr`: reads a register.
    ///
    /// # Errors
    /// If the register cannot be read.
    #[doc(alias = "rdmsr")]
    pub fn read(&self, register: u32) -> Result<u64, MsrError> {
        let mut value = [0; 8];
        let read = self.file.read_exact_at(&mut value, register.into());
        read.map_err(|error| self.refusal(register, false, &error))?;
        Ok(u64::from_le_bytes(value))
    }

    /// `wrmsr`: writes a register. The effect depends on the register; a wrong value can crash the machine.
    ///
    /// # Errors
    /// If the register cannot be written.
    #[doc(alias = "wrmsr")]
    pub fn write(&self, register: u32, value: u64) -> Result<(), MsrError> {
        let written = self.file.write_all_at(&value.to_le_bytes(), register.into());
        written.map_err(|error| self.refusal(register, true, &error))
    }

    /// Translates an error. The driver returns EPERM for an access that `msr.allow_writes=off` or a
    /// locked-down kernel forbids, and EIO for one that faults in the CPU or the hypervisor.
    fn refusal(&self, register: u32, written: bool, error: &io::Error) -> MsrError {
        if error.kind() == ErrorKind::PermissionDenied && !written {
            return MsrError::Denied(self.path.clone());
        }
        MsrError::Refused { register, written, problem: error.to_string() }
    }
}
