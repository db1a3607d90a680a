//! The machine sheet of a planted record: measured values next to those from CPUID and the kernel.
#![cfg(feature = "lab")]

use linefill::experiment::{Range, State};
use linefill::host::MemoryNode;
use linefill::infer::Found;
use linefill::lab::analysis::Analysis;
use linefill::lab::answer::ladder;
use linefill::lab::inferred::Reason;
use linefill::lab::sheet::Row;
use linefill::stats::Interval;

use super::records::planted;

#[test]
fn the_machine_sheet_sets_the_measured_beside_cpuid() {
    let record = planted();
    let sheet = Analysis::of(record).sheet();
    let row = |name: &str| sheet.iter().find(|row| row.name == name).unwrap();
    assert_eq!(row("L3").cpuid.as_deref(), Some("32 MiB, 16 ways, 32768 sets, lines of 64 B"));
    let measured = row("L3").measured.clone().expect("a measured size");
    assert!(["about 12 MiB", "about 14 MiB"].contains(&measured.as_str()), "{measured}");
    let step = row("random step in L1d").measured.clone().expect("a latency");
    assert!(step.starts_with("4.0 core cycles"), "{step}");
    assert_eq!(row("L4").kernel.as_deref(), Some("64 MiB"));
    assert_eq!(row("L4").cpuid, None);
    let stlb = row("STLB, pages of 4 KiB, 2 MiB").cpuid.as_deref();
    assert_eq!(stlb, Some("3072 entries, 12 ways"));
}

/// Without a third level, a working set beyond L2 is in memory.
#[test]
fn a_machine_without_a_last_level_has_no_step_in_it() {
    let record = planted();
    let mut analysis = Analysis::of(record);
    let steps = |analysis: &Analysis| {
        let sheet = analysis.sheet().into_iter();
        let steps = sheet.filter(|row| row.name == "random step in the last level");
        steps.count()
    };
    assert_eq!(steps(&analysis), 1);
    let last = &mut analysis.machine.ranges.capacities[2];
    (last.reported, last.measured) = (None, None);
    assert_eq!(steps(&analysis), 0);
}

/// The last level of CPUs with memory in the package.
#[test]
fn a_size_behind_l2_is_that_of_the_highest_level() {
    let mut record = planted();
    let mut fourth = record.header.cpu.caches[3].clone();
    (fourth.level, fourth.bytes) = (4, 64 << 20);
    record.header.cpu.caches.push(fourth);
    let analysis = Analysis::of(record);
    let sheet = analysis.sheet();
    let measured = |name: &str| {
        let row = sheet.iter().find(|row| row.name == name).unwrap();
        row.measured.as_deref()
    };
    assert_eq!(measured("L3"), None);
    assert!(measured("L4").is_some_and(|size| size.starts_with("about 1")));
    let view = linefill::lab::report::build(&analysis).expect("a report");
    let figures = view.sections.iter().filter_map(|of| of.figure.as_ref());
    let rules: Vec<&str> = figures.flat_map(|of| &of.rules).map(|of| of.label.as_str()).collect();
    assert!(rules.contains(&"L4") && !rules.contains(&"L3"), "{rules:?}");
}

#[test]
fn several_memory_nodes_have_a_row_each() {
    let mut record = planted();
    assert!(record.header.nodes.is_empty());
    let node = |id: usize, cpus: &[usize], memory| MemoryNode {
        id,
        cpus: cpus.to_vec(),
        distances: vec![10, 14],
        memory: Some(memory),
    };
    record.header.nodes = vec![node(0, &[0, 1, 2], 1 << 30), node(1, &[], 0)];
    let mut step = record.points[0].clone();
    step.experiment = "X19".to_owned();
    step.point.series = "0".to_owned();
    let ticks = 140.0 * record.header.tick_hz / 1e9;
    let State::Measured(measured) = &mut step.point.state else {
        panic!("{step:?}");
    };
    measured.ticks.interval = Interval::exact(ticks);
    measured.passes.clear();
    step.point.x = 0.0;
    record.points.push(step.clone());
    step.point.series = "read".to_owned();
    record.points.push(step);
    let rows = |record| Analysis::of(record).sheet();
    let sheet = rows(record.clone());
    let row = |name: &str| sheet.iter().find(|row| row.name == name).unwrap();
    let first = row("memory node 0");
    assert_eq!(first.measured.as_deref(), Some("random step in its memory: 140 ns from node 0"));
    let kernel = Some("CPUs 0-2, 1 GiB, distances 10 14");
    assert_eq!(first.kernel.as_deref(), kernel);
    let second = row("memory node 1");
    assert_eq!(second.measured, None);
    let kernel = Some("no CPUs, no memory, distances 10 14");
    assert_eq!(second.kernel.as_deref(), kernel);
    record.header.nodes.truncate(1);
    let named = |row: &Row| row.name.starts_with("memory node");
    assert!(!rows(record).iter().any(named));
}

