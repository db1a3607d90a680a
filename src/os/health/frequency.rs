//! Whether the core's clock stays where it is.

use super::{Check, Subject};
use crate::os::root::{Root, read};

pub(super) fn governor(root: &Root, cpu: usize) -> Check {
    let subject = Subject {
        name: "frequency governor",
        why: "A governor that saves power starts a sample at a low clock and raises it within: \
              the same kernel then takes a different number of nanoseconds each time.",
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
