//! Whether the TSC is a clock, and whether the core's clock stays where it is.

use super::{Check, Observed, Subject};
use crate::os::root::{Root, read};

pub(super) fn tsc(root: &Root, observed: &Observed) -> Check {
    let subject = Subject {
        name: "time-stamp counter",
        why: "Every time is a difference of two TSC readings: the TSC must run at one rate in all \
              power states, and agree between CPUs.",
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

pub(super) fn governor(root: &Root, cpu: usize) -> Check {
    let subject = Subject {
        name: "frequency governor",
        why: "A governor that saves power starts a sample at a low clock and raises it during the \
              sample: the same kernel then takes a different number of nanoseconds each time.",
    };
    let path = root.sys.join(format!(
        "devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"
    ));
    match read(&path) {
        Ok(governor) if governor == "performance" => subject.good(governor),
        Ok(governor) => subject.warn(governor, "sudo cpupower frequency-set -g performance"),
        Err(error) => subject.unknown(
            format!("not told ({error})"),
            "set the firmware or the host to maximum performance; compare core cycles, not \
             nanoseconds",
        ),
    }
}

pub(super) fn turbo(root: &Root) -> Check {
    let subject = Subject {
        name: "turbo",
        why: "Turbo clocks depend on temperature and on how many cores are busy: nanoseconds \
              drift between runs, while core cycles stay.",
    };
    // The file, what it says when turbo is off, and how to switch it off.
    let files = [
        (
            "intel_pstate/no_turbo",
            "1",
            "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo",
        ),
        (
            "cpufreq/boost",
            "0",
            "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost",
        ),
    ];
    for (file, off, mend) in files {
        let Ok(value) = read(&root.sys.join("devices/system/cpu").join(file)) else {
            continue;
        };
        return match value.as_str() {
            value if value == off => subject.good("off"),
            "0" | "1" => subject.warn("on", mend),
            other => subject.unknown(format!("{file} says {other:?}"), mend),
        };
    }
    subject.unknown(
        "not told (neither intel_pstate/no_turbo nor cpufreq/boost)",
        "switch it off in the firmware or on the host; compare core cycles, not nanoseconds",
    )
}
