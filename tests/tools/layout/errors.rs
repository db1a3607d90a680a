//! What cannot be done is refused with status 2 and a suggestion.

use std::fs;

use super::built::Built;

#[test]
fn a_type_that_is_not_there_is_answered_with_its_neighbours() {
    let built = Built::c("unknown", "-g plain.c other.c", "binary");
    let refused = |name: &str, parts: &[&str]| {
        built.layout(&["binary", "--type", name]).refused(parts);
    };
    refused("ordre", &["no type `ordre`", "did you mean `order`", "--list"]);
    refused("zzz", &["no type `zzz`", "--list shows all"]);
    refused("zzz*", &["no type matches `zzz*`"]);
    let args = ["binary", "--list", "--type", "zzz*"];
    built.layout(&args).refused(&["no type matches `zzz*`"]);
}

#[test]
fn a_type_that_is_only_declared_is_said_to_be() {
    let built = Built::c("declared", "-g -c plain.c", "plain.o");
    let args = ["plain.o", "--type", "node"];
    built.layout(&args).refused(&["`node` is declared, but not defined"]);
}

#[test]
fn without_debug_information_the_way_to_it_is_told() {
    let built = Built::c("none", "-g0 -c plain.c", "plain.o");
    let advice = ["plain.o", "no debug information", "-g", "debug = true"];
    built.layout(&["plain.o", "--type", "foo"]).refused(&advice);
    built.layout(&["plain.o", "--list"]).refused(&advice);
    built.tool("cc", "-g0 -shared -fPIC plain.c -o lib.so");
    let looked_at = ["no debug information", ".build-id", "lib.so.debug", "--debug-file"];
    built.layout(&["lib.so", "--type", "foo"]).refused(&looked_at);
    built.tool("cc", "-g1 -c plain.c -o lines.o");
    built.layout(&["lines.o", "--list"]).refused(&["no types"]);
    let args = ["lines.o", "--type", "foo"];
    built.layout(&args).refused(&["no types", "line-tables-only", "debug = true"]);
}

#[test]
fn what_is_no_object_file_is_named_for_what_it_is() {
    let built = Built::c("foreign", "-g -c plain.c", "plain.o");
    fs::write(built.at("empty"), "").unwrap();
    fs::write(built.at("script"), "#!/bin/sh\n").unwrap();
    fs::write(built.at("short"), b"\x7fELF\x02\x01").unwrap();
    fs::write(built.at("archive"), "!<arch>\n").unwrap();
    for (name, says) in [
        ("missing", "No such file"),
        (".", "is a directory"),
        ("empty", "is empty"),
        ("plain.c", "not an ELF object file"),
        ("script", "is a script"),
        ("short", "not an ELF object file"),
        ("archive", "ar x"),
    ] {
        let args = [name, "--type", "foo"];
        built.layout(&args).refused(&["error: ", name, says]);
    }
    let args = ["plain.o", "--type", "foo", "--debug-file", "plain.c"];
    built.layout(&args).refused(&["--debug-file", "plain.c"]);
}

#[test]
fn a_command_line_without_types_or_with_no_line_is_refused() {
    let built = Built::c("arguments", "-g -c plain.c", "plain.o");
    built.layout(&["plain.o"]).refused(&["--type"]);
    let args = ["plain.o", "--list", "--line", "60"];
    built.layout(&args).refused(&["'60'", "power of two"]);
}

/// A file that is cut off at any place, or has inverted bytes, may be refused, but must not crash the
/// program.
#[test]
fn damaged_files_are_refused_and_do_not_crash() {
    let built = Built::c("damaged", "-gdwarf-5 -c plain.c", "plain.o");
    let whole = fs::read(built.at("plain.o")).unwrap();
    let mut seed = 1_u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) as usize % below
    };
    for round in 0..60 {
        let mut bytes = whole.clone();
        if round % 2 == 0 {
            bytes.truncate(random(whole.len()));
        } else {
            for _ in 0..20 {
                let at = 64 + random(whole.len() - 64);
                bytes[at] = random(256) as u8;
            }
        }
        fs::write(built.at("damaged.o"), bytes).unwrap();
        let ran = built.layout(&["damaged.o", "--type", "*"]);
        assert!(matches!(ran.status, Some(0 | 2)), "round {round}: {ran:?}");
    }
}
