//! Complete runs, under good and bad conditions.
#![cfg(feature = "lab")]

use std::fs;
use std::process::Command;

use crate::common::cli::{Folder, Ran, Record, UnderWay, program, words};
use linefill::experiment::{State, Untestable, Verdict};
use linefill::lab::record::MACHINE;

#[test]
fn a_run_writes_a_record_and_a_report_and_prints_the_verdicts() {
    let folder = Folder::new("run");
    let ran = folder.run_short(&["d1[14]"]).ok();
    let record = folder.record();
    assert_eq!(record.interrupted, Some(false));
    assert_eq!(record.header.selection, ["d1[14]"]);
    assert_eq!(record.header.largest, 1 << 20);
    assert!(!record.of_experiment(MACHINE).is_empty());
    assert_eq!(record.of_experiment("D14").len(), 9, "4 KiB to 1 MiB");
    assert!(!record.of_experiment("D11").is_empty());
    for verdict in &record.verdicts {
        assert!(ran.out.contains(verdict.verdict.name()), "{ran:?}");
    }
    assert!(record.verdicts.iter().any(|v| v.experiment == "D14"));
    let report = fs::read_to_string(folder.at("linefill-out/report.html")).unwrap();
    assert!(report.contains("D14"));
}

/// An experiment without cases on this machine must give the reason in table, record and report.
#[test]
fn what_cannot_be_measured_says_so_everywhere() {
    let folder = Folder::new("nocase");
    let ran = folder.run_short(&["E3"]).ok();
    let record = folder.record();
    let [verdict] = &record.verdicts[..] else {
        panic!("{:?}", record.verdicts);
    };
    assert_eq!((verdict.name(), verdict.verdict), ("E3.1", Verdict::Untestable));
    assert!(verdict.numbers.contains("PowerPC"), "{}", verdict.numbers);
    assert!(ran.out.contains("E3.1"), "{ran:?}");
    let report = fs::read_to_string(folder.at("linefill-out/report.html")).unwrap();
    assert!(report.contains("an instruction of PowerPC"), "its reason");
}

