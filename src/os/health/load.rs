//! What else runs.

use super::stat::{between, percent};
use super::{Check, Observed, State, Subject};
use crate::os::root::{Root, read};

/// Shares of CPU time up to which a load is no matter, and up to which it is a warning. One tick
/// in the 200 ms looked at is 5 %.
const CHOSEN: (f64, f64) = (0.05, 0.15);
const MACHINE: (f64, f64) = (0.05, 0.25);

const MEND: &str = "stop other programs (look with: top), or measure when they have ended";

pub(super) fn chosen(cpu: usize, observed: &Observed) -> Check {
    let subject = Subject {
        name: "load of the CPU",
        why: "Another program on the measuring CPU takes its time and its caches: samples grow \
              and scatter.",
    };
    match busy(observed, &format!("cpu{cpu}")) {
        Ok(share) => graded(
            &subject,
            share,
            CHOSEN,
            format!("CPU {cpu} is {} busy", percent(share)),
        ),
        Err(reason) => subject.unknown(reason, MEND),
    }
}

pub(super) fn machine(root: &Root, observed: &Observed) -> Check {
    let subject = Subject {
        name: "load of the machine",
        why: "Programs on other CPUs share the last-level cache, the memory bandwidth and the \
              power budget: large working sets get slower and clocks change.",
    };
    let average = match read(&root.proc.join("loadavg")) {
        Ok(text) => text
            .split_whitespace()
            .next()
            .unwrap_or("unknown")
            .to_owned(),
        Err(_) => "unknown".to_owned(),
    };
    match busy(observed, "cpu") {
        Ok(share) => {
            let found = format!(
                "{} of all CPU time busy, load average {average}",
                percent(share)
            );
            graded(&subject, share, MACHINE, found)
        }
        Err(reason) => subject.unknown(reason, MEND),
    }
}

/// The share of time that the line `name` was busy while this process slept.
fn busy(observed: &Observed, name: &str) -> Result<f64, String> {
    let ticks = between(observed, name)?;
    Ok(ticks.share(ticks.busy).unwrap_or(0.0))
}

fn graded(subject: &Subject, share: f64, (good, warn): (f64, f64), found: String) -> Check {
    if share <= good {
        subject.good(found)
    } else {
        subject.check(
            if share <= warn {
                State::Warn
            } else {
                State::Bad
            },
            found,
            MEND,
        )
    }
}
