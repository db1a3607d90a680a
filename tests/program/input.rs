//! Errors for unusable input: status 2, the value, and the accepted values.
#![cfg(feature = "lab")]

use std::fs;

use linefill::os::{allowed, pin};

use crate::common::cli::{Folder, PLANTED, Ran, program, words};
use crate::common::untested;

#[test]
fn an_unknown_id_is_answered_with_the_nearest() {
    let folder = Folder::new("unknown-id");
    folder.run(&["run", "D144"]).refused(&[
        "`D144`",
        "did you mean `D14` (drepper-fig-3.10)?",
        "linefill list",
    ]);
    folder.run(&["run", "D14", "Z*"]).refused(&["`Z*`"]);
    let nonsense = folder.run(&["list", "nonsense"]);
    assert!(!nonsense.err.contains("did you mean"), "{nonsense:?}");
    nonsense.refused(&["`nonsense`"]);
    assert!(!folder.at("linefill-out").exists());
}

#[test]
fn list_shows_the_whole_mission() {
    let folder = Folder::new("list");
    let ids = |args: &[&str]| {
        let args: Vec<&str> = args.iter().copied().chain(["--format", "json"]).collect();
        let json = folder.run(&args).ok().json();
        let rows = json["experiments"].as_array().unwrap().clone();
        let text = |row: &serde_json::Value, key: &str| row[key].as_str().unwrap().to_owned();
        let ids = rows.iter().map(|row| (text(row, "id"), text(row, "family")));
        ids.collect::<Vec<_>>()
    };
    assert_eq!(ids(&["list"]).len(), linefill::experiment::all().len());
    let streaming = ids(&["list", "streaming"]);
    assert!(streaming.iter().all(|(_, family)| family == "streaming"), "{streaming:?}");
    let rows = ids(&["list", "d1?"]);
    assert_eq!(rows.len(), 10);
    assert_eq!(rows[4].0, "D14");
}

#[test]
fn a_cpu_that_does_not_exist_is_named_with_those_that_do() {
    let folder = Folder::new("cpu");
    for command in ["run", "machine", "doctor"] {
        folder
            .run(&[command, "--cpu", "9999"])
            .refused(&["--cpu 9999", "this process may use CPU"]);
    }
    folder.run(&["run", "--cpu", "-1"]).refused(&["'-1'", "whole number"]);
    folder.run(&["run", "--cpu", "one"]).refused(&["'one'", "whole number"]);
}

/// The kernel would run there, against a user who excluded the CPU by `taskset`.
#[test]
fn a_cpu_outside_the_mask_is_named_with_those_in_it() {
    let folder = Folder::new("cpu-outside");
    let [inside, .., outside] = allowed()[..] else {
        untested::machine("a mask without a CPU needs two CPUs");
        return;
    };
    // The program inherits the mask of this thread.
    let _pinned = pin(inside).unwrap();
    for command in [
        "run D3",
        "machine",
        "doctor",
        "tour",
        "watch X16",
        "time --asm nop",
        "counters D14",
        "counters --list",
        "sharing --offset 0 --offset 8",
    ] {
        let cpu = outside.to_string();
        let args = [words(command), vec!["--cpu", &cpu]].concat();
        let only = format!("this process may use CPU {inside}\n");
        folder.run(&args).refused(&[&format!("--cpu {cpu}: "), &only]);
    }
    assert!(!folder.at("linefill-out").exists());
}

#[test]
fn numbers_out_of_range_are_named_with_the_range() {
    let folder = Folder::new("numbers");
    folder.run(&["run", "--seed", "-1"]).refused(&["'-1'", "from 0 to 18446744073709551615"]);
    folder.run(&["run", "--memory", "lots"]).refused(&["'lots'", "512MiB"]);
    folder.run(&["run", "D14", "--memory", "900TiB"]).refused(&["--memory 900 TiB", "available"]);
    folder.run(&["run", "--memory", "1"]).refused(&["64 KiB"]);
    folder.run(&["run", "--profile", "slow"]).refused(&["'slow'", "quick"]);
    for budget in ["0s", "soon", "-5", "25h", "99999999999999999999m"] {
        folder
            .run(&["run", "--budget", budget])
            .refused(&[&format!("'{budget}'"), "seconds (60s), minutes (10m) or hours"]);
    }
}

#[test]
fn a_folder_that_cannot_be_written_stops_the_run_before_it_measures() {
    let folder = Folder::new("out");
    let ran = folder
        .run(&["run", "D14", "--out", "/dev/null/out"])
        .refused(&["cannot write", "/dev/null/out"]);
    assert!(!ran.err.contains("points"), "{ran:?}");
}

#[test]
fn an_unknown_feature_in_the_mask_is_named() {
    let folder = Folder::new("mask");
    let mut command = folder.linefill(&["run", "D14"]);
    Ran::of(command.env("LINEFILL_MASK", "avx2,mmx")).refused(&[
        "LINEFILL_MASK",
        "`mmx`",
        "avx512",
    ]);
}

