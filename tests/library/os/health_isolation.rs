//! The findings of `doctor` about isolated CPUs: sets of CPUs, ticks and interrupts.
#![cfg(feature = "std")]

use linefill::os::health::{Observed, State};

use super::health::{assert_check, check, quiet};
use crate::common::machine::Machine;

#[test]
fn isolation_is_read_from_sysfs_or_the_command_line() {
    let server = Machine::recorded("intel-sapphire-rapids");
    let one = check(&server, 9, &quiet(), "isolated CPU");
    assert_check(&one, State::Warn, "isolcpus=2-7,18-23, not CPU 9", "--cpu 2");

    let line = "proc/cmdline = quiet isolcpus=nohz,domain,managed_irq,3-4 nohz_full=4";
    let old = Machine::empty().with(line);
    assert_check(&check(&old, 3, &quiet(), "isolated CPU"), State::Good, "isolcpus=3-4", "");
    assert_check(&check(&old, 4, &quiet(), "tickless CPU"), State::Good, "nohz_full=4", "");
    assert_check(&check(&old, 3, &quiet(), "tickless CPU"), State::Warn, "not CPU 3", "--cpu 4");

    let guest = Machine::recorded("vm-genoa");
    let one = check(&guest, 1, &quiet(), "isolated CPU");
    assert_check(&one, State::Warn, "names no CPU", "isolcpus=1 nohz_full=1");
    let null = Machine::recorded("malformed");
    assert_check(&check(&null, 1, &quiet(), "tickless CPU"), State::Warn, "names no CPU", "");
}

#[test]
fn interrupts_that_come_to_the_cpu_are_named() {
    let server = Machine::recorded("intel-sapphire-rapids");
    let good = check(&server, 2, &quiet(), "device interrupts");
    assert_check(&good, State::Good, "no device interrupts CPU 2", "");
    let one = check(&server, 8, &quiet(), "device interrupts");
    assert_check(&one, State::Warn, "interrupt 25 goes to CPU 8", "--isolated=8");
    // Without the file with the effective affinity, an interrupt may go to any allowed CPU.
    let both = server.with("proc/irq/26/smp_affinity_list = 8");
    let both = check(&both, 8, &quiet(), "device interrupts");
    assert_check(&both, State::Warn, "interrupts 25-26 go to CPU 8", "irqaffinity=");
}

#[test]
fn a_cpu_in_a_partition_is_isolated() {
    let guest = Machine::recorded("vm-genoa");
    let before = check(&guest, 1, &quiet(), "isolated CPU");
    assert_eq!(before.state, State::Warn, "{before:?}");
    let guest = guest.with("sys/fs/cgroup/cpuset.cpus.isolated = 1");
    let after = check(&guest, 1, &quiet(), "isolated CPU");
    assert_check(&after, State::Good, "cpuset partition", "");
}

#[test]
fn an_isolated_cpu_is_in_no_mask_and_can_be_had_all_the_same() {
    let server = Machine::recorded("intel-sapphire-rapids");
    let others = Observed { allowed: vec![0, 1], ..quiet() };
    let isolated = check(&server, 2, &others, "CPUs");
    assert_eq!(isolated.state, State::Good, "{isolated:?}");
    let outside = Observed { pinned: false, ..others.clone() };
    let outside = check(&server, 2, &outside, "CPUs");
    assert_check(&outside, State::Bad, "not allowed", "--cpu 0");
    let kept_away = check(&server, 9, &others, "CPUs");
    assert_check(&kept_away, State::Bad, "not allowed", "--cpu 0");
}
