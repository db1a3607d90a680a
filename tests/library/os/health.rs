//! The findings of `doctor` on recorded machines with planted observations.
#![cfg(feature = "std")]

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use crate::common::machine::Machine;
use linefill::cpu::PrefetchSwitches;
use linefill::os::Root;
use linefill::os::health::{Check, Observed, State, examine, judge};
use linefill::os::perf::Refusal;

/// Two switches of prefetchers in a register, enough for the tests.
const INTEL: PrefetchSwitches =
    PrefetchSwitches { register: 0x1A4, bits: &[(0, "L2 streamer"), (2, "L1 data next line")] };
pub const AMD: PrefetchSwitches =
    PrefetchSwitches { register: 0xC000_0108, bits: &[(0, "L1 stream"), (5, "L2 up/down")] };

/// An idle Intel machine with a PMU and without a hypervisor.
pub fn quiet() -> Observed {
    Observed {
        switches: Some(INTEL),
        hypervisor: None,
        invariant_tsc: true,
        allowed: Vec::new(),
        pinned: true,
        locked_memory: Some(8 << 20),
        pmu: Ok(()),
        software_events: Ok(()),
        stat: stat(&[("cpu", 0, 0), ("cpu2", 0, 0), ("cpu18", 0, 0)]),
        shared_percent: None,
    }
}

/// Two readings of `/proc/stat`, 20 ticks apart, from the busy and stolen ticks of each line.
fn stat(lines: &[(&str, u64, u64)]) -> Result<(String, String), linefill::os::Unreadable> {
    let text = |scale: u64| {
        let line = |(name, busy, steal): &(&str, u64, u64)| {
            let idle = 20 * scale - scale * (busy + steal);
            format!("{name} {} 0 0 {idle} 0 0 0 {} 0 0\n", scale * busy, scale * steal)
        };
        lines.iter().map(line).collect::<String>()
    };
    Ok((text(1), text(2)))
}

fn find(checks: &[Check], name: &str) -> Check {
    checks.iter().find(|check| check.name == name).unwrap_or_else(|| panic!("no {name}")).clone()
}

/// The check `name` on a recorded machine.
pub fn check(machine: &Machine, cpu: usize, observed: &Observed, name: &str) -> Check {
    find(&judge(&machine.root(), cpu, observed), name)
}

#[track_caller]
pub fn assert_check(check: &Check, state: State, found: &str, mend: &str) {
    assert_eq!(check.state, state, "{check:?}");
    assert!(check.found.contains(found), "{found:?} in {check:?}");
    assert!(check.mend.contains(mend), "{mend:?} in {check:?}");
}

pub fn msr(machine: &Machine, cpu: usize, register: u64, value: u64) {
    let dir = machine.root().dev.join(format!("cpu/{cpu}"));
    fs::create_dir_all(&dir).unwrap();
    let file = File::create(dir.join("msr")).unwrap();
    file.write_all_at(&value.to_le_bytes(), register).unwrap();
}

#[test]
fn a_machine_set_up_for_measuring_is_good_throughout() {
    let machine = Machine::recorded("intel-sapphire-rapids");
    msr(&machine, 2, 0x1A4, 0);
    for check in judge(&machine.root(), 2, &quiet()) {
        assert_eq!(check.state, State::Good, "{check:?}");
        assert!(check.mend.is_empty(), "{check:?}");
        assert!(!check.found.is_empty() && !check.why.is_empty(), "{check:?}");
    }
}

#[test]
fn whatever_is_not_good_has_a_mend() {
    let absent = Machine::empty();
    let malformed = Machine::recorded("malformed");
    let desktop = Machine::recorded("amd-zen2-two-ccx");
    for machine in [absent, malformed, desktop] {
        for observed in [quiet(), loaded()] {
            for check in judge(&machine.root(), 0, &observed) {
                assert_eq!(check.mend.is_empty(), check.state == State::Good, "{check:?}");
                assert!(!check.found.is_empty(), "{check:?}");
            }
        }
    }
}

/// A busy guest on an overcommitted host.
fn loaded() -> Observed {
    Observed {
        switches: None,
        hypervisor: Some("KVM".into()),
        invariant_tsc: false,
        allowed: vec![1, 2],
        pinned: true,
        locked_memory: None,
        pmu: Err(Refusal::NoPmu),
        software_events: Err(Refusal::Sandbox),
        stat: stat(&[("cpu", 8, 2), ("cpu0", 10, 4), ("cpu8", 5, 0)]),
        shared_percent: None,
    }
}

#[test]
fn a_machine_without_files_is_unknown_and_not_a_panic() {
    let machine = Machine::empty();
    let checks = judge(&machine.root(), 0, &quiet());
    for name in [
        "CPUs",
        "isolated CPU",
        "tickless CPU",
        "device interrupts",
        "SMT sibling",
        "frequency governor",
        "turbo",
        "time-stamp counter",
        "memory",
        "transparent huge pages",
        "hugetlb pool",
        "locked memory",
        "perf_event_paranoid",
        "prefetchers",
    ] {
        assert_eq!(find(&checks, name).state, State::Unknown, "{name}");
    }
}