#[test]
fn a_working_set_beyond_the_address_space_is_refused_with_both_values() {
    let folder = Folder::new("limit");
    let run = "ulimit -v 524288; exec \"$0\" run D14 --memory 600MiB";
    let mut command = std::process::Command::new("sh");
    command.args(["-c", run]).arg(program());
    Ran::of(command.current_dir(folder.at(""))).refused(&["600 MiB", "512 MiB", "RLIMIT_AS"]);
}

#[test]
fn what_is_no_record_is_refused_with_file_and_line() {
    let folder = Folder::new("foreign");
    let header = |format: u32| format!("{{\"kind\":\"header\",\"format\":{format}}}\n");
    let files = [
        ("empty", String::new(), "empty: it is empty"),
        ("html", "<html>\n".into(), "html, line 1: not a record"),
        ("next", header(7), "next, line 1: a record of format 7"),
        ("header", header(1), "header, line 1"),
        (
            "headless",
            "{\"kind\":\"end\",\"seconds\":1,\"interrupted\":false}\n".into(),
            "headless, line 1: a record starts with a header",
        ),
    ];
    for (name, text, message) in files {
        fs::write(folder.at(name), text).unwrap();
        folder.run(&["report", name]).refused(&[message]);
        assert!(!folder.at("report.html").exists(), "{name}");
    }
    folder.run(&["report", "missing"]).refused(&["missing", "No such file"]);
}

#[test]
fn what_is_missing_is_named_with_every_way_to_give_it() {
    let folder = Folder::new("missing");
    for (line, parts) in [
        ("simulate --config L1d=32K/8", &["--trace", "--experiment", "--mesi"][..]),
        ("sharing", &["binary", "--offset", "--pid", "-- COMMAND"]),
        ("layout nope", &["nope", "No such file"]),
        ("list D14.2", &["`D14` is one", "linefill show D14"]),
        ("man --out /dev/null", &["manual pages", "not a folder"]),
    ] {
        folder.run(&words(line)).refused(parts);
    }
}

/// An option that means nothing with the other options is refused. `requires` alone does not do it: clap waives
/// it where the required option conflicts with one that is there.
#[test]
fn no_option_is_passed_over_in_silence() {
    let folder = Folder::new("options");
    for (line, option) in [
        ("simulate --config L1d=32K/8 --experiment D14 --pack p", "--pack"),
        ("simulate --mesi --pack p", "--pack"),
        ("simulate --config L1d=32K/8 --trace t --x 5", "--x"),
        ("simulate --config L1d=32K/8 --trace t --laps 5", "--laps"),
        ("simulate --config L1d=32K/8 --trace t --series 1", "--series"),
        ("simulate --config L1d=32K/8 --trace t --memory 1M", "--memory"),
        ("simulate --mesi --laps 5", "--laps"),
        ("time --asm nop --symbol main", "--symbol"),
        ("time --asm nop --counts", "--counts"),
        ("time s.c --symbol main --init nop", "--init"),
        ("time s.c --symbol main --unroll 3", "--unroll"),
        ("time s.c --symbol main --syntax att", "--syntax"),
        ("sharing --type st --offset 0 --offset 8", "--type"),
        ("sharing --field a --offset 0 --offset 8", "--field"),
        ("sharing --debug-file d --offset 0 --offset 8", "--debug-file"),
        ("sharing --debug-file d -- true", "--debug-file"),
        ("sharing --way plain -- true", "--way"),
        ("sharing --way plain --pid 1", "--way"),
        ("sharing --way plain --predict --offset 0 --offset 8", "--way"),
        ("layout a --expand --list", "--expand"),
        ("layout a --expand --top", "--expand"),
        ("layout a --expand --json --type b", "--expand"),
        ("counters --list --memory 1MiB", "--memory"),
    ] {
        folder.run(&words(line)).refused(&[option]);
    }
}

#[test]
fn a_file_that_is_read_is_not_written_over() {
    let folder = Folder::new("inputs");
    let trace = "I  0400d7d4,8\n L 1ffeffee,4\n";
    for (name, text) in [("a", PLANTED), ("b", PLANTED), ("t", trace)] {
        fs::write(folder.at(name), text).unwrap();
    }
    std::os::unix::fs::symlink("a", folder.at("link")).unwrap();
    for line in [
        "report a --out a",
        "report link --out a",
        "report a --out link",
        "compare a b --out b",
        "export a b --out ./b",
        "simulate --config L1d=32K/8 --trace t --html t",
    ] {
        folder.run(&words(line)).refused(&["this is an input file"]);
    }
    for (name, text) in [("a", PLANTED), ("b", PLANTED), ("t", trace)] {
        assert_eq!(fs::read_to_string(folder.at(name)).unwrap(), text);
    }
}

#[test]
fn nothing_to_resume_is_said() {
    let folder = Folder::new("nothing");
    folder.run(&["run", "--resume"]).refused(&["nothing to resume", "linefill-out/record.jsonl"]);
}
