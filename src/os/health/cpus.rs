//! The CPUs there are, and the chosen one among them.

use super::{Check, Observed, Subject};
use crate::os::root::Root;
use crate::os::sysfs::{Sysfs, list};

pub(super) fn chosen(root: &Root, cpu: usize, observed: &Observed) -> Check {
    let subject = Subject {
        name: "CPUs",
        why: "A measurement is pinned to one CPU. With no second one the rest of the system runs \
              on it too, and what two threads do to each other cannot be measured.",
    };
    let online = match Sysfs::at(&root.sys).online() {
        Ok(online) => online,
        Err(error) => return subject.unknown(error, "mount sysfs: sudo mount -t sysfs sysfs /sys"),
    };
    let listed = list::format(&online);
    if !online.contains(&cpu) {
        return subject.bad(
            format!("CPU {cpu} is not online; online are {listed}"),
            format!("choose another: --cpu {}", online[0]),
        );
    }
    let allowed = &observed.allowed;
    if !allowed.is_empty() && !allowed.contains(&cpu) {
        return subject.bad(
            format!(
                "CPU {cpu} is not allowed to this process; allowed are {}",
                list::format(allowed)
            ),
            format!("choose another: --cpu {}", allowed[0]),
        );
    }
    if online.len() == 1 {
        return subject.warn(
            format!("CPU {cpu} is the only one"),
            "give the machine a second CPU",
        );
    }
    subject.good(format!("CPU {cpu}, one of {} ({listed})", online.len()))
}
