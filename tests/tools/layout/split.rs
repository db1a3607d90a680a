//! Split debug information: `.dwo` files and packages of them.

use super::built::{Built, has_lines};
use crate::common::untested::starts;

const SHOWN: [&str; 2] = ["double price; /* 0 8 */", "_Bool paid; /* 8 1 */"];

/// A program with one split file per unit. Compiled and linked in separate steps, so that the split files
/// have the units' names.
fn program(name: &str, flags: &str) -> Built {
    let built = Built::new(name);
    for unit in ["plain", "other"] {
        built.tool("cc", &format!("-gsplit-dwarf {flags} -c {unit}.c -o {unit}.o"));
    }
    built.tool("cc", "plain.o other.o -o binary");
    built
}

#[test]
fn split_files_are_found_where_they_were_left() {
    for flags in ["-gdwarf-4", "-gdwarf-5", "-gdwarf-5 -fdebug-types-section"] {
        let built = program("dwo", flags);
        has_lines(&built.show("binary", "order"), &SHOWN);
        has_lines(&built.show("plain.o", "order"), &SHOWN);
        has_lines(&built.show("plain.dwo", "order"), &SHOWN);
        if flags.contains("types") {
            // Type units have no names.
            continue;
        }
        let text = built.show("binary", "foo");
        assert!(text.contains("in plain.c") && text.contains("in other.c"), "{text}");
    }
}

#[test]
fn split_files_that_are_missing_or_stale_are_named_and_the_rest_is_used() {
    let built = program("dwo-missing", "-gdwarf-5");
    built.hide("other.dwo");
    let ran = built.layout(&["binary", "--type", "order"]).ok();
    has_lines(&ran.out, &SHOWN);
    assert!(ran.err.contains("other.dwo is missing"), "{ran:?}");
    // The split file of another unit under this unit's name.
    std::fs::copy(built.at("plain.dwo"), built.at("other.dwo")).unwrap();
    let ran = built.layout(&["binary", "--type", "order"]).ok();
    assert!(ran.err.contains("other.dwo is of another build"), "{ran:?}");
}

#[test]
fn a_package_stands_for_the_split_files() {
    if !starts("dwp") {
        return;
    }
    // Not every `dwp` supports version 5.
    let built = program("dwp", "-gdwarf-4");
    built.tool("dwp", "-e binary -o binary.dwp");
    built.hide("plain.dwo");
    built.hide("other.dwo");
    let ran = built.layout(&["binary", "--type", "order"]).ok();
    has_lines(&ran.out, &SHOWN);
    assert_eq!(ran.err, "");
    has_lines(&built.show("binary.dwp", "order"), &SHOWN);
}

#[test]
fn rust_programs_may_be_split_and_packed() {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    for (how, version) in [("packed", 4), ("packed", 5), ("unpacked", 4), ("unpacked", 5)] {
        let built = Built::new("split-rust");
        let flags = format!("-C split-debuginfo={how} -C dwarf-version={version}");
        let what = "--cap-lints allow --edition 2021 -g program.rs -o program";
        built.tool(&rustc, &format!("{flags} {what}"));
        assert_eq!(built.at("program.dwp").exists(), how == "packed");
        let text = built.show("program", "InOrder");
        has_lines(&text, &["/* size: 72, cachelines: 2, members: 3 */"]);
    }
}
