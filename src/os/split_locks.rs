//! Whether a locked instruction may work across two cache lines here.
//!
//! Such a lock keeps every core from memory for a microsecond, so CPUs can trap it, by #AC (Intel
//! since Tremont and Ice Lake) or by #DB (Intel since Sapphire Rapids, AMD since Zen 5). Linux then
//! warns, pauses the program for 10 ms or ends it by SIGBUS, as its command line says
//! (Documentation/arch/x86/buslock.rst). Under KVM the host's setting counts, and where that is
//! `fatal` a guest's split lock ends the whole guest.

// Vouches for a token that CPUID cannot prove.
#![allow(unsafe_code)]

use super::root::{Root, Unreadable, read};
use crate::cpu::{Identity, SplitLocks, Vendor};

/// Who executes the lock, as far as it decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The maker of the CPU.
    pub vendor: Vendor,
    /// Its family.
    pub family: u8,
    /// Whether there is a hypervisor underneath.
    pub guest: bool,
}

/// Why no split lock may be tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The kernel has told the CPU to trap them, by this mechanism and in this mode.
    Trapped {
        /// The flag in `/proc/cpuinfo`.
        flag: &'static str,
        /// What `split_lock_detect=` says; `warn` if nothing does.
        mode: String,
        /// Whether `kernel.split_lock_mitigate` has the kernel slow the program down.
        slowed: bool,
    },
    /// The host decides, and this CPU may be one that can trap them.
    Host(Vendor),
    /// The flags of the CPU cannot be read.
    Unknown(Unreadable),
}

messages! { Refused:
    Refused::Trapped { flag, mode, slowed } => (
        "the kernel traps locks across two lines ({flag}, split_lock_detect={mode}{}); \
         boot with split_lock_detect=off to measure what they would cost",
        if *slowed { ", kernel.split_lock_mitigate=1" } else { "" }
    );
    Refused::Host(vendor) => (
        "the host may answer a guest's lock across two lines by ending the guest, and a \
         guest on a CPU of {} cannot tell",
        vendor.name()
    );
    Refused::Unknown(error) => ("whether locks across two lines are trapped is unknown: {error}");
}

/// Leave to lock across two lines on this machine.
///
/// # Errors
/// [`Refused`], unless surely nobody traps it.
pub fn allowed() -> Result<SplitLocks, Refused> {
    let identity = Identity::detect();
    let place = Place {
        vendor: identity.vendor,
        family: identity.family,
        guest: identity.hypervisor.is_some(),
    };
    judge(&Root::live(), place)?;
    // SAFETY: neither the kernel nor a host traps split locks, as `judge` found; both are set when
    // they boot.
    Ok(unsafe { SplitLocks::allowed() })
}

/// Whether split locks would go untrapped on the machine in `root`.
///
/// # Errors
/// [`Refused`], unless surely nobody traps them.
pub fn judge(root: &Root, place: Place) -> Result<(), Refused> {
    let flags = flags(root).map_err(Refused::Unknown)?;
    let flag = ["split_lock_detect", "bus_lock_detect"]
        .into_iter()
        .find(|flag| flags.split_whitespace().any(|word| word == *flag));
    if let Some(flag) = flag {
        let mode = mode(root);
        if mode != "off" {
            let sysctl = read(&root.proc.join("sys/kernel/split_lock_mitigate"));
            return Err(Refused::Trapped {
                flag,
                mode,
                slowed: sysctl.is_ok_and(|text| text == "1"),
            });
        }
    }
    // No AMD CPU before family 1Ah has a way to trap them. A host that makes a newer one pass for
    // an older one can slow a guest down, but not end it.
    let harmless = place.vendor == Vendor::Amd && place.family < 0x1a;
    if place.guest && !harmless {
        return Err(Refused::Host(place.vendor));
    }
    Ok(())
}

/// The flags of the first CPU.
fn flags(root: &Root) -> Result<String, Unreadable> {
    let path = root.proc.join("cpuinfo");
    let text = read(&path)?;
    let line = text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == "flags").then(|| value.to_owned())
    });
    line.ok_or_else(|| Unreadable::malformed(&path, &text, "a list of CPUs with their flags"))
}

/// The last word of the kernel's command line on split locks. Without one, or without a command
/// line, the kernel warns.
fn mode(root: &Root) -> String {
    let text = read(&root.proc.join("cmdline")).unwrap_or_default();
    text.split_whitespace()
        .filter_map(|word| word.strip_prefix("split_lock_detect="))
        .next_back()
        .unwrap_or("warn")
        .to_owned()
}
