//! The findings of `doctor` about counters and about the registers with the switches of prefetchers.
#![cfg(feature = "std")]

use linefill::os::health::{Observed, State};
use linefill::os::perf::Refusal;

use super::health::{AMD, assert_check, check, msr, quiet};
use crate::common::machine::Machine;

#[test]
fn counters_say_why_they_are_refused() {
    let machine = Machine::recorded("amd-zen2-two-ccx");
    let refused = |refusal| Observed { pmu: Err(refusal), ..quiet() };
    let one = |observed: &Observed| check(&machine, 0, observed, "hardware counters");
    assert_check(&one(&refused(Refusal::NoPmu)), State::Warn, "no PMU", "pmu=on");
    let paranoid = refused(Refusal::Paranoid(Some(4)));
    assert_check(&one(&paranoid), State::Warn, "paranoid=4", "sysctl kernel.perf_event_paranoid=1");
    assert_check(&one(&refused(Refusal::Sandbox)), State::Warn, "seccomp", "PERFMON");
    let one = check(&machine, 0, &quiet(), "perf_event_paranoid");
    assert_check(&one, State::Warn, "4", "sysctl");
    let setting = "proc/sys/kernel/perf_event_paranoid";
    let of = |machine: Machine| check(&machine, 0, &quiet(), "perf_event_paranoid");
    let other = of(Machine::empty().with("proc/sys/kernel/ostype = Linux"));
    assert_check(&other, State::Unknown, "no such setting", "PERF_EVENTS");
    let unmounted = of(Machine::empty());
    assert_check(&unmounted, State::Unknown, setting, "mount -t proc");
}

#[test]
fn prefetchers_that_are_off_are_named() {
    let machine = Machine::recorded("intel-sapphire-rapids");
    let one = || check(&machine, 2, &quiet(), "prefetchers");
    assert_check(&one(), State::Unknown, "does not exist", "modprobe msr");
    msr(&machine, 2, 0x1A4, 0x25);
    let found = "off: L2 streamer, L1 data next line (register 0x1a4 is 0x25)";
    assert_check(&one(), State::Warn, found, "wrmsr -p 2 0x1a4 0x20");

    let amd = Observed { switches: Some(AMD), ..quiet() };
    let one = || check(&machine, 2, &amd, "prefetchers");
    // A file that is too short stands for a CPU that refuses to read the register.
    assert_check(&one(), State::Unknown, "register 0xc0000108 cannot be read", "firmware");
    msr(&machine, 2, 0xC000_0108, 0x20);
    let mend = "wrmsr -p 2 0xc0000108 0x0";
    assert_check(&one(), State::Warn, "off: L2 up/down", mend);
}
