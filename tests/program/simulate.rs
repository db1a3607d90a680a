//! `linefill simulate`: traces from files, pipes and experiments; tables, JSON and maps.
#![cfg(feature = "lab")]

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use crate::common::cli::{Folder, assert_has, words};
use linefill::sim::trace::{Decoder, MAGIC};
use linefill::sim::{Op, Reference};
use serde_json::Value;

/// The stored trace of a small program: 67,143 references.
const TRACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/trace/program.lft");

/// Caches for which cachegrind counts 56558 233 233 5448 995 739 5137 800 442.
const CONFIG: &str = "L1i=32K/8,L1d=32K/8,L2=1M/16";

/// The misses of a level, by kind.
fn misses(config: &Value, level: usize) -> [u64; 3] {
    ["fetches", "reads", "writes"]
        .map(|kind| config["levels"][level][kind]["misses"].as_u64().unwrap())
}

#[test]
fn json_has_cachegrinds_counts_for_each_of_several_configurations() {
    let folder = Folder::new("simulate-json");
    let other = "L1i=4K/2,L1d=4K/2,L2=32K/4";
    let args = ["simulate", "--config", CONFIG, "--config", other, "--trace", TRACE, "--json"];
    let value = folder.run(&args).ok().json();
    assert_eq!(value["references"]["total"], 67_143);
    let [first, second] = [0, 1].map(|index| &value["configs"][index]);
    assert_eq!(first["config"], "L1i=32K/8/64:lru,L1d=32K/8/64:lru,L2=1M/16/64:lru");
    assert_eq!(misses(first, 0), [233, 0, 0]);
    assert_eq!(misses(first, 1), [0, 995, 800]);
    assert_eq!(misses(first, 2), [233, 739, 442]);
    assert_eq!(misses(second, 2), [634, 1603, 801]);
}

#[test]
fn a_trace_comes_by_a_pipe_as_lackey_prints_it() {
    let folder = Folder::new("simulate-pipe");
    let mut command =
        folder.linefill(&["simulate", "--config", "L1d=1K/2", "--trace", "-", "--json"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    for line in 0..2000 {
        writeln!(pipe, "I  00401000,3\n L {:08x},8\n==1== noise", line * 64).unwrap();
    }
    drop(pipe);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["references"]["fetches"], 2000);
    assert_eq!(misses(&value["configs"][0], 0), [0, 2000, 0]);
}

/// The stored trace has the compact form. Converted to text and packed again, it must have the same bytes.
#[test]
fn a_packed_trace_holds_the_same_and_writes_over_nothing() {
    let folder = Folder::new("simulate-pack");
    let simulate = |trace: &str, pack: &str| {
        let args = ["simulate", "--config", CONFIG, "--trace", trace, "--json"];
        let packing: &[&str] = if pack.is_empty() { &[] } else { &["--pack", pack] };
        folder.run(&[&args, packing].concat())
    };
    let mut lines = Vec::new();
    let mut text = |reference: Reference| {
        let kind = match reference.op {
            Op::Fetch => "I ",
            Op::Load => " L",
            Op::Store => " S",
            _ => " M",
        };
        writeln!(lines, "{kind} {:08x},{}", reference.address, reference.bytes).unwrap();
    };
    let kept = fs::read(TRACE).unwrap();
    Decoder::default().decode(&kept[MAGIC.len()..], &mut text).unwrap();
    fs::write(folder.at("text"), lines).unwrap();

    let of_text = simulate("text", "packed").ok().json();
    assert_eq!(fs::read(folder.at("packed")).unwrap(), kept);
    let of_packed = simulate("packed", "").ok().json();
    assert_eq!(of_text["configs"], of_packed["configs"]);

    let args =
        ["simulate", "--config", CONFIG, "--trace", "text", "--pack", "both", "--html", "both"];
    folder.run(&args).refused(&["--html and --pack", "same file"]);
    assert!(!folder.at("both").exists());
    let refused = simulate("text", "text");
    assert_eq!(refused.status, Some(2));
    assert!(refused.err.contains("--pack text: the file exists; give a new name"));
    assert!(fs::metadata(folder.at("text")).unwrap().len() > 100_000);
    // A trace that cannot be read must not leave part of an output file.
    fs::write(folder.at("long"), " L 1000,8\n L 1000,5000\n").unwrap();
    assert_eq!(simulate("long", "half").status, Some(2));
    assert!(!folder.at("half").exists());
}

#[test]
fn a_table_and_maps_show_what_was_counted() {
    let folder = Folder::new("simulate-table");
    let page = folder.at("map.html");
    let args = [
        "simulate",
        "--config",
        "L1i=32K/8,L1d=32K/8:plru:stride,L2=1M/16,dTLB=16/4,STLB=64/4",
        "--trace",
        TRACE,
        "--heat",
        "--html",
        page.to_str().unwrap(),
    ];
    let text = folder.run(&args).ok().out;
    assert_has(&text, &["L1i", "useful", "memory: ", "page walks", "L1d of ", "misses per set"]);
    // 64 sets fill one row.
    assert!(text.lines().any(|line| line.chars().count() == 8 + 64), "{text}");
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("<rect") && page.contains("set 63: ") && !page.contains("http"));
}

