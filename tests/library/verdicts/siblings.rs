//! The known machines with hyper-threads, without them, and with one core.

use linefill::experiment::{CpuOrder, Machine};
use linefill::os::sysfs::CpuLocation;

use super::machines::with_locations;

fn located(machine: &Machine, change: impl Fn(&mut CpuLocation)) -> Machine {
    let mut locations = machine.cpu_order.locations().to_vec();
    locations.sort_by_key(|location| location.cpu);
    locations.iter_mut().for_each(change);
    with_locations(machine, locations)
}

/// Every two CPUs are one core.
pub fn with(machine: &Machine) -> Machine {
    located(machine, |location| {
        location.core = location.cpu / 2 * 2;
        location.l2 = location.core;
    })
}

/// Every CPU is a core.
pub fn without(machine: &Machine) -> Machine {
    located(machine, |location| {
        location.core = location.cpu;
        location.l2 = location.cpu;
    })
}

/// Nothing is known about the machine's CPUs.
pub fn alone(machine: &Machine) -> Machine {
    Machine { cpu_order: CpuOrder::default(), ..machine.clone() }
}
