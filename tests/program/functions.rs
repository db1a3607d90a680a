//! `linefill compare` for the user's own functions: Criterion's folders, and lines of kind `function`.
#![cfg(feature = "lab")]

use std::fs;
use std::path::Path;

use crate::common::cli::{Folder, assert_has};
use linefill::measure::FunctionLine;
use linefill::stats::Interval;
use serde_json::json;

/// Writes a benchmark in Criterion's format, with the median in the middle of its interval.
fn plant(folder: &Path, id: &str, baseline: &str, [lo, hi]: [f64; 2]) {
    plant_median(folder, id, baseline, [lo, f64::midpoint(lo, hi), hi]);
}

/// Writes a benchmark: its median with the interval of that, and other, misleading intervals.
fn plant_median(folder: &Path, id: &str, baseline: &str, [lo, median, hi]: [f64; 3]) {
    let dir = folder.join(id).join(baseline);
    fs::create_dir_all(&dir).unwrap();
    let estimate = |lo: f64, value: f64, hi: f64| {
        let confidence = json!({ "confidence_level": 0.95, "lower_bound": lo, "upper_bound": hi });
        json!({ "confidence_interval": confidence, "point_estimate": value, "standard_error": 0.1 })
    };
    let estimates = json!({
        "mean": estimate(1e6, 1.5e6, 2e6),
        "median": estimate(lo, median, hi),
        "median_abs_dev": estimate(0.0, 0.5, 1.0),
        "slope": null,
        "std_dev": estimate(0.0, 0.5, 1.0),
    });
    fs::write(dir.join("estimates.json"), estimates.to_string()).unwrap();
    let benchmark = json!({ "group_id": id, "function_id": null, "full_id": id, "title": id });
    fs::write(dir.join("benchmark.json"), benchmark.to_string()).unwrap();
}

#[test]
fn the_median_need_not_lie_in_the_middle_of_its_interval() {
    let folder = Folder::new("functions-median");
    let at = folder.at("criterion");
    plant(&at, "skewed", "base", [100.0, 100.0]);
    plant_median(&at, "skewed", "new", [110.0, 110.0, 130.0]);
    let value = folder.run(&["compare", "criterion", "--json"]).ok().json();
    let of = &value["functions"][0];
    assert_eq!(of["other"], json!([110.0, 110.0, 130.0]));
    assert_eq!(of["ratio"][1], 1.1);
    let text = folder.run(&["compare", "criterion"]).ok().out;
    // Criterion does not store what it measured.
    assert!(text.contains("110 [110, 130] "), "{text}");
    assert!(!text.contains("ns"), "{text}");
    assert_eq!(of["unit"], "");
}

/// Benchmarks: one became slower, one faster, and one shows no change.
fn planted(name: &str) -> Folder {
    let folder = Folder::new(name);
    let at = folder.at("criterion");
    for (baseline, slower, faster, same) in [
        ("base", [99.0, 101.0], [400.0, 410.0], [50.0, 60.0]),
        ("new", [149.0, 151.0], [100.0, 102.0], [52.0, 62.0]),
        ("main", [150.0, 150.0], [100.0, 102.0], [52.0, 62.0]),
    ] {
        plant(&at, "parse/slower", baseline, slower);
        plant(&at, "parse/faster", baseline, faster);
        plant(&at, "same", baseline, same);
    }
    plant(&at, "gone", "base", [1.0, 1.0]);
    plant(&at, "fresh", "new", [1.0, 1.0]);
    // Other files that Criterion writes next to the benchmarks.
    fs::create_dir_all(at.join("parse/report")).unwrap();
    fs::create_dir_all(at.join("same/change")).unwrap();
    fs::write(at.join("same/change/estimates.json"), "{}").unwrap();
    folder
}

#[test]
fn the_last_run_is_held_against_the_baseline() {
    let folder = planted("functions-base");
    let value = folder.run(&["compare", "criterion", "--json"]).ok().json();
    let functions = value["functions"].as_array().unwrap();
    let names: Vec<&str> = functions.iter().map(|of| of["function"].as_str().unwrap()).collect();
    assert_eq!(names, ["parse/faster", "parse/slower", "same"], "the largest effect first");
    let ratio = |place: usize, end: usize| functions[place]["ratio"][end].as_f64().unwrap();
    assert!((ratio(1, 1) - 1.5).abs() < 1e-9);
    assert!(1.45 < ratio(1, 0) && ratio(1, 2) < 1.55, "{functions:?}");
    assert!(ratio(2, 0) < 1.0 && 1.0 < ratio(2, 2), "{functions:?}");
    assert_eq!(value["alone"], json!([["gone"], ["fresh"]]));
    let text = folder.run(&["compare", "criterion"]).ok().out;
    assert_has(
        &text,
        &[
            "new over base",
            "1.50x slower",
            "4.01x faster",
            "no difference shown",
            "only in base: gone",
        ],
    );
    let args = ["compare", "criterion", "--baseline", "main", "--json"];
    let value = folder.run(&args).ok().json();
    assert!(value["functions"].as_array().unwrap().iter().all(|of| {
        let ratio = |end: usize| of["ratio"][end].as_f64().unwrap();
        ratio(0) < 1.0 && 1.0 < ratio(2)
    }));
}

