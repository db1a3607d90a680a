//! Problems with the files of a run: a full disk, a folder that is removed, two runs at the same time. No
//! data may be lost, and no file may be written only in part.
#![cfg(feature = "lab")]

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::{fs, io};

use crate::common::cli::{Folder, PLANTED, Ran, UnderWay, words};

/// Limits the size of files to `bytes`, as on a disk with this much space.
fn on_disk_of(bytes: u64, mut command: Command) -> Command {
    // SAFETY: the closure makes system calls with numbers and with a structure on its stack.
    unsafe {
        command.pre_exec(move || {
            let most = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
            // The shell's default action: the program must not be killed, but report the failed write.
            libc::signal(libc::SIGXFSZ, libc::SIG_DFL);
            match libc::setrlimit(libc::RLIMIT_FSIZE, &most) {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        });
    }
    command
}

/// The names in a folder, sorted.
fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_record_that_cannot_begin_leaves_the_earlier_one() {
    let folder = Folder::new("no-room");
    folder.run_short(&["D11"]).ok();
    let dir = folder.at("linefill-out");
    let now = || (names(&dir), fs::read(dir.join("record.jsonl")).unwrap());
    let before = now();
    Ran::of(&mut on_disk_of(64, folder.short(&["D11"]))).refused(&["File too large"]);
    assert!(now() == before, "{:?}", names(&dir));
}

#[test]
fn a_page_that_the_disk_cuts_short_leaves_the_old_page() {
    let folder = Folder::new("pages");
    folder.run_short(&["D11"]).ok();
    let pages: [(&[&str], &str); 3] = [
        (&["report", "linefill-out"], "linefill-out/report.html"),
        (&["compare", "linefill-out", "linefill-out"], "compare.html"),
        (
            &words("simulate --experiment D14 --config L1d=32K/8 --memory 64KiB --html heat.html"),
            "heat.html",
        ),
    ];
    for (args, page) in pages {
        let page = folder.at(page);
        folder.run(args).ok();
        let before = fs::read(&page).unwrap();
        let around = names(page.parent().unwrap());
        Ran::of(&mut on_disk_of(4096, folder.linefill(args))).refused(&["File too large"]);
        assert!(fs::read(&page).unwrap() == before, "{args:?}");
        assert_eq!(names(page.parent().unwrap()), around, "{args:?}");
        // There must also be no part of a first page.
        fs::remove_file(&page).unwrap();
        Ran::of(&mut on_disk_of(4096, folder.linefill(args))).refused(&["File too large"]);
        assert!(!page.exists(), "{args:?}");
    }
}

#[test]
fn a_run_on_a_full_disk_ends_with_its_verdicts_and_can_go_on() {
    let folder = Folder::new("full-disk");
    let run = ["run", "D11", "D14", "--memory", "1MiB"];
    // Less space than the record takes if every point has the minimum number of samples.
    let whole = Ran::of(&mut on_disk_of(1 << 15, folder.linefill(&run)));
    let whole = whole.refused(&["linefill-out/record.jsonl", "File too large", "--resume"]);
    assert!(!whole.out.contains("report:"), "{whole:?}");
    let text = fs::read(folder.at("linefill-out/record.jsonl")).unwrap();
    assert!(text.ends_with(b"}\n"), "the last line is whole");
    let before = folder.record();
    assert_eq!(before.interrupted, None);
    // The number of samples per point determines how many points fit on the disk.
    let measured = before.points.iter().any(|point| point.experiment == "D11");
    assert_eq!(whole.out.contains("D11"), measured, "{whole:?}");
    assert_eq!(names(&folder.at("linefill-out")), ["record.jsonl"]);

    folder.run(&["run", "--resume"]).ok();
    let after = folder.record();
    assert_eq!(after.interrupted, Some(false));
    assert_eq!(after.points[..before.points.len()], before.points);
    after.has_each_point_once();
}

#[test]
fn a_folder_that_is_removed_during_the_run_is_made_again() {
    let folder = Folder::new("removed");
    let command = folder.short(&["D14", "D19"]);
    let mut run = UnderWay::start(&folder, command);
    for lines in [20, 60] {
        run.until(lines);
        fs::remove_dir_all(folder.at("linefill-out")).unwrap();
        // Waits until the record exists again, with its previous contents.
        run.until(lines + 1);
    }
    let ran = run.finish().ok();
    assert!(ran.err.contains("was removed"), "{ran:?}");
    assert!(ran.err.contains("linefill-out/record.jsonl"), "{ran:?}");
    let record = folder.record();
    assert_eq!(record.interrupted, Some(false));
    assert_eq!(record.of_experiment("D14").len(), 9);
    record.has_each_point_once();
    assert_eq!(names(&folder.at("linefill-out")), ["record.jsonl", "report.html"]);
}

#[test]
fn a_second_run_leaves_the_folder_of_the_first_alone() {
    let folder = Folder::new("second");
    let long = folder.linefill(&["run", "D14", "--memory", "1MiB"]);
    let mut first = UnderWay::start(&folder, long);
    first.until(1);
    folder.run_short(&["D14"]).refused(&["another run is writing"]);
    folder.run(&["run", "--resume"]).refused(&["another run is writing"]);
    assert_eq!(names(&folder.at("linefill-out")), ["record.jsonl"]);
    first.finish().ok();
    let record = folder.record();
    assert_eq!(record.of_experiment("D14").len(), 9);
    assert_eq!(record.interrupted, Some(false));
}

#[test]
fn report_does_not_replace_the_page_of_another_record() {
    let folder = Folder::new("page-of-another");
    let page = || fs::read_to_string(folder.at("report.html")).unwrap();
    fs::write(folder.at("here.jsonl"), PLANTED).unwrap();
    let there = PLANTED.replacen("1763643960", "1763643961", 1);
    fs::write(folder.at("there.jsonl"), there).unwrap();
    folder.run(&["report", "here.jsonl"]).ok();
    folder.run(&["report", "here.jsonl"]).ok();
    let of_here = page();
    let refused = ["`report.html`", "`there.jsonl`", "--out report.html"];
    folder.run(&["report", "there.jsonl"]).refused(&refused);
    assert!(page() == of_here);
    let asked = ["report", "there.jsonl", "--out", "report.html"];
    folder.run(&asked).ok();
    assert!(page() != of_here);
    fs::write(folder.at("report.html"), "my own").unwrap();
    folder.run(&["report", "there.jsonl"]).refused(&refused);
    assert_eq!(page(), "my own");
}
