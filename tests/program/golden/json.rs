//! The output of commands with `--json`: complete if it depends only on the arguments; if it depends on the
//! host, only its shape (keys and types).

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

use super::reports::with_records;
use crate::common::cli::{Folder, words};
use crate::common::golden::{Golden, Hash};
use crate::common::software::refused;
use crate::common::untested;

/// A small trace, recorded with valgrind's lackey.
const TRACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/trace/program.lft");

/// A source whose types have the same layout with any compiler.
const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/layout/plain.c");

#[test]
fn simulate_sharing_and_layout_print_the_same_json() {
    let folder = Folder::new("golden-json");
    let mut golden =
        Golden::new("json", "Command and path in its JSON: the value, or a hash of a long list.");
    let cache = "L1d=1K/2,L2=4K/4";
    let mut whole = |name: &str, args: &[&str]| {
        let value = ran(&folder, args);
        put(&mut golden, name, "", &value);
    };
    // The copy has a name without the path of this checkout, because the JSON repeats the name.
    std::fs::copy(TRACE, folder.at("program.lft")).unwrap();
    let trace = "program.lft";
    whole(
        "simulate --trace",
        &["simulate", "--config", cache, "--trace", trace, "--heat", "--json"],
    );
    whole("simulate --mesi", &["simulate", "--mesi", "4", "--json"]);
    let sharing = words(
        "sharing --offset 0 --offset 64:4 --writes 0:0,1:0 --reads 1:64 \
         --align 64 --predict --json",
    );
    whole("sharing --predict", &sharing);

    // A compiler exists, because `build.rs` needs one to assemble the kernels.
    let mut compiler = Command::new("cc");
    compiler.args(["-g", "-c", SOURCE, "-o"]).arg(folder.at("plain.o"));
    assert!(compiler.status().unwrap().success());
    let layout = words("layout plain.o --type foo --type outer --json");
    let mut types = ran(&folder, &layout);
    for of in types.as_array_mut().unwrap() {
        // Removes paths of this machine.
        for key in ["units", "declared"] {
            of.as_object_mut().unwrap().remove(key).unwrap();
        }
    }
    put(&mut golden, "layout", "", &types);
    let list = ran(&folder, &["layout", "plain.o", "--list", "--json"]);
    put_shape(&mut golden, "layout --list", &list);
    golden.check();
}

#[test]
fn compare_prints_the_same_json_for_the_kept_records() {
    let Some(folder) = with_records("golden-json-compare") else {
        return;
    };
    let mut golden = Golden::new(
        "json_compare",
        "JSON of `compare` over both kept records: a hash for all that it says of an experiment, \
         and\nthe shape of its differences.",
    );
    let gate = ["--fail-if", "bandwidth/D35 < 0.0001"];
    let args = ["compare", "2026-11-20.jsonl", "2026-11-25.jsonl", "--json"];
    let value = ran(&folder, &[&args[..], &gate].concat());
    let mut of_experiments: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for key in ["differences", "verdicts"] {
        for entry in value[key].as_array().unwrap() {
            let id = entry["experiment"].as_str().unwrap();
            let group = of_experiments.entry(format!("{key} {id}")).or_default();
            group.push(entry.to_string());
        }
    }
    for (key, entries) in of_experiments {
        let hash = Hash::of(entries.join("\n").as_bytes()).digits(8);
        golden.push(key, format!("{} {hash}", entries.len()));
    }
    put(&mut golden, "compare", "records", &value["records"]);
    put(&mut golden, "compare", "gates", &value["gates"]);
    put_shape(&mut golden, "compare", &value);
    golden.check();
}

#[test]
fn what_depends_on_the_host_has_the_same_shape() {
    let folder = Folder::new("golden-json-shapes");
    let mut golden = Golden::new(
        "json_shapes",
        "Command and path in its JSON: the types that stand there. The values depend on the host.",
    );
    let args = words("simulate --config L1d=1K/2 --experiment D15 --x 4K --json");
    put_shape(&mut golden, "simulate --experiment", &ran(&folder, &args));
    let args = ["sharing", "--offset", "0", "--offset", "8", "--json"];
    let mut value = ran(&folder, &args);
    // On a machine with one CPU, these contain a reason instead.
    let measured = value.as_object_mut().unwrap().remove("measured").unwrap();
    for thread in value["threads"].as_array_mut().unwrap() {
        let thread = thread.as_object_mut().unwrap();
        thread.remove("at_most_ns_a_round").unwrap();
    }
    put_shape(&mut golden, "sharing", &value);
    golden.check();
    measured_sharing_has_the_same_shape(measured);
}