#[test]
fn the_chosen_cpu_must_be_online_and_allowed() {
    let machine = Machine::recorded("vm-genoa");
    let one = check(&machine, 7, &quiet(), "CPUs");
    assert_check(&one, State::Bad, "CPU 7 is not online; online are 0-1", "--cpu 0");
    let observed = Observed { allowed: vec![1], ..quiet() };
    let one = check(&machine, 0, &observed, "CPUs");
    assert_check(&one, State::Bad, "CPU 0 is not allowed", "--cpu 1");
    let one = check(&machine, 1, &observed, "CPUs");
    let only = "CPU 1 is the only one that this process may use";
    assert_check(&one, State::Warn, only, "taskset -c 0-1");
    let single = machine.with("sys/devices/system/cpu/online = 0");
    assert_check(&check(&single, 0, &quiet(), "CPUs"), State::Warn, "the only one", "second");
}

#[test]
fn load_is_graded() {
    let machine = Machine::recorded("vm-genoa");
    for (busy, state) in [(0, State::Good), (1, State::Good), (2, State::Warn), (8, State::Bad)] {
        let observed = Observed { stat: stat(&[("cpu", busy, 0), ("cpu1", busy, 0)]), ..quiet() };
        let one = check(&machine, 1, &observed, "load of the CPU");
        assert_check(&one, state, &format!("{}.0 %", busy * 5), "");
        let all = check(&machine, 1, &observed, "load of the machine");
        assert_check(&all, state, "load average 0.33", "");
    }
    let still = Observed {
        stat: Ok(("cpu1 1 1 1 1 1 1 1 1".into(), "cpu1 1 1 1 1 1 1 1 1".into())),
        ..quiet()
    };
    let one = check(&machine, 1, &still, "load of the CPU");
    assert_check(&one, State::Unknown, "no tick", "top");
}

#[test]
fn a_busy_sibling_is_bad_and_a_hidden_one_unknown() {
    let machine = Machine::recorded("amd-zen2-two-ccx");
    let idle = Observed { stat: stat(&[("cpu8", 0, 0)]), ..quiet() };
    assert_check(&check(&machine, 0, &idle, "SMT sibling"), State::Good, "CPU 8 shares", "");
    let busy = Observed { stat: stat(&[("cpu8", 10, 0)]), ..quiet() };
    let one = check(&machine, 0, &busy, "SMT sibling");
    assert_check(&one, State::Bad, "50.0 % busy", "keep CPU 8 free");

    let guest = Machine::recorded("vm-genoa");
    let hidden = Observed { hypervisor: Some("KVM".into()), ..quiet() };
    let one = check(&guest, 0, &hidden, "SMT sibling");
    assert_check(&one, State::Unknown, "shows no sibling", "whole cores");
    assert_check(&check(&guest, 0, &quiet(), "SMT sibling"), State::Good, "to itself", "");
}

#[test]
fn a_hypervisor_is_named_and_its_theft_counted() {
    let machine = Machine::recorded("vm-genoa");
    let guest = |steal: (u64, u64)| {
        let line = |steal, idle| format!("cpu1 0 0 0 {idle} 0 0 0 {steal} 0 0\n");
        Observed {
            hypervisor: Some("KVM".into()),
            stat: Ok((line(steal.0, 100_000), line(steal.1, 100_020))),
            ..quiet()
        }
    };
    let one = check(&machine, 1, &guest((0, 0)), "hypervisor");
    assert_check(&one, State::Warn, "KVM", "bare machine");
    let one = check(&machine, 1, &guest((0, 0)), "steal time");
    assert_check(&one, State::Good, "0.0 % of CPU 1 now, 0.0 % since boot", "");
    let one = check(&machine, 1, &guest((500, 500)), "steal time");
    assert_check(&one, State::Warn, "0.5 % since boot", "vmstat");
    let one = check(&machine, 1, &guest((500, 505)), "steal time");
    assert_check(&one, State::Bad, "20.0 % of CPU 1 now", "vmstat");
}

#[test]
fn frequency_settings_have_commands() {
    let desktop = Machine::recorded("amd-zen2-two-ccx");
    let one = check(&desktop, 0, &quiet(), "frequency governor");
    assert_check(&one, State::Warn, "schedutil", "cpupower frequency-set -g performance");
    assert_check(&check(&desktop, 0, &quiet(), "turbo"), State::Warn, "on", "cpufreq/boost");
    let off = desktop.with("sys/devices/system/cpu/cpufreq/boost = 0");
    assert_check(&check(&off, 0, &quiet(), "turbo"), State::Good, "off", "");

    let intel = Machine::empty().with("sys/devices/system/cpu/intel_pstate/no_turbo = 0");
    assert_check(&check(&intel, 0, &quiet(), "turbo"), State::Warn, "on", "no_turbo");
    let odd = Machine::recorded("malformed");
    assert_check(&check(&odd, 0, &quiet(), "turbo"), State::Unknown, "maybe", "cpufreq/boost");
}

