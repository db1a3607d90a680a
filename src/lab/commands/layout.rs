//! `linefill layout`.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use serde_json::json;

use super::{Status, say, tell};
use crate::lab::layout::print::{Style, declaration, numbers};
use crate::lab::layout::{Binary, Definition, Diff, Language, Places, Reorder, Summary, TypeJson};
use crate::lab::session::debug_tree;
use crate::lab::size::counted;
use crate::order::{self, unique};

/// Show how a type lies in memory: members, holes, cache lines, and a better order.
///
/// Reads the debug information (DWARF) of a program, a shared library or an object file, or of the separate
/// file that belongs to it. Prints types of C, C++ and Rust in the form of pahole, with the lines that they
/// touch if they start at the beginning of a line. If another order of its members makes a type smaller, that
/// order is printed, too.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  linefill layout a.out --type order                    a C structure
  linefill layout target/debug/app --type app::Config   a Rust type; the end of its path will do
  linefill layout app --type 'Vec<*' --type node        several, also by glob
  linefill layout libx.so --list                        every type, with size, lines and holes
  linefill layout app --top                             the types with the most unused bytes
  linefill layout --diff old/app new/app                types whose size, holes or offsets changed
  linefill layout vmlinux --type task_struct --json

Without debug information there is nothing to read: compile with -g (gcc, clang) or `debug = true` \
in the Cargo profile.")]
pub(super) struct Args {
    /// A program, shared library or object file.
    #[arg(required_unless_present = "diff")]
    binary: Option<PathBuf>,
    /// The name of a type, the end of its path (`Inner` for `outer::Inner`), or a glob. Repeat the option for
    /// several types.
    #[arg(long = "type", value_name = "NAME")]
    types: Vec<String>,
    /// List types, one per line: all of them, or those of --type.
    #[arg(long)]
    list: bool,
    /// List the N types with the most bytes in holes and padding, with the most bytes first.
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "20",
          conflicts_with = "list", value_parser = clap::value_parser!(u32).range(1..),
          allow_negative_numbers = true)]
    top: Option<u32>,
    /// Show the types whose layout differs between two builds: all of them, or those of --type.
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"],
          conflicts_with_all = ["binary", "list", "top", "expand", "debug_file"])]
    diff: Vec<PathBuf>,
    /// The size of a cache line in bytes.
    #[arg(long, value_name = "BYTES", default_value = "64", value_parser = line_size,
          allow_hyphen_values = true)]
    line: u64,
    /// Also print the members of members.
    #[arg(long, conflicts_with_all = ["list", "top", "json"])]
    expand: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// The file with the debug information [default: the binary, or the file that belongs to it by
    /// build id or debug link].
    #[arg(long, value_name = "FILE")]
    debug_file: Option<PathBuf>,
}

/// Parses the size of a cache line in bytes.
pub(super) fn line_size(text: &str) -> Result<u64, String> {
    let size: Option<u64> = text.parse().ok();
    size.filter(|size| size.is_power_of_two() && (8..=65536).contains(size))
        .ok_or_else(|| "a line is a power of two from 8 to 65536 bytes: 64, 128".to_owned())
}

pub(super) fn run(args: &Args) -> Result<Status> {
    let Some(path) = &args.binary else { return diff(args) };
    let listed = args.list || args.top.is_some();
    let binary = open(path, args.debug_file.as_deref())?;
    if args.types.is_empty() && !listed {
        let binary = path.display();
        bail!("which type? Name it with --type; `linefill layout {binary} --list` shows all types");
    }
    let text = if listed {
        list(&binary, args)?
    } else {
        let found = binary.types(&args.types)?;
        match args.json {
            true => {
                let types: Vec<TypeJson<'_>> =
                    found.iter().map(|one| TypeJson::of(one, args.line)).collect();
                serde_json::to_string_pretty(&types)?
            }
            false => found.iter().map(|one| show(one, args)).collect::<Vec<_>>().join("\n"),
        }
    };
    say(&text)?;
    Ok(Status::Done)
}

/// Prints what changed between two binaries.
fn diff(args: &Args) -> Result<Status> {
    let [first, second] = &args.diff[..] else { bail!("--diff takes two binaries") };
    let (first, second) = (open(first, None)?, open(second, None)?);
    let diff = Diff::of(&first, &second, &args.types, args.line)?;
    say(&if args.json { serde_json::to_string_pretty(&diff)? } else { diff.text() })?;
    Ok(Status::Done)
}

/// Opens a binary with its debug information: from `debug_file`, or from the file that belongs to the binary.
/// Warns about debug information that cannot be read.
pub(super) fn open(path: &Path, debug_file: Option<&Path>) -> Result<Binary> {
    const SHOWN: usize = 3;
    let places = Places { named: debug_file, tree: &debug_tree() };
    let binary = Binary::open(path, &places)?;
    let missing = binary.missing();
    for problem in missing.iter().take(SHOWN) {
        tell(format_args!("warning: {problem}; types that only it defines are left out"));
    }
    if missing.len() > SHOWN {
        tell(format_args!("warning: and so for {} more files", missing.len() - SHOWN));
    }
    Ok(binary)
}

