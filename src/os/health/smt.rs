//! The other hyper-threads of the chosen core.

use super::stat::{between, percent};
use super::{Check, Observed, Subject};
use crate::os::root::Root;
use crate::os::sysfs::{Sysfs, list};

/// Shares of the looks at which somebody computes on the core, in percent, up to which it is no
/// matter, and up to which it is a warning: those samples are left out.
const CROWDED: (u32, u32) = (5, 50);

/// A sibling that the hypervisor does not show, by what it takes of the core.
fn hidden(subject: &Subject, company: Option<u32>) -> Check {
    let mend = "ask for whole cores (a dedicated host or a metal instance)";
    let Some(company) = company else {
        return subject.unknown(
            "the hypervisor shows no sibling; a neighbour may run on it all the same",
            mend,
        );
    };
    let found = format!(
        "the hypervisor shows no sibling, but by its throughput the core is shared for {company} % \
         of the time"
    );
    match company {
        few if few <= CROWDED.0 => subject.good(found),
        some if some <= CROWDED.1 => subject.warn(found, mend),
        _ => subject.bad(found, mend),
    }
}

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
            Some(_) => hidden(&subject, observed.company),
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

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    #[test]
    fn a_sibling_that_is_not_shown_is_judged_by_what_it_takes() {
        let subject = Subject {
            name: "SMT sibling",
            why: "",
        };
        for (company, state) in [
            (None, State::Unknown),
            (Some(5), State::Good),
            (Some(6), State::Warn),
            (Some(51), State::Bad),
        ] {
            let check = hidden(&subject, company);
            assert_eq!(check.state, state, "{company:?}");
            let share = company.map_or(String::new(), |company| format!("shared for {company} %"));
            assert!(check.found.contains(&share), "{}", check.found);
        }
    }
}