#[test]
fn the_clock_must_be_invariant_and_trusted() {
    let machine = Machine::recorded("vm-genoa");
    let name = "time-stamp counter";
    let variant = Observed { invariant_tsc: false, ..quiet() };
    assert_check(&check(&machine, 0, &variant, name), State::Bad, "no invariant", "+invtsc");
    let other =
        machine.with("sys/devices/system/clocksource/clocksource0/current_clocksource = kvm-clock");
    assert_check(&check(&other, 0, &quiet(), name), State::Warn, "is kvm-clock", "echo tsc");
    let unstable = Machine::recorded("amd-zen2-two-ccx");
    assert_check(&check(&unstable, 0, &quiet(), name), State::Bad, "hpet", "dmesg");
}

#[test]
fn memory_nodes_are_told_and_balancing_between_them_is_a_warning() {
    let name = "memory nodes";
    let sockets = Machine::recorded("two-sockets-128");
    let one = check(&sockets, 0, &quiet(), name);
    let found = "2: node 0 (CPUs 0-63,128-191, 377.7 GiB), node 1 (CPUs 64-127,192-255, 377.7 \
                 GiB); automatic balancing is on";
    assert_check(&one, State::Warn, found, "kernel.numa_balancing=0");
    let cxl = Machine::recorded("cxl-memory");
    let one = check(&cxl, 0, &quiet(), name);
    assert_check(&one, State::Good, "node 2 (no CPUs, 124.9 GiB)", "");
    assert_check(&one, State::Good, "node 3 (CPUs 8-11, no memory)", "");
    let none = check(&Machine::empty(), 0, &quiet(), name);
    assert_check(&none, State::Unknown, "node/online", "CONFIG_NUMA");
}

#[test]
fn memory_and_pages() {
    let desktop = Machine::recorded("amd-zen2-two-ccx");
    let one = |name| check(&desktop, 0, &quiet(), name);
    assert_check(&one("memory"), State::Warn, "1.0 GiB available of 15.6 GiB", "free -m");
    let name = "transparent huge pages";
    assert_check(&one(name), State::Warn, "never", "echo madvise");
    assert_check(&one("hugetlb pool"), State::Warn, "0 of 0", "vm.nr_hugepages");
    assert_check(&one("locked memory"), State::Warn, "8 MiB, with 2.0 GiB of swap", "ulimit -l");

    assert_check(&one("memory nodes"), State::Good, "1, node 0", "");

    let server = Machine::recorded("intel-sapphire-rapids");
    let one = check(&server, 2, &quiet(), "hugetlb pool");
    assert_check(&one, State::Good, "976 of 1024", "");
    let little = server.with("proc/meminfo = MemTotal: 1000000 kB\\nMemAvailable: 100000 kB");
    assert_check(&check(&little, 2, &quiet(), "memory"), State::Bad, "0.1 GiB", "container");
}

#[test]
fn a_container_has_what_its_group_leaves() {
    let two = Machine::recorded("vm-genoa").with(
        "proc/self/cgroup = 0::/outer/inner
         sys/fs/cgroup/outer/memory.max = 1610612736
         sys/fs/cgroup/outer/memory.current = 1073741824
         sys/fs/cgroup/outer/memory.stat = anon 1\\ninactive_file 536870912\\nactive_file 9
         sys/fs/cgroup/outer/inner/memory.max = max
         sys/fs/cgroup/outer/inner/memory.current = 1073741824",
    );
    assert_check(&check(&two, 0, &quiet(), "memory"), State::Warn, "1.0 GiB available", "");

    // In a container with version 1 of cgroups, the path of the group itself is not mounted.
    let one = Machine::recorded("vm-genoa").with(
        "proc/self/cgroup = 5:cpuset:/\\n4:memory:/docker/4711\\n0::/
         sys/fs/cgroup/memory/memory.limit_in_bytes = 419430400
         sys/fs/cgroup/memory/memory.usage_in_bytes = 209715200
         sys/fs/cgroup/memory/memory.stat = cache 5\\ntotal_inactive_file 0",
    );
    assert_check(&check(&one, 0, &quiet(), "memory"), State::Bad, "0.2 GiB available", "");
}

/// On the machine that runs the tests, whatever its settings.
#[test]
fn this_machine_is_examined_without_a_change() {
    let checks = examine(&Root::live(), 0);
    assert!(checks.len() >= 19);
    for check in checks {
        assert!(!check.found.is_empty() && !check.why.is_empty(), "{check:?}");
        assert_eq!(check.mend.is_empty(), check.state == State::Good, "{check:?}");
    }
}
