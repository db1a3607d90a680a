//! The examples for fleets: the script runs, and the manifest is well formed.
#![cfg(feature = "lab")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::cli::{Folder, Ran};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/fleet").join(name)
}

#[test]
fn the_script_is_bash() {
    let ran = Ran::of(Command::new("bash").arg("-n").arg(example("slurm.sh")));
    assert_eq!((ran.status, ran.err.as_str()), (Some(0), ""));
}

/// A program in place of linefill that writes a record and logs its arguments.
const STUB: &str = r#"#!/usr/bin/env bash
echo "$@" >> "$CALLS"
if [ "$1" = run ]; then
    case "$*" in *full*) echo record > "$3/record.jsonl.gz" ;; *) echo record > "$3/record.jsonl" ;; esac
fi
case "$*" in doctor | *fail-if*) exit 1 ;; esac
"#;

#[test]
fn the_script_leaves_one_record_a_host() {
    let folder = Folder::new("fleet-slurm");
    let (stub, calls) = (folder.at("stub"), folder.at("calls"));
    fs::write(&stub, STUB).unwrap();
    fs::set_permissions(&stub, fs::Permissions::from_mode(0o755)).unwrap();
    let run = |options: &[&str]| {
        let mut command = Command::new("bash");
        command.arg(example("slurm.sh")).arg("walk").current_dir(folder.at(""));
        command.env("FLEET", folder.at("fleet")).env("CALLS", &calls);
        Ran::of(command.args(options).env("LINEFILL", &stub))
    };
    run(&[]).ok();
    // A second task on the same host does not measure.
    assert!(run(&[]).ok().out.contains("has been measured"));
    let calls = fs::read_to_string(&calls).unwrap();
    let calls: Vec<&str> = calls.lines().collect();
    assert_eq!(calls.len(), 2, "{calls:?}");
    assert!(
        calls[0] == "doctor" && calls[1].starts_with("run --out ") && calls[1].ends_with(" walk")
    );
    let left = || -> Vec<String> {
        let entries = fs::read_dir(folder.at("fleet")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect()
    };
    let only = left();
    assert!(only.len() == 1 && only[0].ends_with(".jsonl"), "{only:?}");
    // The record of a full run is packed, and a gate that fails is the status of the task.
    fs::remove_file(folder.at("fleet").join(&only[0])).unwrap();
    let failed = run(&["--profile", "full", "--fail-if", "D14 = holds"]);
    assert_eq!(failed.status, Some(1), "{failed:?}");
    let only = left();
    assert!(only.len() == 1 && only[0].ends_with(".jsonl.gz"), "{only:?}");
}

/// The lines of a manifest without comments, with their indentation.
fn lines(text: &str) -> Vec<(usize, &str)> {
    let kept = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let kept = kept.filter(|line| !line.trim().is_empty());
    kept.map(|line| (line.len() - line.trim_start().len(), line.trim())).collect()
}

/// Checks the part of YAML that the manifest uses: block mappings and lists, with two spaces per level.
#[test]
fn the_manifest_is_well_formed() {
    let text = fs::read_to_string(example("daemonset.yaml")).unwrap();
    assert!(!text.contains('\t'));
    let lines = lines(&text);
    let mut open = vec![0];
    for window in lines.windows(2) {
        let [(indent, line), (next, _)] = window else { unreachable!("windows of two") };
        let (mut indent, mut entry) = (*indent, *line);
        assert!(open.contains(&indent), "`{line}` is indented like nothing before it");
        open.retain(|level| *level <= indent);
        // The keys of a list item are aligned behind its dash.
        if let Some(item) = entry.strip_prefix("- ") {
            (indent, entry) = (indent + 2, item);
            open.push(indent);
        }
        let (key, value) = entry.split_once(':').unwrap_or_else(|| panic!("no key in `{line}`"));
        assert!(key.chars().all(|c| c.is_ascii_alphanumeric()), "`{key}`");
        assert!(value.is_empty() || value.starts_with(' '), "`{line}`");
        let opens = value.trim().is_empty() || value.trim().starts_with('&');
        if opens {
            assert_eq!(*next, indent + 2, "`{line}` holds nothing");
            open.push(*next);
        }
        for (opened, closed) in [('[', ']'), ('{', '}')] {
            assert_eq!(value.matches(opened).count(), value.matches(closed).count());
        }
        assert!(value.matches('"').count().is_multiple_of(2), "`{line}`");
    }
}

#[test]
fn the_manifest_says_what_kubernetes_asks_for() {
    let text = fs::read_to_string(example("daemonset.yaml")).unwrap();
    let lines = lines(&text);
    let has = |wanted: (usize, &str)| assert!(lines.contains(&wanted), "{wanted:?}");
    for wanted in [
        (0, "apiVersion: apps/v1"),
        (0, "kind: DaemonSet"),
        (2, "name: linefill"),
        (2, "selector:"),
        (2, "template:"),
        (6, "initContainers:"),
        (6, "containers:"),
        (6, "volumes:"),
    ] {
        has(wanted);
    }
    // The selector matches the template's pods.
    let labels = lines.iter().filter(|(_, line)| *line == "app: linefill").count();
    assert_eq!(labels, 3);
    // Every mounted volume is defined.
    let names = lines.iter().filter(|(_, line)| *line == "- name: records").count();
    assert_eq!(names, 3);
    // Every alias has an anchor.
    assert_eq!(text.matches("&whole").count(), text.matches("*whole").count());
}
