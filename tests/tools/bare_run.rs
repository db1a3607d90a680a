//! Boots the bare image with experiments in QEMU, which interprets it. The tests compare counts and checks,
//! but no times.
#![cfg(feature = "lab")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::bare::{self, Boot, FAILED, PASSED, UNVERIFIED, boot_image, build, have_qemu};
use crate::common::cli::Folder;
use linefill::experiment::{LADDER, State, Untestable};
use linefill::lab::read::parse;
use linefill::lab::record::{MACHINE, Record, points_of};

/// A timed experiment, two simulated ones, one with code generated at run time, and one with threads.
const ROWS: &str = "D14,D10,C2,E21,B5";
const SEED: u64 = 7;

/// The image, built once for all tests.
fn image() -> &'static Path {
    static IMAGE: OnceLock<PathBuf> = OnceLock::new();
    IMAGE.get_or_init(|| build("linefill-bare-experiments", "experiments"))
}

/// Boots an image without the checks of kernels, which `bare` tests.
fn boot(image: &Path, words: &str) -> Boot {
    let machine = ["-accel", "tcg", "-cpu", "max", "-m", "256"];
    boot_image(image, machine, &format!("{words} {UNVERIFIED}"))
}

/// The counts of an experiment, by series and place.
fn counted(record: &Record, experiment: &str) -> Vec<(String, f64, f64)> {
    let points = points_of(&record.points, experiment).into_iter();
    let counted = points.filter_map(|point| match point.state {
        State::Counted(value) => Some((point.series, point.x, value)),
        _ => None,
    });
    counted.collect()
}

/// Makes one boot, and tests everything about its record here, because separate tests would all wait for this
/// boot.
#[test]
#[ignore = "builds a second image: .ci/nightly runs it"]
fn a_run_on_the_bare_host_is_a_record_that_counts_and_is_reported() {
    if !have_qemu() {
        return;
    }
    let words = format!("run={ROWS} profile=smoke largest=262144 seed={SEED}");
    let run = boot(image(), &words);
    assert_eq!(run.status, Some(PASSED));
    is_a_record_of_every_row(&run.record());
    counts_what_linux_counts(&run.record());
    is_reported_compared_and_shown_in_a_gallery(&run);
}

fn is_a_record_of_every_row(record: &Record) {
    let header = &record.header;
    assert_eq!(header.host.as_deref(), Some("bare"));
    assert_eq!((header.os.as_deref(), &*header.profile), (None, "smoke"));
    assert_eq!((header.seed, header.largest), (SEED, 262_144));
    assert_eq!(header.selection, ROWS.split(',').collect::<Vec<_>>());
    assert!(!record.end.as_ref().expect("an end").interrupted);
    let with_points: BTreeSet<&str> = record.points.iter().map(|line| &*line.experiment).collect();
    for row in ROWS.split(',').chain([MACHINE]) {
        assert!(with_points.contains(row), "{row} has no points");
    }

    // Each case uses the pages that it requests: large pages for the ladder, which shows caches, and 4 KiB
    // for the paper's figures.
    for line in &record.points {
        let Some(measured) = line.point.measured() else {
            continue;
        };
        let pages = match (&*line.experiment, &*line.point.series) {
            (MACHINE, LADDER) => "2 MiB",
            ("D14", _) => "4 KiB",
            _ => continue,
        };
        assert_eq!(measured.pages, pages, "{:?}", line.point);
    }
    // A case with a second thread gives the reason why it cannot run.
    let alone = points_of(&record.points, "B5");
    let expected = "the bare image has no second thread";
    let reason =
        |state: &State| matches!(state, State::Untestable(Untestable(why)) if why == expected);
    assert!(alone.iter().any(|point| reason(&point.state)), "{alone:?}");
}

/// The simulator and arithmetic give the same counts on every host, except the misses in C2 (at 4), which
/// depend on the allocator's addresses.
fn counts_what_linux_counts(bare: &Record) {
    let folder = Folder::new("bare-run-linux");
    let seed = SEED.to_string();
    folder.run_short(&["D10", "C2", "--seed", &seed, "--out", "."]).ok();
    let linux = std::fs::read(folder.at("record.jsonl")).unwrap();
    let linux = parse(&linux).unwrap().record;
    for row in ["D10", "C2"] {
        let [mut counts, mut linux] = [bare, &linux].map(|record| counted(record, row));
        if row == "C2" {
            counts.retain(|(_, x, _)| *x < 4.0);
            linux.retain(|(_, x, _)| *x < 4.0);
        }
        assert!(!counts.is_empty(), "{row} counts nothing");
        assert_eq!(counts, linux, "{row}");
    }
}

fn is_reported_compared_and_shown_in_a_gallery(run: &Boot) {
    let folder = Folder::new("bare-run-report");
    std::fs::write(folder.at("serial.jsonl"), &run.serial).unwrap();
    folder.run(&["report", "serial.jsonl"]).ok();
    let page = std::fs::read_to_string(folder.at("report.html")).unwrap();
    for part in ["<dt>host</dt>", "D14", "D10", "QEMU TCG"] {
        assert!(page.contains(part), "no `{part}` in the report");
    }
    let recorded = concat!(env!("CARGO_MANIFEST_DIR"), "/records/2026-11-20-zen4-guest.jsonl.zst");
    let compared = folder.run(&["compare", recorded, "serial.jsonl", "--json"]);
    assert_eq!(compared.status, Some(0), "{compared:?}");
    assert!(compared.out.contains("\"D14\""), "{}", compared.out);
    folder.run(&["gallery", recorded, "serial.jsonl", "--out", "gallery"]).ok();
}

#[test]
#[ignore = "builds a second image: .ci/nightly runs it"]
fn what_names_no_experiment_fails_with_a_sentence() {
    if !have_qemu() {
        return;
    }
    let misspelt = boot(image(), "run=D14,D144");
    assert_eq!(misspelt.status, Some(FAILED));
    let sentence = "run=D144 names no experiment; did you mean D14? (accepted: all, or ids";
    assert!(misspelt.serial.contains(sentence));
    assert!(!misspelt.serial.contains("\"kind\""));
    // Without the feature there are no experiments.
    let without = boot(bare::image(), "run=D14");
    assert_eq!(without.status, Some(FAILED));
    let sentence = "run=D14: experiments are there with the feature experiments alone";
    assert!(without.serial.contains(sentence));
}
