//! `linefill compare`: records side by side, gates, and their exit status.
#![cfg(feature = "lab")]

use std::fs;

use crate::common::cli::{Folder, PLANTED, assert_has};
use linefill::lab::record::Line;

/// Writes the planted record after `change` has edited each line.
fn plant(folder: &Folder, name: &str, change: impl Fn(&mut Line)) {
    let mut text = String::new();
    for line in PLANTED.lines() {
        let mut line: Line = serde_json::from_str(line).unwrap();
        change(&mut line);
        text += &serde_json::to_string(&line).unwrap();
        text.push('\n');
    }
    fs::write(folder.at(name), text).unwrap();
}

/// Makes the points of an experiment slower by `factor`, for x of `from` bytes or more.
fn slower(line: &mut Line, experiment: &str, from: f64, factor: f64) {
    let Line::Point(line) = line else { return };
    let (of, x) = (&line.experiment, line.point.x);
    if let Some(measured) = line.point.measured_mut()
        && of == experiment
        && x >= from
    {
        let ticks = &mut measured.ticks;
        ticks.median *= factor;
        ticks.min *= factor;
        ticks.interval = ticks.interval.scaled(factor);
    }
}

/// Two records: in the second, D15 takes 20 % longer for working sets of 1 MiB or more.
fn two(name: &str) -> Folder {
    let folder = Folder::new(name);
    plant(&folder, "before.jsonl", |_| {});
    plant(&folder, "after.jsonl", |line| {
        slower(line, "D15", 1_048_576.0, 1.2);
    });
    folder
}

/// The page without scripts.
fn markup(page: &str) -> String {
    let mut parts = page.split("<script");
    let first = parts.next().unwrap().to_owned();
    let after = |part: &str| part.split_once("</script>").unwrap().1.to_owned();
    first + &parts.map(after).collect::<String>()
}

const RECORDS: [&str; 3] = ["compare", "before.jsonl", "after.jsonl"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    RECORDS.iter().chain(more).copied().collect()
}

#[test]
fn the_page_has_the_curves_the_machines_and_the_verdicts_of_both() {
    let folder = two("compare-page");
    let ran = folder.run(&RECORDS).ok();
    assert!(ran.out.contains("after over before"), "{}", ran.out);
    assert!(ran.out.contains("slower"), "{}", ran.out);
    assert!(ran.out.contains("page: compare.html"), "{}", ran.out);
    let page = fs::read_to_string(folder.at("compare.html")).unwrap();
    assert_has(
        &page,
        &[
            "<title>linefill: before, after</title>",
            "after beside before",
            "D15-title",
            "time-stamp counter",
            "1.200",
        ],
    );
    // On a phone the contents come last.
    assert!(page.find("<main>") < page.find("<nav class=\"contents\""));
    // The planted machine's name looks like markup and must be escaped. The page must not load anything.
    let markup = markup(&page);
    assert!(markup.contains("Planted &lt;CPU&gt; &amp; Co"));
    assert!(!markup.contains("<CPU>") && !markup.contains("://"));
}

#[test]
fn a_gate_fails_with_1_and_names_the_points() {
    let folder = two("compare-gate");
    let failed = folder.run(&with(&["--fail-if", "walk/* > 1.05"]));
    assert_eq!(failed.status, Some(1), "{failed:?}");
    assert!(failed.err.contains("gate `walk/* > 1.05` failed"), "{failed:?}");
    assert!(failed.err.contains("after: D15 NPAD="), "{failed:?}");
    assert!(!failed.err.contains("D14"), "{failed:?}");
    // A slower side does not trip a gate for a lower limit.
    folder.run(&with(&["--fail-if", "walk/* < 0.95"])).ok();
    // With the sides swapped, the other side is faster.
    let swapped = ["compare", "after.jsonl", "before.jsonl", "--fail-if"];
    let gate = |gate| swapped.iter().copied().chain([gate]).collect::<Vec<_>>();
    folder.run(&gate("walk/* > 1.05")).ok();
    assert_eq!(folder.run(&gate("walk/* < 0.95")).status, Some(1));
}