#[test]
fn a_policy_of_l1d_that_most_curves_contradict_is_a_candidate() {
    let record = planted();
    let mut analysis = Analysis::of(record);
    let mut told = |confidence| {
        let value = vec!["tree-PLRU", "SRRIP"];
        analysis.inferred.policy = Some(Found { value, confidence });
        let sheet = analysis.sheet();
        let row = sheet.into_iter().find(|row| row.name == "L1d replacement policy");
        row.and_then(|row| row.measured).expect("a row")
    };
    assert_eq!(told(0.3), "not decided: best explained by tree-PLRU or SRRIP");
    assert_eq!(told(0.8), "tree-PLRU or SRRIP (80 % sure)");
}

#[test]
fn a_last_level_of_uncertain_size_has_a_range_as_on_the_first_screen() {
    const MIB: f64 = 1048576.0;
    let record = planted();
    let mut analysis = Analysis::of(record);
    analysis.uncertain = Some(Range { lo: 2.1 * MIB, hi: 16.2 * MIB });
    let sheet = analysis.sheet();
    let row = sheet.iter().find(|row| row.name == "L3").expect("a row");
    let measured = row.measured.as_deref().expect("a size");
    assert_eq!(measured, "2 to 16 MiB");
    assert!(row.differs.as_ref().is_some_and(|why| why.starts_with("smaller")));
    let level = &ladder(&analysis).levels[2];
    assert_eq!(level.size_text(), "2 to 16 MiB of 32 MiB");
    // A range that reaches the stated size does not differ from it, wherever the ladder's step lies.
    analysis.uncertain = Some(Range { lo: 2.1 * MIB, hi: 40.0 * MIB });
    let sheet = analysis.sheet();
    let row = sheet.iter().find(|row| row.name == "L3").expect("a row");
    assert_eq!((row.measured.as_deref(), &row.differs), (Some("2 to 32 MiB"), &None));
}

#[test]
fn the_sheet_says_what_l2_replaces_or_why_that_cannot_be_told() {
    let record = planted();
    let mut analysis = Analysis::of(record);
    assert_eq!(analysis.inferred.l2_policy, None);
    let mut told = |policy| {
        analysis.inferred.l2_policy = policy;
        let sheet = analysis.sheet();
        let row = sheet.into_iter().find(|row| row.name == "L2 replacement policy");
        row.and_then(|row| row.measured)
    };
    assert_eq!(told(None), None);
    let random = Found { value: "random", confidence: 0.8 };
    assert_eq!(told(Some(Ok(random))).as_deref(), Some("random (80 % sure)"));
    let doubtful = Found { value: "random", confidence: 0.3 };
    assert_eq!(told(Some(Ok(doubtful))).as_deref(), Some("not decided: best explained by random"));
    let reasons = [
        (Reason::SmallPages, "2 MiB pages were not granted"),
        (Reason::Hashed { lines: 512.0, room: 256.0 }, "a hash chooses the sets: 512 lines"),
        (Reason::Scattered, "lines 16 to 256 KiB apart"),
        (Reason::Unsized { period: 65536.0 }, "lines 64 KiB apart meet in sets"),
    ];
    for (reason, words) in reasons {
        let text = told(Some(Err(reason))).expect("a row");
        assert!(text.starts_with(&format!("not told: {words}")), "{text}");
    }
}
