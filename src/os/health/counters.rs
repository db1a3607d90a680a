//! What can be counted beside time.

use super::{Check, Observed, Subject};
use crate::os::perf::{self, Pmu};
use crate::os::root::Root;

pub(super) fn hardware(observed: &Observed) -> Check {
    let subject = Subject {
        name: "hardware counters",
        why: "Without a PMU, cache misses and page walks are only inferred from times; the times \
              themselves stay as good.",
    };
    match &observed.pmu {
        Pmu::Available => subject.good("cycles of user mode can be counted"),
        Pmu::Refused(refusal) => subject.warn(refusal, refusal.mend()),
    }
}

pub(super) fn software(observed: &Observed) -> Check {
    let subject = Subject {
        name: "software counters",
        why: "perf would not see page faults and migrations during a sample; context switches are \
              still marked.",
    };
    match &observed.software_events {
        Ok(()) => subject.good("the task clock counts"),
        Err(refusal) => subject.warn(refusal, refusal.mend()),
    }
}

pub(super) fn paranoid(root: &Root) -> Check {
    let subject = Subject {
        name: "perf_event_paranoid",
        why: "Above 2, an ordinary user can count nothing; at 2, only events in user mode.",
    };
    let mend = "sudo sysctl kernel.perf_event_paranoid=1";
    match perf::paranoid(&root.proc) {
        Some(value @ ..=1) => subject.good(value),
        Some(2) => subject.good("2 (user mode only, which is what is measured)"),
        Some(value) => subject.warn(value, mend),
        None => subject.unknown(
            "this kernel has no such setting: it is built without perf",
            mend,
        ),
    }
}
