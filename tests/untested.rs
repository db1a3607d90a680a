//! Not a test: lists the tests that could not run, and the reasons. Cargo runs test binaries in the order of
//! their names, so this one is last; only documentation tests follow.

mod common;

use std::process::ExitCode;
use std::{env, fs};

use common::untested::{Why, list, lists};

fn main() -> ExitCode {
    // Tools ask a test binary for its list of tests, which is empty here.
    if env::args().any(|argument| argument == "--list") {
        return ExitCode::SUCCESS;
    }
    let text = fs::read_to_string(list()).unwrap_or_default();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines.dedup();
    forget();
    let summary = match lines.len() {
        0 => "Every test of this run could run.\n".to_owned(),
        count => format!("{count} tests could not run, or not wholly:\n  {}\n", lines.join("\n  ")),
    };
    println!("\n{summary}");
    // Keeps the summary for callers that print more afterwards.
    let kept = lists().with_extension("txt");
    fs::write(kept, &summary).expect("the summary");
    match env::var_os("CI").is_some() && lines.iter().any(|line| lacks_a_tool(line)) {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}

/// Whether a line of the list is of a test that a tool is missing for. What a machine lacks may begin with the
/// same word.
fn lacks_a_tool(line: &str) -> bool {
    let reason = line.split_once(": ").map_or("", |(_, reason)| reason);
    reason.starts_with(Why::Tool.word())
}

/// Removes the list, and the lists of processes that have ended.
fn forget() {
    let own = list();
    for entry in fs::read_dir(lists()).into_iter().flatten().flatten() {
        let process = std::path::Path::new("/proc").join(entry.file_name());
        if entry.path() == own || !process.exists() {
            let _ = fs::remove_file(entry.path());
        }
    }
}