#[test]
fn an_experiments_own_traces_are_simulated() {
    let folder = Folder::new("simulate-experiment");
    let args = words(
        "simulate --config L1d=32K/8 --experiment D15 --series NPAD=* \
         --x 64K --json",
    );
    let value = folder.run(&args).ok().json();
    let cases = value["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 4);
    for case in cases {
        // Elements of 8 bytes share a line of 64 bytes; larger elements do not. 64 KiB do not fit, so every
        // line misses.
        let a_step = if case["series"] == "NPAD=0" { 0.125 } else { 1.0 };
        let operations = case["operations"].as_u64().unwrap();
        let wanted = (operations as f64 * a_step) as u64;
        assert_eq!(misses(&case["configs"][0], 0), [0, wanted, 0], "{case}");
    }
    let args = words("simulate --config L1d=32K/8 --experiment D15 --memory 64K");
    let text = folder.run(&args).ok().out;
    assert!(text.contains("all numbers per operation"), "{text}");
}

#[test]
fn an_experiments_case_has_a_map_of_the_sets_that_missed() {
    let folder = Folder::new("simulate-case-map");
    let page = folder.at("map.html");
    let args = words("simulate --config L1d=32K/8 --experiment D15 --series NPAD=7 --x 64K");
    let html = ["--heat", "--html", page.to_str().unwrap()];
    let text = folder.run(&[&args[..], &html].concat()).ok().out;
    assert!(text.contains("L1d of NPAD=7 at 65536"), "{text}");
    assert!(text.contains("misses per set, 16 at most"), "{text}");
    assert!(fs::read_to_string(page).unwrap().contains("set 63: 16 misses of 16"));
    let value = folder.run(&[&args[..], &["--heat", "--json"]].concat()).ok().json();
    let sets = &value["cases"][0]["configs"][0]["levels"][0]["sets"]["misses"];
    assert_eq!(sets.as_array().map(Vec::len), Some(64));
}

#[test]
fn the_protocol_and_its_messages_are_printed() {
    let folder = Folder::new("simulate-mesi");
    let text = folder.run(&["simulate", "--mesi"]).ok().out;
    assert_has(&text, &["local read", "S/E read", "among 2 cores", "invalidated"]);
    let value = folder.run(&["simulate", "--mesi", "8", "--json"]).ok().json();
    let rows = value["transitions"].as_array().unwrap();
    let written = rows.iter().find(|row| row["from"] == "S" && row["event"] == "local write");
    assert_eq!(written.unwrap()["messages"]["invalidations"], 7);
    folder.run(&["simulate", "--mesi", "1"]).refused(&["1 is not in 2"]);
}

/// Threads that increment words of the same line send messages for it each time. A single thread sends none,
/// nor do threads on different lines.
#[test]
fn an_experiments_threads_talk_in_the_model() {
    let folder = Folder::new("simulate-threads");
    let run = folder.run(&["simulate", "--mesi", "--experiment", "B8", "--json"]);
    let value = run.ok().json();
    let cases = value["cases"].as_array().unwrap();
    let requests = |case: &Value| {
        ["reads", "owns", "announcements"]
            .map(|kind| case["messages"][kind].as_u64().unwrap())
            .iter()
            .sum::<u64>()
    };
    let mut shared = 0;
    for case in cases.iter().filter(|case| case["cores"].is_u64()) {
        let alone = case["cores"] == 1;
        let apart = case["series"].as_str().unwrap().ends_with("apart");
        if alone || apart {
            assert_eq!(requests(case), 0, "{case}");
        } else {
            assert!(requests(case) >= case["operations"].as_u64().unwrap(), "{case}");
            shared += 1;
        }
    }
    // With a single CPU there is no other thread.
    let several = std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1);
    assert!(shared > 0 || !several);
    folder
        .run(&["simulate", "--mesi", "--experiment", "D14"])
        .refused(&["no case of D14 is one of several threads"]);
}

