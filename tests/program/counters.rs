//! `linefill counters`: counts software events live; refused and unknown names.
#![cfg(feature = "lab")]

use crate::common::cli::{Folder, Ran, assert_has};
use crate::common::software::refused;
use linefill::os::perf::probe;
use serde_json::Value;

/// First writes to pages: one page per operation.
const FIRST_TOUCH: [&str; 4] = ["--series", "first write", "--", "X3"];

fn counters(name: &str, options: &[&str]) -> Ran {
    let args = [&["counters", "--memory", "4MiB"], options, &FIRST_TOUCH].concat();
    Folder::new(name).run(&args)
}

#[test]
fn the_first_touch_of_a_page_is_one_page_fault_whatever_reading_costs() {
    if refused() {
        return;
    }
    let value = counters("counters-faults", &["-e", "page-faults", "--json"]).ok().json();
    let cases = value["cases"].as_array().unwrap();
    let of_4_kib = cases.iter().find(|case| case["x"] == 0.0);
    let counts = of_4_kib.unwrap()["counts"].as_array().unwrap();
    let [count] = &counts[..] else {
        panic!("one event was asked for: {counts:?}");
    };
    assert_eq!(count["event"], "page-faults");
    assert_eq!(count["unit"], "events per operation");
    assert_eq!((&count["lo"], &count["hi"]), (&1.0.into(), &1.0.into()));
    assert_eq!(count["multiplexed"], false);
}

/// Without the option, the events of row A6 would be measured by default.
#[test]
fn a_list_of_events_replaces_the_usual_one() {
    if refused() {
        return;
    }
    let events = |options: &[&str]| {
        let value = counters("counters-list", options).ok().json();
        let refused = value["refused"].as_array().unwrap().clone();
        let refused = refused.into_iter().map(|one| one["event"].clone());
        let counted = value["events"].as_array().unwrap().clone();
        counted.into_iter().chain(refused).collect::<Vec<Value>>()
    };
    let usual = events(&["--json"]);
    assert!(usual.len() > 4, "{usual:?}");
    for name in ["task-clock", "page-faults", "context-switches", "cpu-migrations"] {
        assert!(usual.contains(&name.into()), "{usual:?}");
    }
    let mine = events(&["--json", "--events", "minor-faults,task-clock"]);
    assert_eq!(mine, ["minor-faults", "task-clock"]);
}

#[test]
fn what_is_refused_says_why_and_the_others_are_counted() {
    if refused() {
        return;
    }
    let ran = counters("counters-refused", &["-e", "r01c2,page-faults"]).ok();
    assert!(ran.out.contains("page-faults"), "{}", ran.out);
    if let Err(refusal) = probe() {
        let line = format!("not counted: r01c2: {refusal} ({})", refusal.mend());
        // The line must not be wrapped at the width of the table.
        assert!(ran.out.contains(&line), "{}", ran.out);
        let nothing = counters("counters-nothing", &["-e", "r01c2"]);
        assert_eq!(nothing.status, Some(2));
        let why = format!("nothing to count: r01c2: {refusal}");
        assert!(nothing.err.contains(&why), "{}", nothing.err);
    }
}

#[test]
fn an_unknown_event_is_named_with_its_neighbours() {
    let ran = counters("counters-unknown", &["-e", "task-clock,page-fault"]);
    assert_eq!((ran.status, ran.out.as_str()), (Some(2), ""));
    assert_has(&ran.err, &["unknown event `page-fault`", "`page-faults`", "counters --list"]);
}

#[test]
fn a_series_that_nobody_has_is_named() {
    let folder = Folder::new("counters-series");
    let args = ["counters", "-e", "page-faults", "--series", "unheard of", "X3"];
    let ran = folder.run(&args);
    if refused() {
        return;
    }
    assert_eq!(ran.status, Some(2));
    assert!(ran.err.contains("`unheard of`"), "{}", ran.err);
    let ran = folder.run(&["counters"]);
    assert_eq!(ran.status, Some(2), "an experiment is wanted");
}

#[test]
fn the_list_of_names_is_what_is_accepted() {
    let ran = Folder::new("counters-names").run(&["counters", "--list"]).ok();
    let names: Vec<&str> = ran.out.lines().collect();
    assert_eq!(names[0], "task-clock");
    assert!(names.contains(&"L1-dcache-load-misses"));
}