#[test]
fn a_gate_looks_at_what_it_names_alone() {
    let folder = two("compare-names");
    let status = |gate: &str| folder.run(&with(&["--fail-if", gate])).status;
    assert_eq!(status("sequential/D15 > 1.05"), Some(1));
    assert_eq!(status("sequential/D14 > 1.05"), Some(0));
    assert_eq!(status("D15 > 1.05"), Some(1));
    assert_eq!(status("d15 > 1.05"), Some(1));
    assert_eq!(status("drepper-fig-3.11 > 1.05"), Some(1));
    assert_eq!(status("*/D15/NPAD=7 > 1.05"), Some(1));
    assert_eq!(status("machine > 1.05"), Some(0));
    // The limit is above the difference, or within its interval.
    assert_eq!(status("D15 > 1.3"), Some(0));
    // One failing gate is enough.
    let both = with(&["--fail-if", "D14 > 1.05", "--fail-if", "D15 > 1.05"]);
    assert_eq!(folder.run(&both).status, Some(1));
}

#[test]
fn a_ratio_whose_interval_reaches_the_limit_does_not_fail() {
    let folder = Folder::new("compare-noise");
    plant(&folder, "before.jsonl", |_| {});
    plant(&folder, "after.jsonl", |line| {
        slower(line, "D15", 0.0, 1.2);
        if let Line::Point(point) = line
            && let Some(measured) = point.point.measured_mut()
        {
            measured.ticks.interval.lo *= 0.7;
            measured.ticks.min = measured.ticks.interval.lo;
        }
    });
    folder.run(&with(&["--fail-if", "D15 > 1.05"])).ok();
}

#[test]
fn a_gate_that_cannot_be_read_is_refused_by_its_part() {
    let folder = two("compare-refused");
    for (gate, says) in [
        ("walk/* 1.05", "`walk/* 1.05` has neither `>` nor `<`"),
        ("walk/* > fast", "`fast` is not a ratio"),
        ("walk/* > -1", "`-1` is not a ratio"),
        ("walk/* > 0", "`0` is not a ratio"),
        ("walk/* > inf", "`inf` is not a ratio"),
        ("> 1.05", "a part of the pattern `` is empty"),
        ("walk//x > 1.05", "a part of the pattern `walk//x` is empty"),
        ("[ > 1.05", "`[` is not a valid glob"),
        ("wlak/* > 1.05", "`wlak` is neither a family nor an experiment; did you mean `walk`?"),
        ("sequental > 1.05", "did you mean `sequential`?"),
        ("walk/D144 > 1.05", "`D144` is not an experiment; did you mean `D14`?"),
        ("walk/*/NPAD=8 > 1.05", "no point that the records share matches"),
        ("E18 > 1.05", "no point that the records share matches"),
    ] {
        folder.run(&with(&["--fail-if", gate])).refused(&["--fail-if", says]);
    }
}

#[test]
fn a_gate_on_values_of_zero_is_refused_for_that_reason() {
    let folder = Folder::new("compare-zero");
    for name in ["before.jsonl", "after.jsonl"] {
        plant(&folder, name, |line| slower(line, "D15", 0.0, 0.0));
    }
    folder
        .run(&with(&["--fail-if", "D15 > 1.05"]))
        .refused(&["`D15 > 1.05` matches only `D15`", "may be zero"]);
}

#[test]
fn what_is_no_record_is_refused() {
    let folder = two("compare-no-record");
    fs::write(folder.at("text.jsonl"), "hello\n").unwrap();
    folder
        .run(&["compare", "before.jsonl", "text.jsonl"])
        .refused(&["text.jsonl", "not a record of linefill"]);
    folder.run(&["compare", "before.jsonl", "gone.jsonl"]).refused(&["gone.jsonl"]);
    assert_eq!(folder.run(&["compare", "before.jsonl"]).status, Some(2));
    assert!(!folder.at("compare.html").exists());
}

