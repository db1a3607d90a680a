//! The width of the lines of Rust in this repository.

use std::fs;
use std::path::{Path, PathBuf};

/// rustfmt's `max_width`.
const WIDEST: usize = 100;

/// The Rust files at or below `path`, without what cargo builds. None if the package has no such folder.
fn sources(path: PathBuf) -> Vec<PathBuf> {
    if path.extension().is_some_and(|ending| ending == "rs") {
        return vec![path];
    }
    if path.ends_with("target") || !path.is_dir() {
        return Vec::new();
    }
    let entries = fs::read_dir(path).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.flat_map(sources).collect()
}

/// The text with the same lines, and without what raw strings contain: those cannot be wrapped.
fn without_raw_strings(text: &str) -> String {
    let mut parts = text.split("r#\"");
    let mut code = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (raw, rest) = part.split_once("\"#").expect("the end of a raw string");
        code.extend(raw.matches('\n'));
        code += rest;
    }
    code
}

/// rustfmt formats nothing of an expression or item with one string that does not fit, and reports nothing:
/// because of a sentence, an experiment remains as it was typed. It does not wrap strings itself, and
/// `cargo fmt --check` passes. Comments may be wider.
#[test]
fn no_line_of_code_is_wider_than_rustfmt_allows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let places = ["bare", "benches", "build.rs", "capi", "examples", "fuzz", "src", "tests"];
    let sources: Vec<_> = places.iter().flat_map(|place| sources(root.join(place))).collect();
    assert!(sources.len() > 500, "{} files", sources.len());
    let mut wide = Vec::new();
    for path in sources {
        let code = without_raw_strings(&fs::read_to_string(&path).unwrap());
        for (index, line) in code.lines().enumerate() {
            let width = line.chars().count();
            if width > WIDEST && !line.trim_start().starts_with("//") {
                let file = path.strip_prefix(root).unwrap().display();
                wide.push(format!("{file}:{}: {width} columns", index + 1));
            }
        }
    }
    assert!(
        wide.is_empty(),
        "wrap these lines, strings by `\\`, and run `cargo fmt` again:\n{}",
        wide.join("\n")
    );
}
