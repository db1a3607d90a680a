//! `linefill sharing -- COMMAND`: false sharing between the threads of a program, found with valgrind or the
//! PMU.
#![cfg(feature = "lab")]

use std::fs;
use std::process::Command;

use crate::common::cli::{Folder, UnderWay, assert_has, words};
use crate::common::untested;
use serde_json::{Value, json};

const SOURCE: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct counters { volatile long hits, misses; int limit; };
struct counters counters __attribute__((aligned(64)));
struct { volatile long first; char between[120]; volatile long second; } apart __attribute__((aligned(64)));
volatile long both __attribute__((aligned(64)));
char rest[64] __attribute__((aligned(64)));
struct slot { volatile int id; union { volatile long count[2]; char bytes[16]; }; } slots[2] __attribute__((aligned(64)));
volatile long *heap;
pthread_barrier_t ready;

static void *one(void *unused) {
    pthread_barrier_wait(&ready);
    for (int i = 0; i < 2000; i++) { counters.hits++; apart.first++; both++; heap[0]++; slots[0].count[1]++; }
    pthread_barrier_wait(&ready);
    return unused;
}

static void *other(void *unused) {
    pthread_barrier_wait(&ready);
    for (int i = 0; i < 2000; i++) { counters.misses++; apart.second++; both++; heap[1] += counters.limit; slots[1].id++; }
    pthread_barrier_wait(&ready);
    return unused;
}

