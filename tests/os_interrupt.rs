//! Ctrl-C: the first asks, the second kills. Played in a process of its own.
#![cfg(feature = "std")]

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const SIGINT: i32 = 2;
const SIGTERM: i32 = 15;

#[test]
fn the_first_signal_sets_the_flag_and_the_second_kills() {
    for (name, number) in [("INT", SIGINT), ("TERM", SIGTERM)] {
        // Whoever runs the tests in the background has told them to ignore SIGINT.
        let mut child = Command::new("env")
            .arg("--default-signal=INT,TERM")
            .arg(std::env::current_exe().unwrap())
            .args([
                "--ignored",
                "--exact",
                "--nocapture",
                "child_waits_for_the_flag",
            ])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut wait_for = |word: &str| {
            let found = lines.by_ref().any(|line| line.unwrap().contains(word));
            assert!(found, "the child never said {word:?}");
        };
        wait_for("ready");
        signal(&child, name);
        wait_for("asked");
        signal(&child, name);
        assert_eq!(
            child.wait().unwrap().signal(),
            Some(number),
            "second {name}"
        );
    }
}

#[test]
fn an_ignored_signal_stays_ignored() {
    let exe = std::env::current_exe().unwrap();
    let status = Command::new("sh")
        .args([
            "-c",
            "trap '' INT; exec \"$0\" --ignored --exact child_signals_itself",
        ])
        .arg(exe)
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "{status}");
}

fn signal(child: &Child, name: &str) {
    send(child.id(), name);
}

fn send(pid: u32, name: &str) {
    let status = Command::new("sh")
        .args(["-c", &format!("kill -{name} {pid}")])
        .status()
        .unwrap();
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
    // The second signal ends this process here.
    std::thread::sleep(Duration::from_secs(20));
}

#[test]
#[ignore = "needs an ignored signal; its parent test runs it"]
fn child_signals_itself() {
    let flag = linefill::os::interrupt::install().unwrap();
    send(std::process::id(), "INT");
    std::thread::sleep(Duration::from_millis(50));
    assert!(
        !flag.load(Ordering::Relaxed),
        "the ignored signal was taken over"
    );
}
