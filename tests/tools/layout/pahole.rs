//! Compares the numbers with those of `pahole` (dwarves).

use std::collections::BTreeMap;

use super::built::Built;
use crate::common::untested::starts;

/// A tool's output for a structure: the places of its members, and the numbers below them.
#[derive(Debug, Default, PartialEq)]
struct Told {
    /// Offset and size in bytes, or offset, first bit and unit.
    members: Vec<Vec<u64>>,
    numbers: BTreeMap<String, u64>,
}

/// The numbers that both tools print.
const NUMBERS: [&str; 8] = [
    "size",
    "cachelines",
    "members",
    "sum members",
    "holes",
    "sum holes",
    "padding",
    "last cacheline",
];

/// Parses the comments of the first structure in `text`.
fn read(text: &str) -> Told {
    let mut told = Told::default();
    for line in text.lines() {
        let Some((_, comment)) = line.split_once("/*") else {
            continue;
        };
        let comment = comment.trim_end().trim_end_matches("*/").trim();
        if comment.starts_with("reorganised") {
            break;
        }
        let place = comment.split(", across").next().unwrap();
        let numbers: Option<Vec<u64>> = place
            .split([' ', ':'])
            .filter(|word| !word.is_empty())
            .map(|word| word.parse().ok())
            .collect();
        if let Some(numbers) = numbers {
            told.members.push(numbers);
            continue;
        }
        for part in comment.split(", ") {
            if let Some((key, value)) = part.split_once(": ")
                && NUMBERS.contains(&key)
            {
                let digits = value.split(' ').next().unwrap();
                told.numbers.insert(key.to_owned(), digits.parse().unwrap());
            }
        }
    }
    told
}

#[test]
fn pahole_prints_the_same_places_and_numbers() {
    if !starts("pahole") {
        return;
    }
    let built = Built::c("pahole", "-gdwarf-4 -c plain.c", "plain.o");
    for name in ["foo", "order", "holder", "calls", "flexible", "wide", "split", "numbers"] {
        let ours = read(&built.show("plain.o", name));
        let theirs = read(&built.tool("pahole", &format!("-C {name} plain.o")));
        assert!(!theirs.members.is_empty() && theirs.numbers.contains_key("size"));
        assert_eq!(ours, theirs, "{name}");
    }
}

#[test]
fn pahole_saves_as_much_by_another_order() {
    if !starts("pahole") {
        return;
    }
    let built = Built::c("pahole-order", "-gdwarf-4 -c plain.c", "plain.o");
    let text = built.tool("pahole", "--reorganize -C foo plain.o");
    assert!(text.contains("saved 8 bytes and 1 cacheline"), "{text}");
    let ours = built.show("plain.o", "foo");
    let (_, ours) = ours.split_once("reorganised: saved 8 bytes, saved 1 cacheline").unwrap();
    assert_eq!(read(ours), read(&text));
}
