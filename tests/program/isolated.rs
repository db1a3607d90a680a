//! Cases in which `run --isolated` must refuse. The tests do not depend on whether this machine supports it.
#![cfg(feature = "lab")]

use std::fs;

use crate::common::cli::{Folder, Ran, assert_has};
use linefill::os::allowed;

#[test]
fn what_is_missing_is_named_with_its_remedy_and_nothing_is_measured() {
    let folder = Folder::new("isolated");
    let mut command = folder.linefill(&["run", "X15", "--isolated=0"]);
    let ran = Ran::of(command.env("LINEFILL_ROOT", folder.at("nowhere")));
    ran.refused(&[
        "CPU 0 is not isolated",
        "isolated CPU:",
        "cgroup v2 is not mounted",
        "tickless CPU:",
        "isolcpus=0 nohz_full=0 rcu_nocbs=0",
    ]);
    assert!(!folder.at("linefill-out").exists());
}

#[test]
fn two_cpus_to_measure_on_are_refused() {
    let folder = Folder::new("isolated-twice");
    let ran = folder.run(&["run", "X15", "--cpu", "0", "--isolated=1"]);
    ran.refused(&["--cpu 0", "--isolated=1"]);
    let ran = folder.run(&["run", "X15", "--isolated=X15"]);
    ran.refused(&["X15", "--isolated"]);
}

/// As in a container whose cpuset lacks the CPUs that the host isolates.
#[test]
fn an_isolated_cpu_outside_the_cpuset_is_not_measured_on() {
    let folder = Folder::new("isolated-outside");
    let cpus = folder.at("root/sys/devices/system/cpu");
    fs::create_dir_all(&cpus).unwrap();
    // No machine has the last CPU that a mask can hold.
    fs::write(cpus.join("online"), "0-8191").unwrap();
    fs::write(cpus.join("isolated"), "8191").unwrap();
    let ran = |args: &[&str]| {
        let mut command = folder.linefill(args);
        Ran::of(command.env("LINEFILL_ROOT", folder.at("root")))
    };
    let used = *allowed().last().unwrap();
    let doctor = ran(&["doctor"]).answered().out;
    assert_has(&doctor, &[&format!("Measuring on CPU {used}:")]);
    ran(&["run", "X15", "--isolated"]).refused(&[&format!("CPU {used} is not isolated")]);
}
