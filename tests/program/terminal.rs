//! A run continues without its terminal: output that cannot be written is dropped, and the record and the
//! report are written.
#![cfg(feature = "lab")]

use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use crate::common::cli::{Folder, Ran, UnderWay, assert_has, words};

/// A full disk.
fn full() -> Stdio {
    OpenOptions::new().write(true).open("/dev/full").unwrap().into()
}

/// A pipe without a reader.
fn closed() -> Stdio {
    let (_, writer) = std::io::pipe().unwrap();
    writer.into()
}

/// Panics unless the folder contains a complete run.
#[track_caller]
fn has_record_and_report(folder: &Folder) {
    assert_eq!(folder.record().interrupted, Some(false));
    assert!(folder.at("linefill-out/report.html").exists());
}

#[test]
fn a_run_outlives_its_standard_error() {
    for (name, err) in [("full", full as fn() -> Stdio), ("closed", closed)] {
        let folder = Folder::new(&format!("stderr-{name}"));
        let mut command = folder.short(&["D14"]);
        let status = command.stdout(Stdio::null()).stderr(err()).status();
        assert_eq!(status.unwrap().code(), Some(0), "{name}");
        has_record_and_report(&folder);
    }
}

#[test]
fn a_run_outlives_its_pipe() {
    let folder = Folder::new("pipe");
    let mut command = folder.short(&["D14"]);
    let status = command.stdout(closed()).stderr(closed()).status();
    assert_eq!(status.unwrap().code(), Some(0));
    has_record_and_report(&folder);
}

/// Like `linefill run | tee log`, if `tee` dies during the run.
#[test]
fn a_run_outlives_a_reader_that_leaves_in_the_middle() {
    let folder = Folder::new("tee");
    let (mut reader, writer) = std::io::pipe().unwrap();
    let mut command = folder.short(&["D14"]);
    command.stdout(writer.try_clone().unwrap()).stderr(writer);
    let mut child = command.spawn().unwrap();
    // Closes the writing ends that the command holds.
    drop(command);
    reader.read_exact(&mut [0]).unwrap();
    drop(reader);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    has_record_and_report(&folder);
}

#[test]
fn verdicts_that_no_disk_has_room_for_are_in_the_report_and_an_error() {
    let folder = Folder::new("stdout-full");
    let mut command = folder.short(&["D14"]);
    let ran = Ran::of_stderr(command.stdout(full()));
    ran.refused(&["standard output", "No space left"]);
    has_record_and_report(&folder);
}

#[test]
fn a_result_ends_quietly_if_its_reader_has_gone_and_loudly_on_a_full_disk() {
    let folder = Folder::new("results");
    folder.run_short(&["D14"]).ok();
    let record = "linefill-out";
    let results: [&[&str]; 11] = [
        &["list"],
        &["show", "D14"],
        &["completions", "bash"],
        &["man"],
        &["doctor"],
        &["machine", "--record", record],
        &["report", record],
        &["compare", record, record],
        &["compare", record, record, "--json"],
        &["--help"],
        &["--version"],
    ];
    for args in results {
        let quiet = Ran::of_stderr(folder.linefill(args).stdout(closed()));
        assert_eq!(quiet.err, "", "{args:?}");
        match args {
            ["doctor"] => quiet.answered(),
            _ => quiet.ok(),
        };
        let ran = Ran::of_stderr(folder.linefill(args).stdout(full()));
        assert!(!ran.err.contains("panicked"), "{args:?}: {ran:#?}");
        ran.refused(&["standard output", "No space left"]);
    }
}

/// The two ends of a pseudo-terminal.
struct Terminal {
    ours: File,
    theirs: OwnedFd,
}