#[test]
fn gates_fail_beyond_doubt_alone() {
    let folder = planted("functions-gates");
    let gate = |gate: &str| folder.run(&["compare", "criterion", "--fail-if", gate]);
    let failed = gate("parse/* > 1.05");
    assert_eq!(failed.status, Some(1), "{failed:#?}");
    assert!(failed.err.contains("1 of 2 functions above 1.05"), "{failed:#?}");
    assert!(failed.err.contains("parse/slower: 1.500"), "{failed:#?}");
    gate("parse/slower > 1.6").ok();
    gate("same > 1.01").ok();
    assert_eq!(gate("parse/faster < 0.5").status, Some(1));
    gate("nothing > 1.05").refused(&["no function that both have matches `nothing > 1.05`"]);
    gate("parse/*").refused(&["neither `>` nor `<`"]);
    gate("parse/* > fast").refused(&["`fast` is not a ratio"]);
}

#[test]
fn a_function_without_a_ratio_fails_where_no_zero_matters_or_is_named() {
    let folder = Folder::new("functions-zero");
    let at = folder.at("criterion");
    for (baseline, slower, unclear) in
        [("base", [0.0, 1.0], [0.0, 1.0]), ("new", [9.0, 10.0], [0.0, 9.0])]
    {
        plant(&at, "slower", baseline, slower);
        plant(&at, "unclear", baseline, unclear);
    }
    let gate = |gate: &str| folder.run(&["compare", "criterion", "--fail-if", gate]);
    let failed = gate("* > 1.05");
    assert_eq!(failed.status, Some(1), "{failed:#?}");
    assert_has(&failed.err, &["1 of 1 functions above 1.05", "slower: ", "may be zero: unclear"]);
    gate("unclear > 1.05").refused(&["only `unclear`", "may be zero"]);
    plant(&at, "same", "base", [50.0, 60.0]);
    plant(&at, "same", "new", [50.0, 60.0]);
    let passed = gate("* > 20").ok();
    assert_has(&passed.err, &["passed: 1 function\n", "unclear"]);
}

#[test]
fn lines_of_functions_are_compared_by_cycles_where_both_have_them() {
    let folder = Folder::new("functions-lines");
    let line = |name, nanoseconds, cycles| FunctionLine { name, nanoseconds, cycles };
    let exact = Interval::exact;
    let odd = "a \"name\"\n\\";
    let before =
        [line("walk", exact(10.0), Some(exact(40.0))), line(odd, exact(5.0), Some(exact(20.0)))];
    // The clock frequency fell to half, and one benchmark has no yardstick.
    let now = [line("walk", exact(20.0), Some(exact(40.0))), line(odd, exact(10.0), None)];
    let text =
        |lines: [FunctionLine<'_>; 2]| lines.map(|line| format!("running\n  {line}\n")).concat();
    fs::write(folder.at("before.txt"), text(before)).unwrap();
    fs::write(folder.at("now.txt"), text(now)).unwrap();
    let value = folder.run(&["compare", "before.txt", "now.txt", "--json"]).ok().json();
    let functions = value["functions"].as_array().unwrap();
    assert_eq!((&functions[0]["function"], &functions[0]["unit"]), (&odd.into(), &"ns".into()));
    assert_eq!(functions[0]["ratio"][1], 2.0);
    assert_eq!((&functions[1]["unit"], &functions[1]["ratio"][1]), (&"cycles".into(), &1.0.into()));
    // Other programs write spaces between the parts of JSON.
    let spaced = r#"{ "name": "walk", "nanoseconds": [30, 30, 30], "kind": "function" }"#;
    fs::write(folder.at("spaced.txt"), spaced).unwrap();
    let gate = ["--fail-if", "walk > 1.05"];
    let ran = folder.run(&[&["compare", "before.txt", "spaced.txt"][..], &gate].concat());
    assert_eq!(ran.status, Some(1), "{ran:?}");
}

#[test]
fn what_cannot_be_compared_is_named() {
    let folder = planted("functions-refused");
    let compare = |args: &[&str]| folder.run(&[&["compare"], args].concat());
    fs::write(folder.at("one.txt"), "{\"kind\":\"function\",\"name\":\"a\",\"nanoseconds\":[1,2]}")
        .unwrap();
    compare(&["one.txt", "one.txt"]).refused(&["one.txt, line 1"]);
    fs::write(
        folder.at("bad.txt"),
        "{\"kind\":\"function\",\"name\":\"a\",\"nanoseconds\":[3,2,1]}",
    )
    .unwrap();
    compare(&["bad.txt", "bad.txt"]).refused(&["bad.txt, line 1", "no interval of a time: [3, 1]"]);
    let twice = FunctionLine { name: "f", nanoseconds: Interval::exact(1.0), cycles: None };
    fs::write(folder.at("twice.txt"), format!("{twice}\n{twice}\n")).unwrap();
    compare(&["twice.txt", "twice.txt"]).refused(&["twice.txt: `f` is there twice"]);
    fs::write(folder.at("f.txt"), twice.to_string()).unwrap();
    compare(&["f.txt", "criterion"]).refused(&["no function in common"]);
    compare(&["f.txt"]).refused(&["f.txt", "two records or more"]);
    compare(&["criterion", "--baseline", "old"]).refused(&["`old` and `new`"]);
    compare(&["criterion", "criterion", "--baseline", "old"]).refused(&["--baseline old"]);
    compare(&["criterion", "--out", "page.html"]).refused(&["functions have no page"]);
    compare(&["criterion", "nothing.jsonl"]).refused(&["nothing.jsonl"]);
    compare(&["f.txt", "f.txt", "f.txt"]).refused(&["two by two", "3"]);
    let damaged = folder.at("criterion/same/new/estimates.json");
    fs::write(&damaged, "{\"median\":").unwrap();
    compare(&["criterion"]).refused(&["criterion/same/new/estimates.json"]);
}