/// Formats the list of types.
fn list(binary: &Binary, args: &Args) -> Result<String> {
    let mut rows = binary.list(&args.types, args.line)?;
    let all = counted(rows.len(), "type");
    if let Some(most) = args.top {
        // The sort is stable: types with equal waste stay in the order of their names.
        order::by_key(&mut rows, |(_, summary)| Reverse(summary.wasted()));
        rows.retain(|(_, summary)| summary.wasted() > 0);
        rows.truncate(most as usize);
    }
    if args.json {
        let rows: Vec<serde_json::Value> = rows
            .iter()
            .map(|(path, summary)| {
                let mut row = json!(summary);
                row["type"] = json!(path);
                row["wasted"] = json!(summary.wasted());
                row
            })
            .collect();
        return Ok(serde_json::to_string_pretty(&rows)?);
    }
    let mut text = format!(
        "{:>8} {:>6} {:>6} {:>8} {:>7} {:>6}  type\n",
        "size", "lines", "holes", "padding", "wasted", "saves"
    );
    for (path, summary) in &rows {
        text += &format!(
            "{:>8} {:>6} {:>6} {:>8} {:>7} {:>6}  {path}\n",
            summary.size,
            summary.lines,
            summary.hole_bytes,
            summary.padding,
            summary.wasted(),
            summary.saves
        );
    }
    let of = match args.top {
        Some(_) => format!("{} of {all}, the most wasteful", rows.len()),
        None => all,
    };
    text += &format!(
        "\n{of}; all numbers but lines are bytes. wasted: bytes in holes and padding, bits \
         rounded up. saves: bytes that a better member order saves"
    );
    Ok(text)
}

/// Formats a type, its numbers, and a better order of its members if there is one.
fn show(definition: &Definition, args: &Args) -> String {
    let aggregate = &*definition.aggregate;
    let style = Style { line: args.line, expand: args.expand };
    let summary = Summary::of(aggregate, args.line);
    let mut text = format!("{}\n", from(definition));
    text += &format!("{}\n", declaration(aggregate, style));
    text += &numbers(aggregate, &summary, args.line);
    match Reorder::of(aggregate, args.line) {
        Reorder::No(why) => text += &format!("/* not reorganised: {why} */\n"),
        Reorder::Better(better) => {
            let mut gains = Vec::new();
            if better.bytes > 0 {
                gains.push(format!("saved {}", counted(better.bytes, "byte")));
            }
            if better.lines > 0 {
                gains.push(format!("saved {}", counted(better.lines, "cacheline")));
            }
            if better.unsplit > 0 {
                let members = counted(better.unsplit as u64, "member");
                gains.push(format!("{members} fewer across two cachelines"));
            }
            let note = match (aggregate.language, better.bytes) {
                (Language::Rust, 0) => " (only #[repr(C)] keeps an order)",
                (Language::Rust, _) => " (without #[repr(C)] the compiler chooses such an order)",
                (Language::C | Language::Cpp, _) => "",
            };
            let other = &better.aggregate;
            text += &format!("\n/* reorganised: {}{note} */\n", gains.join(", "));
            text += &format!("{}\n", declaration(other, style));
            let summary = Summary::of(other, args.line);
            text += &numbers(other, &summary, args.line);
        }
    }
    text
}

/// Formats the source of a definition: `// order.h:12, in a.c, b.c and 3 more`.
fn from(definition: &Definition) -> String {
    const SHOWN: usize = 3;
    let origins = || definition.origins.iter();
    let declared = unique(origins().filter_map(|of| of.declared.as_deref()));
    let units = unique(origins().filter_map(|of| of.unit.as_deref()));
    let some = |texts: &[&str]| match texts.len().saturating_sub(SHOWN) {
        0 => texts.join(", "),
        more => format!("{} and {more} more", texts[..SHOWN].join(", ")),
    };
    let parts = match (declared.is_empty(), units.is_empty()) {
        (false, false) => format!("{}, in {}", some(&declared), some(&units)),
        (true, false) => format!("in {}", some(&units)),
        (false, true) => some(&declared),
        (true, true) => "from a unit without a name".to_owned(),
    };
    format!("// {parts}")
}

#[cfg(test)]
mod tests {
    use super::line_size;

    #[test]
    fn lines_are_powers_of_two() {
        assert_eq!(line_size("64"), Ok(64));
        for text in ["0", "4", "63", "131072", "-64", "line"] {
            assert!(line_size(text).unwrap_err().contains("64, 128"), "{text}");
        }
    }
}
