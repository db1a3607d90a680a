//! `linefill sharing`: fields of a binary and plain offsets, predicted and measured; refused input.
#![cfg(feature = "lab")]

use std::fs;
use std::process::Command;

use crate::common::cli::{Folder, Ran, assert_has, words};
use crate::common::untested;
use linefill::os::{allowed, pin};
use serde_json::Value;

const SOURCE: &str = "\
struct slot { long hits; int misses; };
struct pool { struct slot stats[3]; char name[100]; long limit; } the_pool;
int main(void) { return the_pool.name[0]; }
";

/// A folder with `pool`, a program with debug information. `None` without a compiler; if `CI` is set, a
/// missing compiler is an error.
fn with_program(name: &str) -> Option<Folder> {
    let folder = Folder::new(name);
    fs::write(folder.at("pool.c"), SOURCE).unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-g", "-o", "pool", "pool.c"]).current_dir(folder.at(""));
    match cc.status() {
        Ok(status) => assert!(status.success()),
        Err(error) => {
            untested::tool(&format!("cc ({error})"));
            return None;
        }
    }
    Some(folder)
}

fn sharing(folder: &Folder, args: &[&str]) -> Ran {
    folder.run(&[&["sharing"], args].concat())
}

/// The shared lines: number, whether falsely shared, whether truly shared.
fn shared(value: &Value) -> Vec<(u64, bool, bool)> {
    let shared = value["shared"].as_array().unwrap().iter();
    let flag = |one: &Value, name: &str| one[name].as_bool().unwrap();
    shared
        .map(|one| {
            let line = one["line"].as_u64().unwrap();
            (line, flag(one, "false_sharing"), flag(one, "true_sharing"))
        })
        .collect()
}

#[test]
fn fields_of_a_type_are_found_and_predicted() {
    let Some(folder) = with_program("sharing-type") else {
        return;
    };
    let fields = words(
        "pool --type pool --field stats[0].hits --field stats[2].misses \
         --field limit --predict",
    );
    let writes = words("--writes 0:stats[0].hits,1:stats[2].misses --reads 0:limit,1:limit");
    let args = [&fields[..], &writes, &["--start", "0"]].concat();
    let text = sharing(&folder, &args).ok().out;
    assert_has(
        &text,
        &[
            "pool, 160 bytes, aligned to 8, lines of 64 bytes",
            "Line 0: false sharing: thread 0 writes stats[0].hits, thread 1 writes \
             stats[2].misses.",
            "thread 1 asks for a line 1.00 times per round",
            "Not measured: only a prediction was asked for.",
            "Keep `stats[0].hits` and `stats[2].misses` on lines of their own",
            "They take 128 bytes then, and 12 now",
        ],
    );
    let value = sharing(&folder, &[&args[..], &["--json"]].concat()).ok().json();
    assert_eq!(shared(&value), [(0, true, false)]);
    assert_eq!(value["fields"][1]["offset"], 40);
    assert_eq!(value["fields"][2]["lines"], serde_json::json!([2]));
    assert_eq!(value["starts_possible"], 8);
    // If the array starts at byte 24 of a line, the third slot is on the next line.
    assert_eq!(value["starts_with_false_sharing"], 3);
    assert_eq!(value["measured"]["untestable"], "only a prediction was asked for");
    let value =
        sharing(&folder, &[&fields[..], &writes, &["--start", "32", "--json"]].concat()).json();
    assert_eq!(shared(&value), []);
}

#[test]
fn true_sharing_is_told_from_false_sharing() {
    let folder = Folder::new("sharing-true");
    let args = words(
        "--offset 0 --offset 64:4 --writes 0:0,1:0 --reads 1:64 --predict \
         --json --align 64",
    );
    let value = sharing(&folder, &args).ok().json();
    assert_eq!(shared(&value), [(0, false, true)]);
    assert_eq!(value["threads"][1]["requests_a_round"], 1.0);
    let advice = value["advice"][0].as_str().unwrap();
    assert!(advice.contains("Give each thread its own"), "{advice}");
    // Threads that only read share a line without harm.
    let args = words("--offset 0 --offset 8 --reads 0:0,1:8 --predict");
    let text = sharing(&folder, &args).ok().out;
    assert!(text.contains("nothing to pad"), "{text}");
}