#[test]
fn what_cannot_be_simulated_is_refused() {
    let folder = Folder::new("simulate-refused");
    let run = |args: &[&str]| folder.run(&[&["simulate"], args].concat());
    run(&["--config", "L1d=32Q/8", "--trace", TRACE]).refused(&["`L1d=32Q/8`", "SIZE/WAYS"]);
    run(&["--config", "L1d=32K/8:lfu", "--trace", TRACE]).refused(&["`lfu`", "plru"]);
    run(&["--config", "L1d=1K/2,L2=8K/4:excl:next", "--trace", TRACE]).refused(&[
        "L2=8K/4:excl:next",
        "level 2 is exclusive",
        "ni or incl",
    ]);
    run(&["--config", "L1d=32K/8", "--trace", "absent"]).refused(&["absent cannot be opened"]);
    run(&["--config", "L1d=32K/8"]).refused(&["--trace"]);
    run(&["--trace", TRACE]).refused(&["--config"]);
    run(&["--config", "L1d=32K/8", "--experiment", "D11"]).refused(&["no case of D11"]);
    let of_d15 = |choice: [&str; 2]| {
        run(&[&["--config", "L1d=32K/8", "--experiment", "D15"][..], &choice].concat())
    };
    of_d15(["--x", "3"]).refused(&["D15 has no case at --x 3; it has some at 4096, 8192"]);
    of_d15(["--series", "NPAD"]).refused(&["D15 has no series `NPAD`; its series are: NPAD=0;"]);
    // The cases of B8 are in the order of their places: a series is named once all the same.
    let of_b8 = ["simulate", "--mesi", "--experiment", "B8", "--series", "add*"];
    let refused = folder.run(&of_b8).refused(&["B8 has no series `add*`"]);
    let named = refused.err.split_once("its series are: ").unwrap().1;
    let mut series: Vec<&str> = named.trim().split("; ").collect();
    let count = series.len();
    series.sort_unstable();
    series.dedup();
    assert_eq!(series.len(), count, "{named}");
    run(&["--config", "L1d=32K/8", "--experiment", "D99"]).refused(&["`D99`"]);
    run(&words("--config L1d=32K/8 --experiment D15 --series x")).refused(&["no series", "NPAD=0"]);
    let text = folder.at("text");
    fs::write(&text, "no trace\n").unwrap();
    run(&["--config", "L1d=32K/8", "--trace", "text"]).refused(&["no reference", "lackey"]);
    fs::write(&text, b"lftrace1\xE3\xC0").unwrap();
    run(&["--config", "L1d=32K/8", "--trace", "text"]).refused(&["corrupt", "byte 9"]);
}

/// Each of these arguments once took minutes or gigabytes, or was accepted although it is invalid.
#[test]
fn what_would_take_for_ever_or_all_memory_is_refused_with_the_range() {
    let folder = Folder::new("simulate-limits");
    let run = |args: &[&str]| folder.run(&[&["simulate"], args].concat());
    run(&["--config", "L1d=64G/16", "--trace", TRACE]).refused(&["1073741824 lines", "33554432"]);
    let four = "L1d=1G/16,L2=1G/16,L3=1G/16,L4=1G/16";
    run(&["--config", four, "--trace", TRACE]).refused(&["67108864 lines", "33554432"]);
    let many = ["--config", "L1d=1G/16"].repeat(10);
    run(&[&many[..], &["--trace", TRACE]].concat()).refused(&["167772160 lines", "134217728"]);
    let cases = ["--config", "L1d=1G/16", "--experiment", "D15"];
    run(&cases).refused(&["134217728", "--series"]);
    run(&["--config", "L1d=32K/8,L2=1G/1/1G:incl", "--trace", TRACE])
        .refused(&["a line of 1073741824 bytes", "4096"]);
    run(&["--config", "L1d=32K/8:next:stride:next", "--trace", TRACE]).refused(&["twice"]);
    let laps = "18446744073709551615";
    let case = ["--experiment", "D15", "--series", "NPAD=0", "--laps", laps];
    run(&[&["--config", "L1d=32K/8"], &case[..]].concat()).refused(&[laps, "1..=1000000"]);
    fs::write(folder.at("large"), " L 1000,4294967295\n").unwrap();
    run(&["--config", "L1d=32K/8", "--trace", "large"]).refused(&[
        "large, line 1",
        "4294967295 bytes",
        "0 to 4096",
    ]);
    run(&["--config", "L1d=32K/8", "--trace", "/dev/zero"]).refused(&["line 1", "1048576"]);
}
