//! The known machines with hyper-threads, without them, and with one core.

use linefill::experiment::{CpuOrder, Machine};
use linefill::os::sysfs::CpuLocation;

use super::machines::with_seats;

fn seated(machine: &Machine, change: impl Fn(&mut CpuLocation)) -> Machine {
    let mut seats = machine.cpu_order.seats().to_vec();
    seats.sort_by_key(|seat| seat.cpu);
    seats.iter_mut().for_each(change);
    with_seats(machine, seats)
}

/// Every two CPUs are one core.
pub fn with(machine: &Machine) -> Machine {
    seated(machine, |seat| {
        seat.core = seat.cpu / 2 * 2;
        seat.l2 = seat.core;
    })
}

/// Every CPU is a core.
pub fn without(machine: &Machine) -> Machine {
    seated(machine, |seat| {
        seat.core = seat.cpu;
        seat.l2 = seat.cpu;
    })
}

/// Nothing is known about the machine's CPUs.
pub fn alone(machine: &Machine) -> Machine {
    Machine {
        cpu_order: CpuOrder::default(),
        ..machine.clone()
    }
}
