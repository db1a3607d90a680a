//! Whether the TSC is a clock.

use super::{Check, Observed, Subject};
use crate::os::root::{Root, read};

pub(super) fn tsc(root: &Root, observed: &Observed) -> Check {
    let subject = Subject {
        name: "time-stamp counter",
        why: "Every timing here is a difference of two TSC readings: it must run at one rate in \
              all power states, and agree between CPUs.",
    };
    if !observed.invariant_tsc {
        return subject.bad(
            "CPUID promises no invariant TSC",
            "pass it on in the hypervisor (QEMU: -cpu host,+invtsc); a CPU without it cannot be \
             measured by ticks",
        );
    }
    let dir = root.sys.join("devices/system/clocksource/clocksource0");
    let current = match read(&dir.join("current_clocksource")) {
        Ok(current) => current,
        Err(error) => {
            return subject.unknown(
                format!("invariant; clock source not told ({error})"),
                "look in the kernel log: sudo dmesg | grep -i tsc",
            );
        }
    };
    if current == "tsc" {
        return subject.good("invariant, and the kernel's own clock source");
    }
    let found = format!("invariant, but the kernel's clock source is {current}");
    let available = read(&dir.join("available_clocksource")).unwrap_or_default();
    if available.split_whitespace().any(|source| source == "tsc") {
        let file = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        subject.warn(found, format!("echo tsc | sudo tee {file}"))
    } else {
        subject.bad(
            found + ", and tsc is not among the available ones: the kernel has found it unstable",
            "look why in the kernel log: sudo dmesg | grep -i tsc",
        )
    }
}
