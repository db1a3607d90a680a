//! Whether the machine is a guest, and how much of its time the host takes.

use super::stat::{Ticks, between, percent};
use super::{Check, Observed, Subject};

/// Stolen time since boot above which single samples will be hit.
const SOME: f64 = 0.001;
/// Stolen time in the 200 ms looked at above which medians are hit too: less than one tick, so
/// any.
const MUCH: f64 = 0.01;

pub(super) fn present(observed: &Observed) -> Check {
    let subject = Subject {
        name: "hypervisor",
        why: "A guest's page walks are two-dimensional, other guests share its last-level cache \
              and its memory, CPUID may not tell the truth, and there is often no PMU.",
    };
    match &observed.hypervisor {
        None => subject.good("none"),
        Some(name) => subject.warn(
            name,
            "measure on the bare machine; in a guest ask for dedicated cores and 1 GiB or 2 MiB \
             pages on the host",
        ),
    }
}

pub(super) fn steal(cpu: usize, observed: &Observed) -> Check {
    let subject = Subject {
        name: "steal time",
        why: "While the host runs another guest on this CPU, the TSC keeps counting: the \
              interrupted sample is milliseconds too long, and the caches are cold afterwards.",
    };
    let name = format!("cpu{cpu}");
    let mend =
        "move to a host that is not oversold, or measure when steal is 0 (look with: vmstat 1)";
    let window = match between(observed, &name) {
        Ok(ticks) => ticks,
        Err(reason) => return subject.unknown(reason, mend),
    };
    let after = observed
        .stat
        .as_ref()
        .ok()
        .and_then(|(_, after)| Ticks::parse(after, &name));
    let boot = after
        .and_then(|ticks| ticks.share(ticks.steal))
        .unwrap_or(0.0);
    let now = window.share(window.steal).unwrap_or(0.0);
    let found = format!(
        "{} of CPU {cpu} now, {} since boot",
        percent(now),
        percent(boot)
    );
    if now > MUCH {
        subject.bad(found, mend)
    } else if boot > SOME {
        subject.warn(found, mend)
    } else {
        subject.good(found)
    }
}
