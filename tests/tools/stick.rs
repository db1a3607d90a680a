//! Makes a stick with `bare/stick`, boots it on UEFI firmware in QEMU, and reads its record back.
#![cfg(feature = "lab")]

#[path = "../../bare/src/firmware/words.rs"]
mod words;

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};

use super::uefi;
use crate::common::cli::Folder;
use crate::common::target;
use crate::programs;
use linefill::experiment::LADDER;
use linefill::kernel::symbols;
use linefill::lab::read::parse;
use linefill::lab::record::MACHINE;

/// Options for a run that takes a second.
const SHORT: [&str; 2] = ["largest=65536", "end=off"];

/// Runs `bare/stick` with the target directory of the other programs, one at a time: programs with and without
/// experiments have one name.
fn stick(folder: &Folder, arguments: &[&str]) -> Output {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/bare/stick");
    let output = Command::new(script)
        .args(arguments)
        .current_dir(folder.at(""))
        .env("CARGO_TARGET_DIR", programs::folder())
        .output()
        .expect("bare/stick starts");
    println!("{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// The stick, as QEMU's `-drive`.
fn drive(folder: &Folder) -> String {
    format!("format=raw,file={}", folder.at("stick.img").display())
}

/// Writes `by` over `words` in the image.
fn overwrite(folder: &Folder, words: &str, by: &str) {
    let image = folder.at("stick.img");
    let disk = File::options().read(true).write(true).open(image).unwrap();
    // All files of a new stick are at its beginning.
    let mut head = vec![0; 16 << 20];
    disk.read_exact_at(&mut head, 0).unwrap();
    let mut places = head.windows(words.len());
    let at = places.position(|bytes| bytes == words.as_bytes());
    let at = at.expect("the words") as u64;
    disk.write_all_at(by.as_bytes(), at).unwrap();
}

/// The screen after a boot that switched the machine off; `None` if a tool is missing.
#[track_caller]
fn screen(folder: &Folder) -> Option<String> {
    let output = uefi::boot(&drive(folder))?;
    assert_eq!(output.status.code(), Some(0));
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Reads a file from the program's folder.
fn read(folder: &Folder, name: &str) -> String {
    let output = stick(folder, &["--read", "stick.img", name]);
    assert!(output.status.success(), "{name}");
    String::from_utf8(output.stdout).expect("a text")
}

#[test]
fn a_stick_boots_and_its_record_is_reported() {
    if !target::installed(uefi::TARGET) {
        return;
    }
    let folder = Folder::new("stick");
    let made = stick(&folder, &[&["stick.img", "BOM"][..], &SHORT].concat());
    assert!(made.status.success(), "bare/stick: {}", made.status);
    // There is room for the records of many machines, which takes none until they are there.
    let image = std::fs::metadata(folder.at("stick.img")).unwrap();
    assert_eq!(image.len(), 513 << 20);
    assert!(image.blocks() * 512 < 16 << 20, "{image:?}");
    // An editor's byte order mark before the words.
    overwrite(&folder, "BOM largest", "\u{feff}");
    let Some(screen) = screen(&folder) else {
        return;
    };
    let record = read(&folder, "record.jsonl");

    // The screen and the record contain the same messages for people.
    for line in [" kernels agree with their reference implementations", " checks, 0 failed"] {
        assert!(screen.contains(line), "no `{line}` on the screen");
        assert!(record.contains(line), "no `{line}` in the record");
    }
    for size in ["4 KiB", "2 MiB"] {
        assert!(screen.contains(&format!(" pages of {size}")), "{size}");
    }
    assert!(screen.contains("The record is record.jsonl, beside this program."));
    assert!(!screen.contains("FAILED") && !screen.contains("not understood"));

    // The program has enabled the vector state that firmware leaves disabled, so every kernel runs
    // except the kernels that QEMU cannot interpret.
    let reading = parse(record.as_bytes()).unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(reading.cut_off, None);
    let read = reading.record;
    let has = |feature: &str| read.header.cpu.features.iter().any(|name| name == feature);
    assert!(has("avx2") && has("fma"), "{:?}", read.header.cpu.features);
    let all = symbols::all().count();
    let agreed = screen.split(&format!(" of {all} kernels agree")).next().unwrap();
    let agreed: usize = agreed.rsplit(['\n', '\r', ' ']).next().unwrap().parse().unwrap();
    assert!(agreed > all * 3 / 4 && agreed <= all, "{agreed} of {all}");

    // A header with a date, a rate and pages; a point per half octave; an end.
    assert_eq!(read.header.profile, "bare");
    assert_eq!(read.header.hypervisor.as_deref(), Some("QEMU TCG"));
    assert!(read.header.started > 1_700_000_000, "{}", read.header.started);
    assert!((1e8..1e11).contains(&read.header.tick_hz), "{}", read.header.tick_hz);
    assert!(read.header.notes.iter().any(|note| note.contains("UEFI")));
    let rungs: Vec<usize> = read.points.iter().map(|line| line.point.x as usize).collect();
    let half_octaves = (24..=32).map(|half| 2f64.powf(f64::from(half) / 2.0) as usize / 64 * 64);
    assert_eq!(rungs, half_octaves.collect::<Vec<_>>());
    for line in &read.points {
        assert_eq!((&*line.experiment, &*line.point.series), (MACHINE, LADDER));
        assert!(line.point.measured().is_some());
    }
    assert!(!read.end.as_ref().expect("an end").interrupted);

    // The lab can report on this file without changes.
    std::fs::write(folder.at("record.jsonl"), &record).unwrap();
    let reported = folder.run(&["report", "record.jsonl"]);
    assert_eq!(reported.status, Some(0), "{reported:?}");
    let page = std::fs::read_to_string(folder.at("report.html")).unwrap();
    assert!(page.contains("QEMU TCG version"), "the page names another CPU");
    let machine = folder.run(&["machine", "--record", "record.jsonl"]);
    assert_eq!(machine.status, Some(0), "{machine:?}");
    assert!(machine.out.contains("random step in L1d"), "{}", machine.out);
}

/// Experiments on this platform: its allocator, its page tables, code that it writes, and a second mapping.
#[test]
#[ignore = "builds a second program for UEFI: .ci/nightly runs it"]
fn a_stick_runs_experiments() {
    const ROWS: &str = "D14,E21";
    if !target::installed(uefi::TARGET) {
        return;
    }
    let folder = Folder::new("stick-run");
    let run = format!("run={ROWS}");
    let words = [&run, "profile=smoke", "largest=65536", "verify=off"];
    let made = stick(&folder, &[&["stick.img", "end=off"], &words[..]].concat());
    assert!(made.status.success(), "bare/stick: {}", made.status);
    let Some(screen) = screen(&folder) else {
        return;
    };
    assert!(screen.contains(" checks, 0 failed") && !screen.contains("FAILED"));
    let reading = parse(read(&folder, "record.jsonl").as_bytes());
    let read = reading.unwrap_or_else(|error| panic!("{error:?}")).record;
    assert_eq!(read.header.host.as_deref(), Some("bare"));
    assert_eq!(read.header.profile, "smoke");
    assert!(read.header.notes.iter().any(|note| note.contains("UEFI")));
    assert!(!read.end.as_ref().expect("an end").interrupted);
    let measured = read.points.iter().filter_map(|line| {
        let pages = &line.point.measured()?.pages;
        Some((&*line.experiment, &**pages))
    });
    let measured: BTreeSet<(&str, &str)> = measured.collect();
    for expected in [(MACHINE, "2 MiB"), ("D14", "4 KiB")] {
        assert!(measured.contains(&expected), "{expected:?}: {measured:?}");
    }
    for row in ROWS.split(',') {
        let mut rows = measured.iter().map(|(row, _)| *row);
        assert!(rows.any(|one| one == row), "{row} has no measured point");
    }
}

/// An exception is reported on the screen and, line by line, in a new record. The previous record is kept.
/// Then the machine is switched off or, after a key, restarted: it does not go on without the memory that the
/// program held.
#[test]
fn an_exception_is_reported_and_no_record_is_written_over() {
    if !target::installed(uefi::TARGET) {
        return;
    }
    let folder = Folder::new("stick-exception");
    let made = stick(&folder, &["stick.img", "plant=exception", "end=off", "ring=3"]);
    assert!(made.status.success(), "bare/stick: {}", made.status);
    let is_reported = |screen: &str, name: &str| {
        let record = read(&folder, name);
        let trace = "exception: vector 6 (#UD";
        assert!(screen.contains(trace) && record.contains(trace), "{record}");
        let word = "FAILED: not understood: ring=3 (accepted: ";
        assert!(screen.contains(word) && record.contains(word), "{record}");
    };
    let Some(switched_off) = screen(&folder) else {
        return;
    };
    is_reported(&switched_off, "record.jsonl");
    overwrite(&folder, "end=off", "end=key");
    let asked = "Press a key to restart the machine.";
    let Some((restarted, status)) = uefi::boot_and_press(&drive(&folder), asked) else {
        return;
    };
    assert_eq!(status, Some(0));
    is_reported(&restarted, "record-2.jsonl");
    assert_eq!(restarted.matches("exception: vector").count(), 1);
}

/// Words that the program cannot read whole are refused. A longer file fills the program's buffer.
#[test]
fn words_are_utf_8_and_not_cut() {
    let full = "x".repeat(words::BYTES);
    assert_eq!(words::words(full.as_bytes()), Ok(&*full));
    let long = [full.as_bytes(), b"x"].concat();
    assert_eq!(words::words(&long), Err(words::Invalid::TooLong));
    let utf_16: Vec<u8> = "\u{feff}run=all".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(words::words(&utf_16), Err(words::Invalid::Encoding));
    assert_eq!(words::words("\u{feff}run=all".as_bytes()), Ok("run=all"));
    let reasons = [words::Invalid::TooLong, words::Invalid::Encoding].map(|why| why.to_string());
    assert_eq!(reasons, ["longer than 1024 bytes", "not UTF-8"]);
}

/// Invalid requests end with status 2 and a sentence that names what is accepted.
#[test]
fn a_stick_refuses_what_it_cannot_do() {
    if !target::installed(uefi::TARGET) {
        return;
    }
    let folder = Folder::new("stick-refused");
    std::fs::write(folder.at("short.img"), "no image").unwrap();
    let long = "x".repeat(1024);
    for (arguments, said) in [
        (&[][..], "accepted: bare/stick IMAGE"),
        (&["--read"], "accepted: bare/stick IMAGE"),
        (&["--write", "a"], "accepted: bare/stick IMAGE"),
        (&["--read", "none.img"], "cannot read none.img"),
        (&["--read", "short.img"], "short.img has 8 bytes; accepted: "),
        (&["stick.img", &long], "accepted: at most 1022 letters"),
    ] {
        let output = stick(&folder, arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
        assert!(errors.contains(said), "{arguments:?}: {errors}");
    }
}