#[test]
fn a_second_run_moves_the_first_aside() {
    let folder = Folder::new("twice");
    let run = || folder.run_short(&["D14"]).ok();
    run();
    let first = fs::read(folder.at("linefill-out/record.jsonl")).unwrap();
    let ran = run();
    let kept = fs::read_dir(folder.at("linefill-out"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| {
            path.extension().is_some_and(|e| e == "jsonl") && !path.ends_with("record.jsonl")
        })
        .expect("the first record is still there");
    assert_eq!(fs::read(&kept).unwrap(), first);
    let name = kept.file_name().unwrap().to_str().unwrap();
    assert!(ran.err.contains(name), "{ran:?}");
}

#[test]
fn a_case_that_another_figure_has_measured_is_not_measured_again() {
    let folder = Folder::new("same");
    folder.run_short(&["D14", "D15"]).ok();
    let record = folder.record();
    let same = record
        .of_experiment("D15")
        .iter()
        .filter(|line| line.point.measured().is_some() && line.same_as.as_deref() == Some("D14"))
        .count();
    assert_eq!(same, 9, "the curve of 8-byte elements is in both figures");
}

#[test]
fn where_threads_go_is_recorded() {
    let folder = Folder::new("placement");
    folder.run_short(&["B13", "--threads", "siblings"]).ok();
    let placement = folder.record().header.placement;
    assert_eq!(placement.as_deref(), Some("siblings"));
    folder
        .run(&["run", "B13", "--threads", "anywhere"])
        .refused(&["anywhere", "near, far, siblings"]);
}

#[test]
fn features_can_be_masked() {
    let folder = Folder::new("masked");
    let mut command = folder.short(&["D14"]);
    Ran::of(command.env("LINEFILL_MASK", "avx512,avx2")).ok();
    let header = folder.record().header;
    assert_eq!(header.masked, "avx512,avx2");
    assert!(!header.cpu.features.iter().any(|name| name.starts_with("avx")));
}

#[test]
fn a_limited_address_space_is_lived_with() {
    let folder = Folder::new("rlimit");
    let run = "ulimit -v 65536; exec \"$0\" run D14 --budget 1s";
    let mut command = Command::new("sh");
    command.args(["-c", run]).arg(program());
    Ran::of(command.current_dir(folder.at(""))).ok();
    let record = folder.record();
    assert!(record.header.largest <= 16 << 20);
    assert_eq!(record.interrupted, Some(false));
}

#[test]
fn what_the_limit_refuses_is_untestable_and_says_why() {
    let folder = Folder::new("refused");
    // Beside the program, the paper's matrix of 36 MB fits. The second matrix has at least 64 MB on any machine,
    // and does not.
    let mib = 48 + (fs::metadata(program()).unwrap().len() >> 20);
    // The budget leaves time for the experiment beside all other tests.
    let run = format!("ulimit -v {}; exec \"$0\" run E4 --memory {mib}MiB --budget 5s", mib << 10);
    let mut command = Command::new("sh");
    command.args(["-c", &run]).arg(program());
    Ran::of(command.current_dir(folder.at(""))).ok();
    let record = folder.record();
    let points = record.of_experiment("E4");
    let reasons: Vec<&str> = points
        .iter()
        .filter_map(|line| match &line.point.state {
            State::Untestable(Untestable(reason)) => Some(reason.as_str()),
            _ => None,
        })
        .collect();
    let (refused, all) = (reasons.len(), points.len());
    assert!(0 < refused && refused < all, "{refused} of {all} refused: {reasons:?}");
    assert!(reasons.iter().all(|r| r.contains("RLIMIT_AS")), "{reasons:?}");
}

#[test]
fn without_sys_and_proc_everything_runs_and_says_what_is_not_known() {
    let folder = Folder::new("no-sys");
    let bare = |mut command: Command| {
        Ran::of(command.env("LINEFILL_ROOT", folder.at("nowhere"))).answered()
    };
    bare(folder.short(&["D14"]));
    let header = folder.record().header;
    assert_eq!((header.os, header.kernel_caches.len()), (None, 0));
    let doctor = bare(folder.linefill(&["doctor"])).out;
    assert!(doctor.contains("not known"), "{doctor}");
    let machine = bare(folder.linefill(&["machine", "--memory", "1MiB"])).out;
    assert!(machine.contains("random step in L1d"), "{machine}");
}

#[test]
fn a_signal_ends_the_run_with_what_was_measured() {
    // At the first point of D15, D14 has been measured once; at the others the run measures the machine. Which
    // signal it was makes no difference to what is kept.
    for (name, last) in [("INT", "D15"), ("TERM", MACHINE), ("HUP", MACHINE)] {
        let folder = Folder::new(&format!("signal-{name}"));
        // Few points remain after the signal, so that the test is short.
        let command = folder.signalled(&words("run D14 D15 D19 --cpu 0 --memory 4MiB --budget 1s"));
        let mut run = UnderWay::start(&folder, command);
        run.until_point_of(last);
        let ran = run.signal(name);
        assert_eq!(ran.status, Some(130), "{ran:?}");
        assert!(ran.err.contains("--resume"), "{ran:?}");
        let record = folder.record();
        assert_eq!(record.interrupted, Some(true));
        assert!(record.points.iter().any(|point| point.experiment == last));
        assert!(folder.at("linefill-out/report.html").exists());
        if name != "INT" {
            continue;
        }
        assert!(record.verdicts.iter().any(|v| v.experiment == "D14"));
        let resumed = folder.run(&["run", "--resume"]).ok();
        assert!(resumed.err.contains("going on"), "{resumed:?}");
        let whole = folder.record();
        assert_eq!(whole.interrupted, Some(false));
        assert_eq!(whole.points[..record.points.len()], record.points);
        whole.has_each_point_once();
    }
}

#[test]
fn a_record_alone_gives_the_report_again() {
    let folder = Folder::new("report");
    folder.run_short(&["D14"]).ok();
    let report = folder.at("linefill-out/report.html");
    let first = fs::read(&report).unwrap();
    let printed = folder.run(&["report", "linefill-out"]).ok().out;
    assert_eq!(fs::read(&report).unwrap(), first);
    assert!(printed.contains("D14"), "{printed}");

    // A record from another machine, cut off by a kill.
    let text = fs::read_to_string(folder.at("linefill-out/record.jsonl")).unwrap();
    let brand = Record::at(&folder.at("linefill-out/record.jsonl")).header.cpu.brand;
    let other = text.replace(&brand, "Pentium 4");
    let killed = other.lines().take(30).collect::<Vec<_>>().join("\n");
    let cut = &killed[..killed.len() - 10];
    fs::write(folder.at("other.jsonl"), cut).unwrap();
    let ran = folder.run(&["report", "other.jsonl", "--out", "other.html"]).ok();
    assert!(ran.err.contains("line 30") && ran.err.contains("cut off"), "{ran:?}");
    let html = fs::read_to_string(folder.at("other.html")).unwrap();
    assert!(html.contains("Pentium 4"));
}

#[test]
fn a_bad_line_in_the_middle_is_named() {
    let folder = Folder::new("middle");
    folder.run_short(&["D11"]).ok();
    let text = fs::read_to_string(folder.at("linefill-out/record.jsonl")).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines[1] = "{\"kind\":\"point\"}";
    fs::write(folder.at("bad.jsonl"), lines.join("\n")).unwrap();
    folder.run(&["report", "bad.jsonl"]).refused(&["bad.jsonl, line 2", "missing field"]);
}