fn measured_sharing_has_the_same_shape(mut measured: Value) {
    if let Some(reason) = measured["untestable"].as_str() {
        untested::machine(reason);
        return;
    }
    let mut golden = Golden::new(
        "json_sharing",
        "Path in what `sharing --json` says to have measured: the types that stand there.",
    );
    as_interval(&mut measured, "round_trip_ns");
    for layout in measured["layouts"].as_array_mut().unwrap() {
        for key in ["ns_a_round", "over_own_lines", "over_pairs_of_lines"] {
            as_interval(layout, key);
        }
    }
    put_shape(&mut golden, "measured", &measured);
    golden.check();
}

/// Replaces a measured interval by a word, because on a busy host a reason or nothing is in its place.
fn as_interval(of: &mut Value, key: &str) {
    let value = of.get_mut(key).unwrap();
    let keys: Vec<_> = match value.as_object() {
        Some(entries) => entries.keys().map(String::as_str).collect(),
        None => Vec::new(),
    };
    let known = value.is_null() || keys == ["hi", "lo", "middle"] || keys == ["untestable"];
    assert!(known, "{key} is neither an interval nor a reason: {value}");
    *value = "interval".into();
}

#[test]
fn counters_have_the_same_shape() {
    if refused() {
        return;
    }
    let folder = Folder::new("golden-json-counters");
    let mut golden = Golden::new(
        "json_counters",
        "Path in what `counters --json` prints: the types that stand there.",
    );
    let args = [
        "counters",
        "--memory",
        "64KiB",
        "-e",
        "page-faults",
        "--series",
        "first write",
        "--json",
        "X3",
    ];
    let mut value = ran(&folder, &args);
    for case in value["cases"].as_array_mut().unwrap() {
        // On hosts without 2 MiB pages, a case has a reason instead of counts.
        case.as_object_mut().unwrap().remove("untestable");
    }
    // `null` if the process may not choose its CPU.
    *value.get_mut("pinned").unwrap() = 0.into();
    put_shape(&mut golden, "counters", &value);
    golden.check();
}

/// The JSON output of a command.
fn ran(folder: &Folder, args: &[&str]) -> Value {
    folder.run(args).ok().json()
}

/// The maximum length of a value that is stored in full.
const LONGEST: usize = 200;

/// Stores every value below `value` under its path. Stores a hash instead of a long value.
fn put(golden: &mut Golden, command: &str, path: &str, value: &Value) {
    let key = format!("{command} | {path}");
    let scalars = |all: &[Value]| !all.iter().any(|of| of.is_array() || of.is_object());
    match value {
        Value::Object(entries) if !entries.is_empty() => {
            for (name, value) in entries {
                put(golden, command, &format!("{path}.{name}"), value);
            }
        }
        Value::Array(all) if !scalars(all) => {
            for (index, value) in all.iter().enumerate() {
                put(golden, command, &format!("{path}[{index}]"), value);
            }
        }
        _ => {
            let text = value.to_string();
            match text.len() <= LONGEST {
                true => golden.push(key, text),
                false => golden.push(key, Hash::of(text.as_bytes()).digits(8)),
            }
        }
    }
}

/// Stores every path below `value` with the types of its values. All elements of an array have the same path.
fn put_shape(golden: &mut Golden, command: &str, value: &Value) {
    let mut types = BTreeMap::new();
    gather(String::new(), value, &mut types);
    for (path, types) in types {
        let types: Vec<_> = types.into_iter().collect();
        golden.push(format!("{command} | shape {path}"), types.join(", "));
    }
}

fn gather(path: String, value: &Value, types: &mut BTreeMap<String, BTreeSet<&'static str>>) {
    let is = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(all) => {
            for value in all {
                gather(format!("{path}[]"), value, types);
            }
            "array"
        }
        Value::Object(entries) => {
            for (name, value) in entries {
                gather(format!("{path}.{name}"), value, types);
            }
            "object"
        }
    };
    types.entry(path).or_default().insert(is);
}