#[test]
fn neighbours_are_measured_beside_padded_ones() {
    let folder = Folder::new("sharing-measured");
    let args = words("--offset 0 --offset 8 --offset 128 --json");
    for way in ["atomic", "plain"] {
        let ran = sharing(&folder, &[&args[..], &["--way", way]].concat()).ok();
        let measured = &ran.json()["measured"];
        if allowed().len() < 2 {
            assert!(measured["untestable"].as_str().unwrap().contains("2 cores"));
            untested::machine("one CPU measures no sharing");
            continue;
        }
        let threads = measured["threads"].as_array().unwrap();
        assert!(threads.len() >= 2, "{measured}");
        // If not all threads can be measured, those that share are.
        assert_eq!(threads[0]["thread"], 0);
        assert_eq!(threads[1]["thread"], 1);
        // On a busy machine, the measured time per operation may be negative. Then a reason is in its place,
        // and there is no ratio.
        let timed = |of: &Value| match of["untestable"].as_str() {
            Some(reason) => reason.contains("came out negative"),
            None => of["lo"].is_f64(),
        };
        let in_order = |of: &Value| {
            let number = |end: &str| of[end].as_f64();
            assert!(
                number("lo") <= number("middle") && number("middle") <= number("hi"),
                "{ran:#?}"
            );
        };
        assert!(timed(&measured["round_trip_ns"]), "{ran:#?}");
        in_order(&measured["round_trip_ns"]);
        let layouts = measured["layouts"].as_array().unwrap();
        assert_eq!(layouts.len(), 3);
        for layout in layouts {
            assert!(timed(&layout["ns_a_round"]), "{ran:#?}");
            in_order(&layout["ns_a_round"]);
            in_order(&layout["over_own_lines"]);
            in_order(&layout["over_pairs_of_lines"]);
        }
    }
}

/// A child process inherits the affinity mask of the thread that starts it.
#[test]
fn on_one_cpu_it_predicts_and_says_that_it_cannot_measure() {
    let folder = Folder::new("sharing-one-cpu");
    let _pinned = pin(allowed()[0]).unwrap();
    let args = ["--offset", "0", "--offset", "8"];
    let text = sharing(&folder, &args).ok().out;
    assert_has(
        &text,
        &[
            "Line 0: false sharing",
            "asks for a line 1.00 times per round",
            "Not measured: measuring takes 2 cores, and there is 1 that this process may use.",
            "Keep `0` and `8`",
        ],
    );
    assert!(!text.contains("It pays"), "{text}");
}

#[test]
fn what_cannot_be_shared_is_refused() {
    let folder = Folder::new("sharing-refused");
    let two = ["--offset", "0", "--offset", "8"];
    let run = |args: &[&str]| sharing(&folder, &[&two[..], args].concat());
    run(&["--writes", "0:4"]).refused(&["--writes", "`4` was not given", "`0`, `8` were"]);
    run(&["--writes", "a:0"]).refused(&["`a` is not a thread", "0 to 255"]);
    run(&["--reads", "0"]).refused(&["`0` is not THREAD:FIELD", "`0:0`"]);
    run(&["--writes", "0:0,0:8"]).refused(&["one thread alone", "--writes"]);
    run(&["--start", "4"]).refused(&["--start 4", "a multiple of 8 below 64"]);
    run(&["--start", "64"]).refused(&["--start 64", "below 64"]);
    run(&["--align", "3"]).refused(&["'3'", "a power of two from 1 to 4096"]);
    run(&["--line", "63"]).refused(&["'63'", "64, 128"]);
    run(&["--offset", "8"]).refused(&["`8` was given twice"]);
    run(&["--offset", "-8"]).refused(&["'-8'", "8, 8:4"]);
    run(&["--offset", "8:0"]).refused(&["'8:0'", "8, 8:4"]);
    run(&["--offset", "16777216"]).refused(&["first 16777216 bytes"]);
    run(&["--cpu", "8191"]).refused(&["CPU 8191"]);
    run(&["--way", "slow"]).refused(&["'slow'", "atomic, plain"]);
    sharing(&folder, &[]).refused(&["--offset"]);
    sharing(&folder, &["--offset", "8"]).refused(&["one thread alone"]);
    sharing(&folder, &["absent"]).refused(&["--type"]);
    let absent = ["absent", "--type", "pool"];
    sharing(&folder, &absent).refused(&["which fields of `pool`", "--field"]);
    sharing(&folder, &[&absent[..], &["--field", "x"]].concat()).refused(&["absent"]);
}

#[test]
fn what_is_no_field_is_refused_with_what_there_is() {
    let Some(folder) = with_program("sharing-fields") else {
        return;
    };
    let run = |args: &[&str]| sharing(&folder, &[&["pool"], args].concat());
    run(&["--type", "pond", "--field", "x"]).refused(&["`pond`"]);
    run(&["--type", "pool", "--field", "hits"]).refused(&["`hits`", "`stats`, `name`, `limit`"]);
    run(&["--type", "pool", "--field", "stats[3].hits"]).refused(&["no element 3: 3 there"]);
    let twice = ["--type", "pool", "--field", "limit", "--field", "limit"];
    run(&twice).refused(&["`limit` was given twice"]);
    let fields = ["--type", "pool", "--field", "limit", "--field", "name"];
    run(&[&fields[..], &["--writes", "0:limit,1:stats"]].concat())
        .refused(&["`stats` was not given", "`limit`, `name` were"]);
}