impl Terminal {
    fn open() -> Self {
        let (mut ours, mut theirs) = (-1, -1);
        let nothing = std::ptr::null_mut();
        // SAFETY: both descriptors are valid for writes, and the other arguments may be null.
        let opened = unsafe {
            libc::openpty(&mut ours, &mut theirs, nothing, nothing.cast(), nothing.cast())
        };
        assert_eq!(opened, 0, "{}", std::io::Error::last_os_error());
        for end in [ours, theirs] {
            // SAFETY: the call takes a descriptor and numbers. The child gets copies of the descriptors that
            // it needs.
            unsafe { libc::fcntl(end, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
        // SAFETY: both descriptors were just opened, and nothing else owns them.
        unsafe { Terminal { ours: File::from_raw_fd(ours), theirs: OwnedFd::from_raw_fd(theirs) } }
    }

    /// Makes `command` write its errors to this terminal.
    fn of_errors(&self, command: &mut Command) {
        command.stdout(Stdio::null());
        command.stderr(self.theirs.try_clone().unwrap());
    }
}

/// The output of a watch on a terminal, where each round overwrites the lines of the previous round.
fn drawn(colours: bool) -> String {
    let folder = Folder::new(&format!("watch-terminal-{colours}"));
    let Terminal { mut ours, theirs } = Terminal::open();
    let mut command = folder.linefill(&words("watch D14 --memory 1MiB --every 1s --rounds 2"));
    command.env("TERM", "xterm").env_remove("COLUMNS");
    match colours {
        true => command.env_remove("NO_COLOR"),
        false => command.env("NO_COLOR", "1"),
    };
    command.stdout(theirs).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut said = Vec::new();
    let mut piece = [0; 4096];
    // Reading from a terminal whose other end is closed returns an error.
    while let Ok(length @ 1..) = ours.read(&mut piece) {
        said.extend_from_slice(&piece[..length]);
    }
    assert_eq!(child.wait().unwrap().code(), Some(0));
    String::from_utf8(said).unwrap()
}

#[test]
fn a_watch_is_drawn_over_itself_and_has_no_colours_if_told_so() {
    for colours in [true, false] {
        let text = drawn(colours);
        let heads = text.matches(" UTC  round ").count();
        assert_eq!(heads, 2, "{text:?}");
        assert_eq!(text.matches("A\u{1b}[J").count(), 1, "{text:?}");
        assert!(text.contains("core clock, GHz") && text.contains('▅'), "{text:?}");
        assert_eq!(text.contains("\u{1b}[1m"), colours, "{text:?}");
    }
}

#[test]
fn a_watch_outlives_who_reads_it() {
    for (name, out) in [("full", full as fn() -> Stdio), ("closed", closed)] {
        let folder = Folder::new(&format!("watch-{name}"));
        let args = words("watch D14 --memory 1MiB --every 1s --rounds 2");
        let ran = Ran::of_stderr(folder.linefill(&args).stdout(out()));
        match name {
            "full" => ran.refused(&["standard output", "No space left"]),
            _ => ran.ok(),
        };
        let path = folder.at("linefill-watch/record.jsonl");
        let record = linefill::lab::read::read_any(&path).unwrap().record;
        assert_eq!(record.rounds.len(), 2, "{name}");
        assert_eq!(record.end.map(|end| end.interrupted), Some(false));
    }
}

/// The run gets no signal, because the terminal belongs to another session.
#[test]
fn a_run_outlives_the_terminal_that_shows_its_progress() {
    let folder = Folder::new("terminal");
    let mut terminal = Terminal::open();
    let mut command = folder.short(&["D14"]);
    terminal.of_errors(&mut command);
    let mut child = command.spawn().unwrap();
    drop(command);
    terminal.ours.read_exact(&mut [0]).unwrap();
    drop(terminal);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    has_record_and_report(&folder);
}

/// The kernel sends SIGHUP, and the terminal no longer accepts output.
#[test]
fn a_terminal_that_is_closed_ends_its_run_with_a_report() {
    let folder = Folder::new("hangup");
    let Terminal { mut ours, theirs } = Terminal::open();
    let mut command = folder.linefill(&words("run D14 D15 D19 --cpu 0 --memory 4MiB --budget 3s"));
    let line = theirs.as_raw_fd();
    // SAFETY: signal-safety(7) allows these calls; the descriptor is open until the child executes the
    // program.
    unsafe {
        command.pre_exec(move || {
            // `nohup` around the tests would make the child ignore the signal.
            libc::signal(libc::SIGHUP, libc::SIG_DFL);
            match libc::setsid() >= 0 && libc::ioctl(line, libc::TIOCSCTTY, 0) == 0 {
                true => Ok(()),
                false => Err(std::io::Error::last_os_error()),
            }
        });
    }
    command.stdin(theirs.try_clone().unwrap());
    command.stdout(theirs.try_clone().unwrap());
    command.stderr(theirs.try_clone().unwrap());
    let mut child = command.spawn().unwrap();
    drop((command, theirs));
    // After the first output line, something has been measured.
    let mut said = Vec::new();
    while !String::from_utf8_lossy(&said).contains("D14") {
        let mut piece = [0; 256];
        let length = ours.read(&mut piece).expect("the run is under way");
        said.extend_from_slice(&piece[..length]);
    }
    drop(ours);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(folder.record().interrupted, Some(true));
    assert!(folder.at("linefill-out/report.html").exists());
    let resumed = folder.run(&["run", "--resume"]).ok();
    assert!(resumed.err.contains("going on"), "{resumed:?}");
}

/// Ignores SIGHUP, as `nohup` does.
#[test]
fn a_run_that_is_told_to_ignore_the_end_of_its_terminal_goes_on() {
    let folder = Folder::new("nohup");
    let mut command = folder.short(&["D14"]);
    // SAFETY: signal-safety(7) allows this call, which takes only numbers.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGHUP, libc::SIG_IGN);
            Ok(())
        });
    }
    let mut run = UnderWay::start(&folder, command);
    run.until(10);
    let ran = run.signal("HUP").ok();
    assert!(!ran.err.contains("stopped early"), "{ran:?}");
    has_record_and_report(&folder);
}

#[test]
fn a_machine_sheet_that_ctrl_c_cut_short_infers_nothing_from_a_part_of_the_ladder() {
    let folder = Folder::new("machine-stopped");
    // On a busy machine it has not begun after a second.
    let after = |seconds| folder.stopped(seconds, &["machine", "--memory", "64MiB"]);
    let mut all = [1.2, 2.0, 3.0].into_iter().map(after);
    let ran = all.find(|ran| !ran.out.is_empty()).unwrap();
    assert_eq!(ran.status, Some(130), "{ran:?}");
    assert_has(&ran.err, &["no size is inferred"]);
    assert!(!ran.out.contains("resampled"), "{}", ran.out);
    assert!(!ran.out.contains("not the size that CPUID"), "{}", ran.out);
}
