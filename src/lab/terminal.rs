//! Output to a terminal, pipe or log: results on the standard output, everything else on the standard error; and
//! the tables in it.
//!
//! Nothing else in the lab writes to these streams, except the progress bar, which ignores errors. `print!`
//! and `eprint!` panic if they cannot write, and a measurement must continue when its terminal closes. This
//! module also spells out control characters in all text that it writes.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, ErrorKind, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileTypeExt as _;

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use anyhow::{Context as _, Result};
use comfy_table::{Cell, ContentArrangement, LineStyle, Row, Table, presets};

use super::plain;

/// Headings, and numbers that are the answer.
pub(crate) const STRONG: Style = Style::new().bold();
/// Details that a reader may skip.
pub(crate) const FAINT: Style = Style::new().dimmed();
/// Results that are good, or agree with the document.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// Results that are bad, or contradict the document.
pub(crate) const BAD: Style = AnsiColor::Red.on_default();
/// Warnings.
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default();

/// Lines of text with styles for a terminal.
///
/// Control characters are spelled out in every piece of text as it is added, so that the styles are the only
/// escape sequences.
#[derive(Clone, Debug, Default)]
pub(crate) struct Screen(String);

impl Screen {
    /// Creates a screen from a text without styles.
    pub fn of(text: &str) -> Self {
        let mut screen = Screen::default();
        screen.add(text);
        screen
    }

    pub fn add(&mut self, text: &str) -> &mut Self {
        self.0 += &plain::lines(text);
        self
    }

    /// Adds a text in a style. The spaces around the text stay unstyled.
    pub fn paint(&mut self, style: Style, text: &str) -> &mut Self {
        let inside = text.trim();
        let (before, after) = text.split_once(inside).unwrap_or(("", ""));
        self.add(before);
        if !inside.is_empty() {
            self.0 += &format!("{style}{}{style:#}", plain::lines(inside));
        }
        self.add(after)
    }

    /// Ends the line.
    pub fn end(&mut self) -> &mut Self {
        self.add("\n")
    }

    pub fn append(&mut self, other: &Screen) -> &mut Self {
        self.0 += &other.0;
        self
    }

    pub fn lines(&self) -> usize {
        self.0.lines().count()
    }

    /// Returns the text without the styles.
    #[cfg(test)]
    pub fn text(&self) -> String {
        anstream::adapter::strip_str(&self.0).to_string()
    }
}

/// Adds a paragraph, wrapped at `width`, with every line indented like the first.
pub(crate) fn paragraph(
    screen: &mut Screen,
    style: Option<Style>,
    text: &str,
    width: impl Into<usize>,
) {
    let inside = text.trim_start();
    let indent = &text[..text.len() - inside.len()];
    let options = textwrap::Options::new(width.into());
    let options = options.initial_indent(indent).subsequent_indent(indent);
    for line in textwrap::wrap(inside, options) {
        match style {
            Some(style) => screen.paint(style, &line),
            None => screen.add(&line),
        };
        screen.end();
    }
}

/// Prints a screen on the standard output, in colours if the output is a terminal that supports them and
/// `NO_COLOR` is not set. Otherwise as [`say`].
pub(crate) fn show(screen: &Screen) -> Result<()> {
    let mut out = AutoStream::auto(io::stdout()).lock();
    let written = writeln!(out, "{}", screen.0.trim_end()).and_then(|()| out.flush());
    finished(written)
}

/// Writes a line on the standard error: progress, a warning, an error. The line is dropped if it cannot be
/// written because the reader has gone or the disk is full.
pub(crate) fn tell(line: impl Display) {
    // In a single write, so that lines of two programs do not mix.
    let line = format!("{line}\n");
    let _ = io::stderr().write_all(plain::lines(&line).as_bytes());
}

/// Prints a result on the standard output. A reader that has gone (`linefill list | head`, a closed
/// terminal) is not an error.
///
/// # Errors
/// If the output cannot be written for another reason: the disk may be full.
pub(crate) fn say(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    let written = writeln!(out, "{}", plain::lines(text.trim_end())).and_then(|()| out.flush());
    finished(written)
}

/// Turns the result of a write to the standard output into the result of [`say`].
pub(crate) fn finished(written: io::Result<()>) -> Result<()> {
    match written {
        Err(error) if nobody_reads(&error) => Ok(()),
        written => written.context("cannot write to the standard output"),
    }
}

/// Returns whether a write to the standard output failed because its reader has gone. A closed terminal
/// returns EIO, as a broken disk does.
fn nobody_reads(error: &io::Error) -> bool {
    let device = || {
        let out = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        Ok::<_, io::Error>(out.metadata()?.file_type().is_char_device())
    };
    error.kind() == ErrorKind::BrokenPipe
        || error.raw_os_error() == Some(libc::EIO) && device().unwrap_or(false)
}

/// The width if the output is not a terminal.
const PLAIN_WIDTH: u16 = 120;

/// The width from which on columns fit side by side.
pub(crate) const SIDE_BY_SIDE: u16 = 60;

/// Returns the width to print for, between 40 and 240 columns: the value of `COLUMNS`, or else the width of
/// the terminal on the standard output.
pub(crate) fn width() -> u16 {
    let said = std::env::var("COLUMNS").ok();
    let said = said.and_then(|columns| columns.parse().ok());
    let terminal = || terminal_size::terminal_size_of(std::io::stdout());
    said.or_else(|| terminal().map(|(terminal_size::Width(columns), _)| columns))
        .unwrap_or(PLAIN_WIDTH)
        .clamp(40, 240)
}

/// Creates a table with these headings, at most `width` columns wide.
pub(crate) fn table(headings: &[&str], width: u16) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none()))
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width)
        .set_header(headings.iter().copied());
    table
}

/// Formats a table. Where its columns would be too narrow to read, each cell has a line `heading: text`, and an
/// empty line stands between the rows.
pub(crate) fn table_text(table: &Table) -> String {
    match table.width() {
        Some(width) if width < SIDE_BY_SIDE => by_lines(table, width),
        _ => table.trim_fmt(),
    }
}

fn by_lines(table: &Table, width: u16) -> String {
    let cells = |row: &Row| row.cell_iter().map(Cell::content).collect::<Vec<_>>();
    let headings = table.header().map(cells).unwrap_or_default();
    let options = textwrap::Options::new(width.into()).subsequent_indent("  ");
    let line = |(heading, text): (&String, String)| {
        let line = if heading.is_empty() { text } else { format!("{heading}: {text}") };
        textwrap::fill(&line, &options)
    };
    let rows = table.row_iter().map(|row| {
        let cells = headings.iter().zip(cells(row));
        let told = cells.filter(|(_, text)| !text.is_empty());
        told.map(line).collect::<Vec<_>>().join("\n")
    });
    rows.collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_table_has_a_line_per_cell() {
        let rows = |width| {
            let mut table = table(&["", "claim", "numbers"], width);
            table.add_row(["D14.1", "a walk in order takes less than one at random", ""]);
            table.add_row(["D14.2", "none", "1.5 [1.4, 1.6]"]);
            table_text(&table)
        };
        assert_eq!(
            rows(40),
            "D14.1\n\
             claim: a walk in order takes less than\n  one at random\n\
             \n\
             D14.2\n\
             claim: none\n\
             numbers: 1.5 [1.4, 1.6]"
        );
        assert!(rows(60).contains('─'), "{}", rows(60));
    }
}
