//! Tables and pages of the stored records: old records must give the same results as before.
//!
//! For a section of a page, only the numbers of charts, rows and lists are compared. Its wording and its look
//! may change.

use std::fs;
use std::path::Path;

use crate::common::cli::{Folder, Ran};
use crate::common::golden::{Golden, Hash};
use crate::common::untested;

/// The records: their names in the golden file, and their paths in the repository.
const RECORDS: [(&str, &str); 3] = [
    ("planted", "tests/fixtures/record/planted.jsonl"),
    ("2026-11-20", "records/2026-11-20-zen4-guest.jsonl.zst"),
    ("2026-11-25", "records/2026-11-25-zen4-guest.jsonl.zst"),
];

/// A folder with the records under their short names. `None` if they are missing, as in the published
/// package.
pub fn with_records(name: &str) -> Option<Folder> {
    let folder = Folder::new(name);
    for (short, path) in RECORDS {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        if !path.exists() {
            untested::tool(&path.display().to_string());
            return None;
        }
        fs::copy(path, folder.at(&format!("{short}.jsonl"))).unwrap();
    }
    Some(folder)
}

#[test]
fn tables_and_pages_of_the_kept_records_are_the_same() {
    let Some(folder) = with_records("golden-reports") else {
        return;
    };
    let mut golden = Golden::new(
        "reports",
        "Record and command: lines that it prints, or a hash of the rows that begin alike \
         (verdicts in words).\nRecord and section of its page: how much of what it has.",
    );
    for (short, _) in RECORDS {
        let record = format!("{short}.jsonl");
        let ran = run(&folder, &["report", &record, "--out", "report.html"]);
        rows(&mut golden, &format!("{short} | report"), &ran.out);
        page(&mut golden, &folder, short, "report.html");
        let ran = run(&folder, &["machine", "--record", &record]);
        lines(&mut golden, &format!("{short} | machine"), &ran.out);
    }
    let [_, (old, _), (new, _)] = RECORDS;
    let [old, new] = [old, new].map(|short| format!("{short}.jsonl"));
    let ran = run(&folder, &["compare", &old, &new]);
    rows(&mut golden, "compare", &ran.out);
    page(&mut golden, &folder, "compare", "compare.html");
    golden.check();
}

/// Runs a command that must succeed without warnings.
fn run(folder: &Folder, args: &[&str]) -> Ran {
    let ran = folder.run(args).ok();
    assert_eq!(ran.err, "", "{args:?}");
    ran
}

/// Stores every line of a text.
fn lines(golden: &mut Golden, key: &str, text: &str) {
    for line in text.lines() {
        golden.push(format!("{key} | line"), line.trim_end());
    }
}

/// Stores a hash for the rows of a table with the same first cell, and the verdicts in these rows. Stores
/// lines outside of tables in full.
fn rows(golden: &mut Golden, key: &str, text: &str) {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    let mut in_table = false;
    for line in text.lines() {
        if line.starts_with(['─', '═']) {
            in_table = line.starts_with('═') || !in_table;
            continue;
        }
        if !in_table {
            golden.push(format!("{key} | line"), line);
            continue;
        }
        // A continued row starts with an empty cell.
        let first = match line.starts_with("  ") {
            true => groups.last().map_or("", |(first, _)| first).to_owned(),
            false => line.split_whitespace().next().unwrap_or("").to_owned(),
        };
        match groups.last_mut() {
            Some((last, lines)) if *last == first => lines.push(line),
            _ => groups.push((first, vec![line])),
        }
    }
    for (first, lines) in groups {
        const VERDICTS: [&str; 4] = ["does not hold", "holds", "inconclusive", "untestable"];
        let verdicts = lines.iter().filter_map(|line| {
            let cells = line.strip_prefix(&format!(" {first} "))?.trim_start();
            VERDICTS.into_iter().find(|of| cells.starts_with(of))
        });
        let verdicts: Vec<_> = verdicts.collect();
        let hash = Hash::of(lines.join("\n").as_bytes()).digits(8);
        golden.push(format!("{key} | rows {first}"), format!("{hash} {}", verdicts.join(", ")));
    }
}

/// Stores the number of elements by name for each part of a page.
fn page(golden: &mut Golden, folder: &Folder, key: &str, name: &str) {
    let text = fs::read_to_string(folder.at(name)).unwrap();
    for (part, text) in parts(&text) {
        let has = ["svg", "table", "tr", "li", "details"].map(|element| {
            let open = format!("<{element}");
            let starts = text.match_indices(&open).filter(|(at, _)| {
                let next = text[at + open.len()..].chars().next();
                matches!(next, Some(' ' | '>'))
            });
            (starts.count(), element)
        });
        let has = has.iter().filter(|(count, _)| *count > 0);
        let has: Vec<String> = has.map(|(count, of)| format!("{count} {of}")).collect();
        golden.push(format!("{key} | {name} | {part}"), has.join(", "));
    }
}

/// The parts of a page by the ids of its sections, without style and scripts, except the charts' data.
fn parts(page: &str) -> Vec<(String, String)> {
    let page = without(without(page.to_owned(), "<style>", "</style>"), "<script>", "</script>");
    let mut parts = Vec::new();
    let mut rest = page.as_str();
    let mut id = "before all sections".to_owned();
    loop {
        let end = rest[1..].find("<section ").map_or(rest.len(), |at| at + 1);
        parts.push((id, rest[..end].to_owned()));
        rest = &rest[end..];
        let Some((_, named)) = rest.split_once(" id=\"") else {
            return parts;
        };
        id = named.split('"').next().unwrap_or("").to_owned();
    }
}

/// Removes everything between these tags.
fn without(text: String, open: &str, close: &str) -> String {
    let mut kept = String::new();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once(open) {
        kept += before;
        rest = after.split_once(close).expect("an end").1;
    }
    kept += rest;
    kept
}