int main(int count, char **words) {
    pthread_t threads[2];
    heap = aligned_alloc(64, 64);
    pthread_barrier_init(&ready, 0, 2);
    pthread_create(&threads[0], 0, one, 0);
    pthread_create(&threads[1], 0, other, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    printf("said %s\n", count > 1 ? words[1] : "nothing");
    return count > 2 ? 3 : 0;
}
"#;

/// A folder with the program, compiled with these options. `None` without a compiler or valgrind.
fn with_program(name: &str, options: &[&str]) -> Option<Folder> {
    if !(untested::starts("cc") && untested::starts("valgrind")) {
        return None;
    }
    let folder = Folder::new(name);
    fs::write(folder.at("app.c"), SOURCE).unwrap();
    let mut cc = Command::new("cc");
    cc.args(options).args(["-g", "-O1", "-pthread", "-o", "app", "app.c"]);
    assert!(cc.current_dir(folder.at("")).status().unwrap().success());
    Some(folder)
}

#[test]
fn lines_bytes_threads_and_variables_are_named() {
    for (name, option) in [("traced-pie", "-pie"), ("traced-fixed", "-no-pie")] {
        let Some(folder) = with_program(name, &[option]) else {
            return;
        };
        let ran = folder.run(&words("sharing --by valgrind --json -- ./app hello")).ok();
        assert!(ran.err.contains("said hello"), "{ran:#?}");
        let value = ran.json();
        assert_eq!(value["threads"], 3);
        let lines = value["lines"].as_array().unwrap();
        assert_eq!(lines.len(), 3, "{value:#}");
        let of = |name: Option<&str>| {
            let is = |line: &&Value| line["variables"][0]["name"].as_str() == name;
            lines.iter().find(is).unwrap_or_else(|| panic!("{name:?} in {value:#}"))
        };
        let named = of(Some("counters"));
        // Heap memory has no name.
        let heap = of(None);
        let parts = named["threads"].as_array().unwrap();
        let part = |place: usize| (&parts[place]["writes"], &parts[place]["reads"]);
        let one = parts.iter().position(|part| part["writes"] == json!([[0, 8]])).unwrap();
        assert_eq!(part(one), (&json!([[0, 8]]), &json!([[0, 8]])));
        assert_eq!(part(1 - one), (&json!([[8, 8]]), &json!([[8, 12]])));
        assert_eq!(parts[one]["accesses"], 4000, "a load and a store each");
        assert!(heap["variables"].as_array().unwrap().is_empty());
        assert_eq!(heap["at_once"], true);
        // Each thread makes a load and a store, 2000 times. In each round of these four accesses the line
        // moves to the other core and back.
        let in_turns = json!({
            "accesses": 8000, "transfers": 3999, "invalidations": 4000, "rfos": 4000,
            "upgrades": 2000
        });
        assert_eq!(heap["in_turns"], in_turns);
        assert!(value["truly_shared_lines"].as_u64() >= Some(1), "both: {value:#}");
        let command = named["measured_by"].as_str().unwrap();
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        folder.run(&[&words[..], &["--predict"]].concat()).ok();
    }
}

#[test]
fn the_text_says_who_touches_what_and_what_to_do_next() {
    let Some(folder) = with_program("traced-text", &[]) else {
        return;
    };
    let ran = folder.run(&words("sharing --by valgrind -- ./app goodbye fail")).ok();
    assert_has(
        &ran.out,
        &[
            "writes counters.hits; 4000 accesses",
            "writes counters.misses, reads counters.limit; 6000 accesses",
            "writes slots[0].count[1]; 4000 accesses",
            "writes slots[1].id; 4000 accesses",
            "writes byte 0 to byte 7",
            "if they take turns: 3999 transfers, 4000 invalidations, 4000 RFOs (2000 of them \
             upgrades)",
            "ended with exit status: 3",
            "what it costs here: linefill sharing --offset",
            "3 lines are shared falsely by threads with at least 100 accesses each.",
            "at the same bytes (locks, queues)",
        ],
    );
    assert!(!ran.out.contains("apart"), "{}", ran.out);
    let seldom = folder.run(&words("sharing --by valgrind --least 10000 -- ./app")).ok();
    assert!(
        seldom
            .out
            .contains("No line is shared falsely by threads with at least 10000 accesses each."),
        "{}",
        seldom.out
    );
}

/// The program makes no access between the signal and its end.
#[test]
fn an_idle_program_is_stopped() {
    if !untested::starts("valgrind") {
        return;
    }
    let folder = Folder::new("traced-idle");
    let made = Command::new("mkfifo").arg(folder.at("pipe")).status();
    assert!(made.unwrap().success());
    let idle = words("sharing --by valgrind -- sh -c");
    let idle = [&idle[..], &["echo > ready; read nothing < pipe"]].concat();
    let mut run = UnderWay::go_on(folder.at("ready"), &mut folder.linefill(&idle));
    run.until(1);
    assert_eq!(run.signal("TERM").status, Some(130));
}

#[test]
fn without_debug_information_bytes_are_named() {
    let Some(folder) = with_program("traced-stripped", &["-g0"]) else {
        return;
    };
    let strip =
        Command::new("objcopy").args(["--strip-debug", "app"]).current_dir(folder.at("")).status();
    let Ok(stripped) = strip else {
        return untested::tool("objcopy");
    };
    assert!(stripped.success());
    let ran = folder.run(&["sharing", "--by", "valgrind", "--", "./app"]).ok();
    assert_has(
        &ran.out,
        &[
            "Fields have no names",
            "no debug information",
            "writes counters+0 to counters+7; 4000 accesses",
        ],
    );
}

#[test]
fn what_cannot_be_traced_is_named() {
    let folder = Folder::new("traced-refused");
    let mut none = folder.linefill(&["sharing", "--by", "valgrind", "--", "true"]);
    crate::common::cli::Ran::of(none.env("PATH", "/nonexistent"))
        .refused(&["valgrind", "cannot be run here"]);
    let refused = |args: &[&str], parts: &[&str]| {
        folder.run(&[&["sharing"], args].concat()).refused(parts);
    };
    refused(&["--line", "256", "--", "true"], &["--line 256", "128"]);
    refused(&["--offset", "0", "--", "true"], &["--offset"]);
    refused(&["--least", "0", "--", "true"], &["'0'"]);
    refused(&["--"], &["--offset"]);
    refused(&["--by", "valgrind", "--pid", "1"], &["--by valgrind", "cannot join process 1"]);
    refused(&["--pid", "0"], &["'0'", "--pid"]);
    refused(&["--pid", "1", "--", "true"], &["--pid", "cannot be used with"]);
    refused(&["--pid", "1", "--for", "0s"], &["'0s'", "a time is"]);
    refused(&["--for", "1s", "--", "true"], &["--pid"]);
    refused(&["--by", "pmu", "--offset", "0"], &["--pid"]);
    if untested::starts("valgrind") {
        refused(
            &["--by", "valgrind", "--", "./nothing"],
            &["did not run ./nothing", "No such file"],
        );
    }
}

#[test]
fn a_process_is_watched_by_the_pmu_or_the_reason_is_named() {
    let Some(folder) = with_program("sampled", &[]) else {
        return;
    };
    // A command can be watched both ways. If it is traced, the output gives the reason why the PMU was not
    // used.
    let ran = folder.run(&["sharing", "--json", "--", "./app"]).ok();
    let value = ran.json();
    let myself = std::process::id().to_string();
    let pid = ["sharing", "--pid", &myself, "--for", "1s", "--json"];
    if value["by"]["tool"] == "pmu" {
        let watched = folder.run(&pid).ok().json();
        assert_eq!(watched["by"]["tool"], "pmu", "{watched:#}");
        folder.run(&["sharing", "--pid", "4194304"]).refused(&["--pid 4194304", "no such process"]);
        let nothing = folder.run(&["sharing", "--", "./nothing"]);
        nothing.refused(&["./nothing", "not run"]);
        return;
    }
    let reason = value["by"]["not_by_pmu"].as_str().unwrap();
    assert!(!reason.is_empty(), "{value:#}");
    folder.run(&pid).refused(&["--pid", reason, "-- COMMAND"]);
    folder.run(&["sharing", "--by", "pmu", "--", "./app"]).refused(&["--by pmu", reason]);
    untested::machine(&format!("accesses are not sampled: {reason}"));
}