#[test]
fn records_without_a_common_point_are_refused() {
    let folder = Folder::new("compare-nothing");
    plant(&folder, "before.jsonl", |_| {});
    plant(&folder, "after.jsonl", |line| {
        if let Line::Point(point) = line {
            point.point.x += 1.0;
        }
    });
    folder.run(&RECORDS).refused(&["before and after have no point in common"]);
}

#[test]
fn json_has_every_point_and_every_gate() {
    let folder = two("compare-json");
    let ran = folder.run(&with(&["--json", "--fail-if", "D15 > 1.05"]));
    assert_eq!(ran.status, Some(1));
    assert!(!folder.at("compare.html").exists());
    let json = ran.json();
    assert_eq!(json["records"][1]["name"], "after");
    assert_eq!(json["gates"][0]["passed"], false);
    let differences = json["differences"].as_array().unwrap();
    let of = |id: &str| {
        let mut found = differences.iter().filter(|of| of["experiment"] == id);
        found.next().unwrap()["points"].as_array().unwrap().clone()
    };
    let last = |id: &str| of(id).last().unwrap()["ratio"][1].as_f64().unwrap();
    assert!((last("D15") - 1.2).abs() < 1e-9);
    assert_eq!(last("D14"), 1.0);
}

#[test]
fn several_records_and_folders_of_runs_are_held_against_the_first() {
    let folder = two("compare-three");
    let runs = folder.at("runs/before");
    fs::create_dir_all(&runs).unwrap();
    fs::copy(folder.at("before.jsonl"), runs.join("record.jsonl")).unwrap();
    let args = ["compare", "before.jsonl", "after.jsonl", "runs/before"];
    let ran = folder.run(&args).ok();
    assert!(ran.out.contains("after over before"), "{}", ran.out);
    assert!(ran.out.contains("before #2 over before"), "{}", ran.out);
}

#[test]
fn labels_name_the_records_and_the_largest_effect_comes_first() {
    let folder = two("compare-labels");
    let ran = folder.run(&with(&["--label", "old", "--label", "new"])).ok();
    assert!(ran.out.contains("new over old"), "{}", ran.out);
    let row = |id: &str| ran.out.find(&format!("\n {id} ")).expect(id);
    assert!(row("D15") < row("D14"), "{}", ran.out);
    let page = fs::read_to_string(folder.at("compare.html")).unwrap();
    assert!(page.contains("<title>linefill: old, new</title>"));
    folder
        .run(&with(&["--label", "a", "--label", "a"]))
        .refused(&["--label", "`a` names two records"]);
    // The default name of a later record.
    folder.run(&with(&["--label", "after"])).refused(&["--label", "`after` names two records"]);
    let three = ["--label", "a", "--label", "b", "--label", "c"];
    folder.run(&with(&three)).refused(&["3 labels for 2 records"]);
}

#[test]
fn machines_that_differ_name_their_records() {
    let folder = Folder::new("compare-machines");
    plant(&folder, "before.jsonl", |_| {});
    plant(&folder, "after.jsonl", |line| {
        if let Line::Header(header) = line {
            header.cpu.core = Some("Zen 5".to_owned());
        }
    });
    let ran = folder.run(&RECORDS).ok();
    assert!(ran.out.contains("Zen 5, KVM over Zen 4, KVM"), "{}", ran.out);
}

/// The output of the boot image: comments around the record, and only the ladder.
#[test]
fn a_record_of_the_boot_image_is_compared_by_its_ladder() {
    let folder = two("compare-bare");
    let mut text = String::from("# linefill, bare\n");
    for line in PLANTED.lines() {
        if line.contains("\"kind\":\"header\"") || line.contains("\"experiment\":\"machine\"") {
            text += line;
            text.push('\n');
        }
    }
    fs::write(folder.at("serial.txt"), text).unwrap();
    let ran = folder.run(&["compare", "before.jsonl", "serial.txt"]).ok();
    assert!(ran.out.contains("serial over before"), "{}", ran.out);
    assert!(ran.out.contains("A random walk, one line per element"), "{}", ran.out);
}
