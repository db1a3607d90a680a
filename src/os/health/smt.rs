//! The other hyper-threads of the chosen core.

use super::stat::{between, percent};
use super::{Check, Observed, Subject};
use crate::os::root::Root;
use crate::os::sysfs::{Sysfs, list};

/// One tick in the 200 ms looked at.
const IDLE: f64 = 0.05;

pub(super) fn sibling(root: &Root, cpu: usize, observed: &Observed) -> Check {
    let subject = Subject {
        name: "SMT sibling",
        why: "A busy hyper-thread halves the caches, fill buffers and execution slots that the \
              measuring one sees.",
    };
    let siblings = match Sysfs::at(&root.sys).topology(cpu) {
        Ok(topology) => topology.siblings(cpu),
        Err(error) => return subject.unknown(error, "look on the host which CPUs share a core"),
    };
    if siblings.is_empty() {
        return match &observed.hypervisor {
            None => subject.good(format!("CPU {cpu} has its core to itself")),
            Some(_) => subject.unknown(
                "the hypervisor shows no sibling; a neighbour may run on it all the same",
                "ask for whole cores (a dedicated host or a metal instance)",
            ),
        };
    }
    let mend = format!(
        "switch SMT off: echo off | sudo tee /sys/devices/system/cpu/smt/control; or keep CPU {} \
         free",
        list::format(&siblings)
    );
    let mut busiest: f64 = 0.0;
    for sibling in &siblings {
        match between(observed, &format!("cpu{sibling}")) {
            Ok(ticks) => busiest = busiest.max(ticks.share(ticks.busy).unwrap_or(0.0)),
            Err(reason) => return subject.unknown(reason, mend),
        }
    }
    let found = format!(
        "CPU {} shares the core, {} busy",
        list::format(&siblings),
        percent(busiest)
    );
    if busiest <= IDLE {
        subject.good(found)
    } else {
        subject.bad(found, mend)
    }
}
