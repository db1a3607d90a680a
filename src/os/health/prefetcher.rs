//! The hardware prefetchers' switches, read through `/dev/cpu/N/msr`.

use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;

use super::{Check, Observed, Subject};
use crate::cpu::Vendor;
use crate::os::root::Root;

/// A register that switches prefetchers off, one bit each.
struct Register {
    number: u32,
    bits: &'static [(u32, &'static str)],
}

/// `MSR_MISC_FEATURE_CONTROL` (Intel, "Disclosure of Hardware Prefetcher Control on Some Intel
/// Processors", 2014: Nehalem to Broadwell; later cores of the family keep the four bits).
const INTEL: Register = Register {
    number: 0x1A4,
    bits: &[
        (0, "L2 streamer"),
        (1, "L2 adjacent line"),
        (2, "L1 data next line"),
        (3, "L1 data by instruction address"),
    ],
};

/// `MSRC000_0108`, Prefetch Control, on family 19h and later (bits as in likwid's
/// `sysFeatures_amd.c`).
const AMD: Register = Register {
    number: 0xC000_0108,
    bits: &[
        (0, "L1 stream"),
        (1, "L1 stride"),
        (2, "L1 region"),
        (3, "L2 stream"),
        (5, "L2 up/down"),
    ],
};

pub(super) fn switches(root: &Root, cpu: usize, observed: &Observed) -> Check {
    let subject = Subject {
        name: "prefetchers",
        why: "Sequential walks are what the hardware prefetchers make of them: with one switched \
              off the figures are not those of other machines of the kind.",
    };
    let register = match observed.vendor {
        Vendor::Intel => INTEL,
        Vendor::Amd | Vendor::Hygon => AMD,
        Vendor::Other => {
            return subject.unknown(
                "no known register on this make of CPU",
                "look in the firmware's settings",
            );
        }
    };
    let path = root.dev.join(format!("cpu/{cpu}/msr"));
    let mut value = [0; 8];
    let read = File::open(&path)
        .and_then(|file| file.read_exact_at(&mut value, u64::from(register.number)));
    let number = register.number;
    if let Err(error) = read {
        return match error.kind() {
            ErrorKind::NotFound => subject.unknown(
                format!("{} does not exist", path.display()),
                "sudo modprobe msr, then run doctor as root; a kernel without modules or a guest \
                 may have none",
            ),
            ErrorKind::PermissionDenied => subject.unknown(
                format!("{} is not readable by this user", path.display()),
                format!("run doctor as root, or read it yourself: sudo rdmsr -p {cpu} {number:#x}"),
            ),
            _ => subject.unknown(
                format!("register {number:#x} is refused: {error}"),
                "this CPU has no such register, or the hypervisor hides it; look in the \
                 firmware's settings",
            ),
        };
    }
    let value = u64::from_le_bytes(value);
    let off: Vec<&str> = register
        .bits
        .iter()
        .filter(|(bit, _)| value >> bit & 1 == 1)
        .map(|(_, name)| *name)
        .collect();
    if off.is_empty() {
        return subject.good(format!("all on (register {number:#x} is {value:#x})"));
    }
    let mask = register
        .bits
        .iter()
        .fold(0u64, |mask, (bit, _)| mask | 1 << bit);
    subject.warn(
        format!(
            "off: {} (register {number:#x} is {value:#x})",
            off.join(", ")
        ),
        format!("sudo wrmsr -p {cpu} {number:#x} {:#x}", value & !mask),
    )
}
