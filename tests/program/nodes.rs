//! Memory on a chosen NUMA node.
#![cfg(feature = "lab")]

use std::fs;
use std::path::Path;

use crate::common::cli::{Folder, Ran};
use crate::common::machine::Machine;
use crate::common::untested;
use linefill::experiment::State;

const SMALL: [&str; 2] = ["--memory", "64KiB"];

/// Whether this machine has node 0 and the kernel allows programs to choose it.
fn has_node_0() -> bool {
    if Path::new("/sys/devices/system/node/node0/meminfo").exists() {
        return true;
    }
    untested::machine("the kernel tells of no memory node 0");
    false
}

#[test]
fn a_run_on_a_node_says_so_in_record_report_and_points() {
    if !has_node_0() {
        return;
    }
    let folder = Folder::new("node");
    let ran = folder.run(&["run", "D14", SMALL[0], SMALL[1], "--node", "0"]);
    ran.ok();
    let record = folder.record();
    assert_eq!(record.header.node, Some(0));
    assert!(record.header.nodes.iter().any(|node| node.id == 0));
    let mut measured = 0;
    for line in record.of_experiment("D14") {
        if let State::Measured(of) = &line.point.state {
            assert!(of.pages.ends_with(", node 0"), "{}", of.pages);
            measured += 1;
        }
    }
    assert!(measured > 0);
    let report = fs::read_to_string(folder.at("linefill-out/report.html")).unwrap();
    assert!(report.contains("memory on") && report.contains("node 0"));
}

#[test]
fn a_run_without_a_node_says_nothing_of_nodes() {
    let folder = Folder::new("no-node");
    folder.run(&["run", "D14", SMALL[0], SMALL[1]]).ok();
    let record = folder.record();
    assert_eq!(record.header.node, None);
    for line in record.of_experiment("D14") {
        if let State::Measured(of) = &line.point.state {
            assert!(!of.pages.contains("node"), "{}", of.pages);
        }
    }
}

#[test]
fn a_node_that_there_is_not_is_refused_with_those_there_are() {
    let folder = Folder::new("which-node");
    let one = Machine::recorded("vm-genoa");
    let four = Machine::recorded("nps4-epyc");
    let with_cxl = Machine::recorded("cxl-memory");
    let on = |machine: &Machine, args: &[&str]| {
        let mut command = folder.linefill(args);
        let root = machine.root().sys;
        Ran::of(command.env("LINEFILL_ROOT", root.parent().unwrap()))
    };
    for args in [&["run", "D14", "--node", "3"][..], &["time", "--asm", "nop", "--node", "3"]] {
        on(&one, args).refused(&["no node 3: this machine has node 0"]);
    }
    let ran = on(&four, &["run", "D14", "--node", "9"]);
    ran.refused(&["no node 9: this machine has nodes 0, 1, 2 and 3"]);
    let ran = on(&with_cxl, &["run", "D14", "--node", "3"]);
    ran.refused(&["node 3 has CPUs and no memory: nodes 0, 1 and 2 can have it"]);
    folder
        .run(&["run", "D14", "--node", "near"])
        .refused(&["near", "a NUMA node is a whole number from 0"]);
}
