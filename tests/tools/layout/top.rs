//! The types that waste most space, and the differences between two builds.

use std::fs;

use serde_json::Value;

use super::built::{Built, has_lines};

fn json(built: &Built, args: &[&str]) -> Value {
    serde_json::from_str(&built.layout(args).ok().out).unwrap()
}

#[test]
fn the_most_wasteful_types_come_first() {
    let built = Built::c("top", "-g -c plain.c", "plain.o");
    let top = json(&built, &["plain.o", "--top", "4", "--json"]);
    let rows: Vec<(&str, u64)> = top
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["type"].as_str().unwrap(), row["wasted"].as_u64().unwrap()))
        .collect();
    // wide: 63 bytes before the aligned member, and 59 after it.
    assert_eq!((rows.len(), rows[0]), (4, ("wide", 63 + 59)));
    assert!(rows.is_sorted_by_key(|(_, wasted)| std::cmp::Reverse(*wasted)), "{rows:?}");
    let text = built.layout(&["plain.o", "--top", "--type", "foo", "--type", "tight"]).ok().out;
    assert!(text.contains("1 of 2 types, the most wasteful"), "{text}");
    has_lines(&text, &["72 2 4 4 8 8 foo"]);
    built.layout(&["plain.o", "--top", "0"]).refused(&["'0'"]);
    built.layout(&["plain.o", "--top", "--list"]).refused(&["--list"]);
}

/// Builds the edited source as `new.o`, and returns what differs in it from `old.o`.
fn diff_with(built: &Built, source: &str, edited: &str) -> String {
    assert_ne!(source, edited);
    fs::write(built.at("plain.c"), edited).unwrap();
    built.tool("cc", "-g -c plain.c -o new.o");
    built.layout(&["--diff", "old.o", "new.o"]).ok().out
}

#[test]
fn types_that_lie_differently_are_told_apart() {
    let built = Built::c("diff", "-g -c plain.c", "old.o");
    let source = fs::read_to_string(built.at("plain.c")).unwrap();
    let edited = source
        .replace(
            "struct foo { int a; long fill[7]; int b; };",
            "struct foo { int a; int b; long fill[7]; };",
        )
        .replace("long buyer_id;", "int buyer_id; int kind;")
        .replace("unsigned b : 30;", "unsigned b : 20;")
        .replace(")) tight {", ")) tighter {")
        .replace("struct tight tight;", "struct tighter tight;");
    let text = diff_with(&built, &source, &edited);
    has_lines(
        &text,
        &[
            "foo: size 72 -> 64, lines 2 -> 1, holes 4 -> 0, padding 4 -> 0",
            "b: offset 64 -> 4, 4 bytes",
        ],
    );
    has_lines(
        &text,
        &[
            "order: size 64, lines 1, holes 7, padding 0",
            "buyer_id: 8 bytes -> 4 bytes, at offset 56",
            "kind: new at offset 60, 4 bytes",
        ],
    );
    assert!(text.contains("b: offset 4 -> 0.3, 30 bits -> 20 bits"), "{text}");
    assert!(text.contains("; 1 new, 1 gone;"), "{text}");
    let value = json(&built, &["--diff", "old.o", "new.o", "--json"]);
    assert_eq!(value["changed"][0]["type"], "bits", "the largest change of size first");
    assert_eq!(value["changed"][0]["after"][0]["size"], 12);
    assert_eq!((&value["added"][0], &value["removed"][0]), (&"tighter".into(), &"tight".into()));
    let value = json(&built, &["--diff", "old.o", "new.o", "--type", "order", "--json"]);
    assert_eq!((value["changed"].as_array().unwrap().len(), &value["same"]), (1, &0.into()));
    let same = built.layout(&["--diff", "old.o", "old.o"]).ok().out;
    assert!(same.contains("0 types changed"), "{same}");
}

#[test]
fn what_lies_inside_types_without_a_name_counts() {
    let built = Built::c("unnamed", "-g -c plain.c", "old.o");
    // The union in `outer.in` fills its 8 bytes, and 6 bytes before it are a hole.
    let top = json(&built, &["old.o", "--list", "--type", "outer", "--json"]);
    let row = &top[0];
    let own = row["sum_holes"].as_u64().unwrap() + row["padding"].as_u64().unwrap();
    assert_eq!(row["wasted"].as_u64(), Some(own + 6), "{row:#}");
    let text = built.show("old.o", "outer");
    has_lines(&text, &["/* unused inside members of types without a name: 6 bytes */"]);
    let source = fs::read_to_string(built.at("plain.c")).unwrap();
    let edited = source.replace(
        "short s; union { long l; char b[3]; };",
        "union { long l; char b[4]; }; short s;",
    );
    let text = diff_with(&built, &source, &edited);
    has_lines(
        &text,
        &[
            "in.s: offset 64 -> 72, 2 bytes",
            "in.union {...}: offset 72 -> 64, 8 bytes",
            "in.l: offset 72 -> 64, 8 bytes",
            "in.b: offset 72 -> 64, 3 bytes -> 4 bytes",
        ],
    );
}

#[test]
fn two_binaries_with_debug_information_are_compared() {
    let built = Built::c("diff-refused", "-g -c plain.c", "plain.o");
    built.tool("cc", "-g0 -c plain.c -o none.o");
    built.layout(&["--diff", "plain.o"]).refused(&["--diff"]);
    built.layout(&["--diff", "plain.o", "none.o"]).refused(&["none.o", "no debug information"]);
    built.layout(&["plain.o", "--diff", "plain.o", "plain.o"]).refused(&["--diff"]);
    built.layout(&[]).refused(&["BINARY"]);
}
