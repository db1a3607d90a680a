//! Ctrl-C: the first signal asks, the second one kills. Also `kill`, and a terminal that is closed. The tests
//! run in a separate process.
#![cfg(feature = "std")]

use crate::common::child;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const SIGINT: i32 = 2;
const SIGTERM: i32 = 15;

#[test]
fn the_first_signal_sets_the_flag_and_the_second_kills() {
    for (name, number) in [("INT", SIGINT), ("TERM", SIGTERM)] {
        // Tests in the background of a shell inherit an ignored SIGINT.
        let mut child = Command::new("env")
            .arg("--default-signal=INT,TERM")
            .arg(std::env::current_exe().unwrap())
            .args(child::arguments(module_path!(), "child_waits_for_the_flag"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = Lines::of(&mut child);
        lines.until("ready");
        signal(&child, name);
        lines.until("asked");
        signal(&child, name);
        assert_eq!(child.wait().unwrap().signal(), Some(number), "second {name}");
    }
}

/// One SIGHUP comes from the terminal and one from its shell.
#[test]
fn a_terminal_that_is_closed_asks_twice_and_kills_nobody() {
    let mut child = Command::new("env")
        .arg("--default-signal=HUP,TERM")
        .arg(std::env::current_exe().unwrap())
        .args(child::arguments(module_path!(), "child_waits_for_the_flag"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = Lines::of(&mut child);
    lines.until("ready");
    signal(&child, "HUP");
    lines.until("asked");
    signal(&child, "HUP");
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(child.try_wait().unwrap(), None, "the second one killed it");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn an_ignored_signal_stays_ignored() {
    for name in ["INT", "HUP"] {
        let ignoring = format!("trap '' {name}; ");
        let status = child::after(&ignoring, module_path!(), "child_signals_itself")
            .env("LINEFILL_TEST_SIGNAL", name)
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success(), "{name}: {status}");
    }
}

/// The output of a child.
struct Lines(std::io::Lines<BufReader<ChildStdout>>);

impl Lines {
    fn of(child: &mut Child) -> Self {
        Lines(BufReader::new(child.stdout.take().unwrap()).lines())
    }

    /// Reads lines until one contains `word`.
    fn until(&mut self, word: &str) {
        let found = self.0.by_ref().any(|line| line.unwrap().contains(word));
        assert!(found, "the child never said {word:?}");
    }
}

fn signal(child: &Child, name: &str) {
    send(child.id(), name);
}

fn send(pid: u32, name: &str) {
    let status = Command::new("sh").args(["-c", &format!("kill -{name} {pid}")]).status().unwrap();
    assert!(status.success());
}

#[test]
#[ignore = "waits for signals; its parent test runs it"]
fn child_waits_for_the_flag() {
    let flag = linefill::os::interrupt::install().unwrap();
    assert!(!flag.load(Ordering::Relaxed));
    println!("ready");
    let start = Instant::now();
    while !flag.load(Ordering::Relaxed) {
        assert!(start.elapsed() < Duration::from_secs(20), "no signal came");
        std::thread::sleep(Duration::from_millis(1));
    }
    println!("asked");
    // A second signal kills this process here.
    std::thread::sleep(Duration::from_secs(20));
}

#[test]
#[ignore = "needs an ignored signal; its parent test runs it"]
fn child_signals_itself() {
    let flag = linefill::os::interrupt::install().unwrap();
    let name = std::env::var("LINEFILL_TEST_SIGNAL").unwrap_or_else(|_| "INT".to_owned());
    send(std::process::id(), &name);
    std::thread::sleep(Duration::from_millis(50));
    assert!(!flag.load(Ordering::Relaxed), "the ignored signal was taken over");
}
