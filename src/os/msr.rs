//! The model-specific registers of a CPU, as Linux's `msr` driver shows them.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::root::Root;

/// `/dev/cpu/N/msr`, opened: the registers of one CPU, whichever CPU the caller runs on.
#[derive(Debug)]
pub struct Msr {
    file: File,
    path: PathBuf,
}

/// Why a register cannot be read or written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MsrError {
    /// There is no such device: no driver is loaded, or the kernel has none.
    Missing(PathBuf),
    /// This user may not open it, or not so.
    Denied(PathBuf),
    /// The CPU has no such register, or the hypervisor refuses it.
    Refused {
        /// The register.
        register: u32,
        /// Whether it was written; read otherwise.
        written: bool,
        /// What the kernel answered.
        problem: String,
    },
}

messages! { MsrError:
    MsrError::Missing(path) => ("{} does not exist", path.display());
    MsrError::Denied(path) => ("{} is closed to this user", path.display());
    MsrError::Refused { register, written, problem } => (
        "register {register:#x} cannot be {done}, as the CPU has none or the \
            hypervisor or a locked-down kernel refuses it: {problem}", done = if *written { "written" } else { "read" }
    );
}

impl Msr {
    /// The registers of `cpu`, to be read.
    ///
    /// # Errors
    /// If there is no device, or this user may not read it.
    pub fn open(root: &Root, cpu: usize) -> Result<Self, MsrError> {
        Self::opened(root, cpu, OpenOptions::new().read(true))
    }

    /// The registers of `cpu`, to be read and written.
    ///
    /// # Errors
    /// If there is no device, or this user may not write it.
    pub fn open_to_write(root: &Root, cpu: usize) -> Result<Self, MsrError> {
        Self::opened(root, cpu, OpenOptions::new().read(true).write(true))
    }

    fn opened(root: &Root, cpu: usize, options: &OpenOptions) -> Result<Self, MsrError> {
        let path = root.dev.join(format!("cpu/{cpu}/msr"));
        match options.open(&path) {
            Ok(file) => Ok(Msr { file, path }),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                Err(MsrError::Denied(path))
            }
            Err(_) => Err(MsrError::Missing(path)),
        }
    }

    /// The device.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// `rdmsr`.
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

    /// `wrmsr`. What a value does is up to the register; a wrong one can crash the machine.
    ///
    /// # Errors
    /// If the register cannot be written.
    #[doc(alias = "wrmsr")]
    pub fn write(&self, register: u32, value: u64) -> Result<(), MsrError> {
        let written = self
            .file
            .write_all_at(&value.to_le_bytes(), register.into());
        written.map_err(|error| self.refusal(register, true, &error))
    }

    /// The driver answers EPERM for what `msr.allow_writes=off` or a locked-down kernel forbids,
    /// and EIO for what the CPU or the hypervisor answers with a fault.
    fn refusal(&self, register: u32, written: bool, error: &io::Error) -> MsrError {
        if error.kind() == ErrorKind::PermissionDenied && !written {
            return MsrError::Denied(self.path.clone());
        }
        MsrError::Refused {
            register,
            written,
            problem: error.to_string(),
        }
    }
}
