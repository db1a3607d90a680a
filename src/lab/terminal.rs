//! Output to a terminal, pipe or log: results on the standard output, everything else on the standard error.
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

    /// Adds a text.
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

    /// Adds another screen.
    pub fn append(&mut self, other: &Screen) -> &mut Self {
        self.0 += &other.0;
        self
    }

    /// Returns the number of lines.
    pub fn lines(&self) -> usize {
        self.0.lines().count()
    }

    /// Returns the text without the styles.
    #[cfg(test)]
    pub fn text(&self) -> String {
        anstream::adapter::strip_str(&self.0).to_string()
    }
}

/// Prints a screen on the standard output, in colours if the output is a terminal that supports them and
/// `NO_COLOR` is not set. Otherwise as [`say`].
///
/// # Errors
/// As for [`say`].
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
///
/// # Errors
/// As for [`say`].
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
