//! `linefill watch`: figures over time, in a record that is complete at any time.
#![cfg(feature = "lab")]

use std::fs;
use std::path::Path;

use linefill::lab::read::read_any;
use linefill::lab::record::Record;

use crate::common::cli::{Folder, Ran, UnderWay};

/// Arguments for a small selection, with one round per second.
const TINY: [&str; 6] = ["watch", "D14", "--memory", "1MiB", "--every", "1s"];

fn tiny<'a>(more: &[&'a str]) -> Vec<&'a str> {
    TINY.into_iter().chain(more.iter().copied()).collect()
}

fn watched(folder: &Folder) -> Record {
    read_any(&folder.at("linefill-watch/record.jsonl")).unwrap().record
}

#[test]
fn rounds_are_recorded_with_their_times_and_drawn() {
    let folder = Folder::new("watch-rounds");
    let ran = folder.run(&tiny(&["--rounds", "3", "--seed", "7"])).ok();
    // Without a terminal, each round prints one plain line.
    let rounds: Vec<&str> = ran.out.lines().filter(|line| line.contains(" UTC  round ")).collect();
    assert_eq!(rounds.len(), 3, "{ran:?}");
    assert!(rounds.iter().all(|line| line.contains("core clock")), "{ran:?}");
    assert!(!ran.out.contains('\u{1b}'), "{ran:?}");

    let record = watched(&folder);
    assert_eq!((record.header.watch, record.header.seed), (Some(1.0), 7));
    assert_eq!(record.end.as_ref().map(|end| end.interrupted), Some(false));
    let numbers: Vec<u64> = record.rounds.iter().map(|of| of.number).collect();
    assert_eq!(numbers, [0, 1, 2]);
    for pair in record.rounds.windows(2) {
        assert!(pair[1].at - pair[0].at >= 0.99, "{pair:?}");
        assert!(pair[1].started >= pair[0].started);
        assert_eq!(pair[1].points.len(), pair[0].points.len());
    }
    let first = &record.rounds[0];
    assert!(first.took > 0.0 && !first.points.is_empty());
    let measured = first.points.iter().filter_map(|of| of.point.measured());
    assert!(measured.clone().count() > 0 && measured.into_iter().all(|of| of.samples.is_empty()));

    let page = fs::read_to_string(folder.at("linefill-watch/report.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("seconds since"));
    assert!(page.contains("The clock of the core") && page.contains(">D14<"));
    // On a phone the contents come last.
    assert!(page.find("<main>") < page.find("<nav class=\"contents\""));
    fs::remove_file(folder.at("linefill-watch/report.html")).unwrap();
    let told = folder.run(&["report", "linefill-watch", "--format", "json"]).ok();
    let told = told.json();
    assert_eq!((&told["rounds"], &told["every"]), (&3.into(), &1.0.into()));
    let figures = told["figures"].as_array().unwrap();
    assert_eq!(figures.len(), 1 + first.points.len());
    assert_eq!(figures[1]["values"].as_array().unwrap().len(), 3);
    assert_eq!(page, fs::read_to_string(folder.at("linefill-watch/report.html")).unwrap());

    folder.run(&["report", "linefill-watch", "--all"]).refused(&["--all", "no verdicts"]);

    let rows = folder.run(&["export", "linefill-watch", "--what", "rounds"]).ok().out;
    assert_eq!(rows.lines().count(), 1 + 3 * figures.len());
    let machines = folder.run(&["export", "linefill-watch", "--what", "machines"]).ok();
    assert_eq!(machines.out.lines().count(), 2);
}

#[test]
fn a_watch_of_a_time_begins_no_round_later() {
    let folder = Folder::new("watch-for");
    let ran = folder.run(&tiny(&["--for", "2s", "--format", "json"])).ok();
    let told = ran.json();
    let rounds = told["rounds"].as_u64().unwrap();
    assert!((1..=2).contains(&rounds), "{ran:?}");
    assert!(watched(&folder).rounds.iter().all(|of| of.at < 2.0 + 0.5));
}

#[test]
fn what_cannot_be_followed_is_refused() {
    let folder = Folder::new("watch-refused");
    for (args, parts) in [
        (&["watch"][..], &["nothing to follow", "linefill list"][..]),
        (&["watch", "D14", "--every", "0s"], &["--every", "0s", "a time is"]),
        (&["watch", "D14", "--every", "often"], &["often", "a time is"]),
        (&["watch", "D14", "--rounds", "0"], &["--rounds", "whole number from 1"]),
        (&["watch", "D14", "--rounds", "-3"], &["--rounds", "-3"]),
        (&["watch", "D14", "--for", "1d"], &["--for", "1d"]),
        (&["watch", "D14", "--for", "2s", "--rounds", "2"], &["--for", "--rounds"]),
        (&["watch", "D1144"], &["D1144"]),
        (&["watch", "D14", "--cpu", "99999"], &["99999"]),
        (&["watch", "*", "--memory", "1MiB"], &["points", "at most 1000", "fewer"]),
    ] {
        folder.run(args).refused(parts);
    }
    assert!(!folder.at("linefill-watch").exists(), "nothing was begun");
    // What cannot be written is not measured first.
    fs::write(folder.at("linefill-watch"), "").unwrap();
    let ran = folder.run(&tiny(&["--rounds", "1"]));
    let ran = ran.refused(&["output folder `linefill-watch`", "not a folder"]);
    assert!(!ran.err.contains(" points, "), "{}", ran.err);
}

#[test]
fn what_reads_runs_says_that_it_is_none() {
    let folder = Folder::new("watch-no-run");
    folder.run(&tiny(&["--rounds", "1"])).ok();
    let sentence = ["a record of `linefill watch`", "linefill report", "--what rounds"];
    for args in [
        &["compare", "linefill-watch", "linefill-watch"][..],
        &["gallery", "linefill-watch"],
        &["export", "linefill-watch"],
        &["show", "D14", "--record", "linefill-watch"],
        &["run", "--resume", "--out", "linefill-watch"],
    ] {
        folder.run(args).refused(&sentence);
    }
    folder
        .run(&["report", "linefill-watch", "--fail-if", "D14 = holds"])
        .refused(&["--fail-if", "no verdicts"]);
    folder.run_short(&["D14"]).ok();
    folder
        .run(&["export", "linefill-out", "--what", "rounds"])
        .refused(&["--what rounds", "record of a run"]);
    folder.run(&["machine", "--record", "linefill-watch/record.jsonl"]).answered();
}

#[test]
fn signals_end_it_with_a_whole_record() {
    for signal in ["INT", "TERM"] {
        let folder = Folder::new(&format!("watch-{signal}"));
        let mut command = folder.signalled(&tiny(&[]));
        let path = folder.at("linefill-watch/record.jsonl");
        let mut watch = UnderWay::go_on(path.clone(), &mut command);
        let before = lines_before_rounds(&path, &mut watch);
        watch.until(before + 2);
        let ran: Ran = watch.signal(signal);
        assert_eq!(ran.status, Some(130), "{ran:?}");
        let record = watched(&folder);
        assert!(record.rounds.len() >= 2);
        assert_eq!(record.end.map(|end| end.interrupted), Some(true));
        assert!(folder.at("linefill-watch/report.html").exists());
    }
}

/// The number of lines before the first round of a record. Waits until that round is written.
fn lines_before_rounds(path: &Path, watch: &mut UnderWay) -> usize {
    for lines in 1.. {
        watch.until(lines);
        let text = fs::read_to_string(path).unwrap_or_default();
        if let Some(first) = text.lines().position(|line| line.contains("\"kind\":\"round\"")) {
            return first;
        }
        assert!(!watch.has_ended(), "{text}");
    }
    unreachable!("numbers do not end")
}

#[test]
fn a_watch_that_is_killed_has_all_rounds_but_the_one_in_flight() {
    let folder = Folder::new("watch-killed");
    let path = folder.at("linefill-watch/record.jsonl");
    let mut watch = UnderWay::go_on(path.clone(), &mut folder.linefill(&tiny(&[])));
    let before = lines_before_rounds(&path, &mut watch);
    watch.until(before + 2);
    watch.kill();
    let rounds = watched(&folder).rounds.len();
    assert!(rounds >= 2);
    let told = folder.run(&["report", "linefill-watch"]).ok();
    assert!(told.out.contains(&format!("{rounds} rounds")), "{told:?}");
    let page = fs::read_to_string(folder.at("linefill-watch/report.html")).unwrap();
    assert!(page.contains("did not come to its end"));
    // A truncated line is ignored.
    let mut text = fs::read_to_string(&path).unwrap();
    text.truncate(text.len() - 40);
    fs::write(&path, text).unwrap();
    let told = folder.run(&["report", "linefill-watch"]).ok();
    assert!(told.err.contains("was cut off"), "{told:?}");
    assert!(told.out.contains(&format!("{} round", rounds - 1)), "{told:?}");
    // The next watch moves this record aside.
    folder.run(&tiny(&["--rounds", "1"])).ok();
    let names = fs::read_dir(folder.at("linefill-watch")).unwrap();
    assert_eq!(names.count(), 4);
}

#[test]
fn a_round_that_is_none_is_refused_by_its_field() {
    let folder = Folder::new("watch-damaged");
    folder.run(&tiny(&["--rounds", "1"])).ok();
    let path = folder.at("linefill-watch/record.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    for (from, to, field) in [
        ("\"took\":", "\"took\":-", "`took`"),
        ("\"number\":0", "\"number\":-1", "`number`"),
        ("\"points\":[{\"experiment\"", "\"points\":[{\"x\":1e99,\"experimen\"", "points[0]"),
    ] {
        let round = text.lines().position(|line| line.contains("\"round\"")).unwrap();
        let damaged: Vec<String> = text
            .lines()
            .enumerate()
            .map(|(index, line)| match index == round {
                true => line.replacen(from, to, 1),
                false => line.to_owned(),
            })
            .collect();
        fs::write(&path, damaged.join("\n") + "\n").unwrap();
        folder.run(&["report", "linefill-watch"]).refused(&[&format!("line {}", round + 1), field]);
    }
}
