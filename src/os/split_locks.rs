//! Decides whether a locked instruction may cross two cache lines on this machine.
//!
//! Such a lock keeps every core from memory for a microsecond. CPUs can trap it, by #AC (Intel since
//! Tremont and Ice Lake) or by #DB (Intel since Sapphire Rapids, AMD since Zen 5). Linux then warns,
//! pauses the program for 10 ms or ends it by SIGBUS, as its command line says
//! (Documentation/arch/x86/buslock.rst). Under KVM the host's setting decides: if it is `fatal`, a
//! guest's split lock ends the whole guest.

// Creates a token whose condition CPUID cannot prove.
#![allow(unsafe_code)]

use super::root::{Root, Unreadable, read};
use crate::cpu::{Identity, SplitLocks, Vendor};

/// The facts about the machine that decide whether a split lock is trapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The vendor of the CPU.
    pub vendor: Vendor,
    /// The family of the CPU.
    pub family: u8,
    /// Whether the machine is a guest of a hypervisor.
    pub guest: bool,
}

/// Why a split lock must not be tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The kernel traps split locks, by this mechanism and in this mode.
    Trapped {
        /// The flag in `/proc/cpuinfo`.
        flag: &'static str,
        /// The value of `split_lock_detect=`; `warn` if it is not given.
        mode: String,
        /// Whether `kernel.split_lock_mitigate` makes the kernel slow the program down.
        slowed: bool,
    },
    /// The host decides, and a CPU of this vendor may trap split locks.
    Host(Vendor),
    /// The CPU's flags cannot be read.
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

/// Returns permission to execute split locks on this machine.
///
/// # Errors
/// [`Refused`], unless it is certain that they are not trapped.
pub fn allowed() -> Result<SplitLocks, Refused> {
    let identity = Identity::detect();
    let place = Place {
        vendor: identity.vendor,
        family: identity.family,
        guest: identity.hypervisor.is_some(),
    };
    judge(&Root::live(), place)?;
    // SAFETY: neither the kernel nor a host traps split locks, as `judge` found. Both settings are
    // fixed at boot.
    Ok(unsafe { SplitLocks::allowed() })
}

/// Checks that split locks are not trapped on the machine in `root`.
///
/// # Errors
/// [`Refused`], unless it is certain that they are not trapped.
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
    // No AMD CPU before family 1Ah can trap them. A host that presents a newer CPU as an older one
    // can slow a guest down, but not end it.
    let harmless = place.vendor == Vendor::Amd && place.family < 0x1a;
    if place.guest && !harmless {
        return Err(Refused::Host(place.vendor));
    }
    Ok(())
}

/// Returns the flags of the first CPU.
fn flags(root: &Root) -> Result<String, Unreadable> {
    let path = root.proc.join("cpuinfo");
    let text = read(&path)?;
    let line = text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == "flags").then(|| value.to_owned())
    });
    line.ok_or_else(|| Unreadable::malformed(&path, &text, "a list of CPUs with their flags"))
}

/// Returns the last `split_lock_detect=` value of the kernel's command line. Without the parameter,
/// or without a command line, the kernel warns.
fn mode(root: &Root) -> String {
    let text = read(&root.proc.join("cmdline")).unwrap_or_default();
    text.split_whitespace()
        .filter_map(|word| word.strip_prefix("split_lock_detect="))
        .next_back()
        .unwrap_or("warn")
        .to_owned()
}
