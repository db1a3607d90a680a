//! What the program writes to its terminal, pipe or log: results on the standard output, everything
//! else on the standard error.
//!
//! Nothing else in the lab writes there (the progress bar apart, which ignores errors, too): `print!`
//! and `eprint!` panic if they cannot write, and a measurement must outlive its terminal. What a
//! terminal would obey is spelled out here, wherever it comes from.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, ErrorKind, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileTypeExt as _;

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use anyhow::{Context as _, Result};

use super::plain;

/// What stands out: a heading, a number that is the answer.
pub(crate) const STRONG: Style = Style::new().bold();
/// What may be passed over.
pub(crate) const FAINT: Style = Style::new().dimmed();
/// What is as it should be, or as the document has it.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// What is not.
pub(crate) const BAD: Style = AnsiColor::Red.on_default();
/// What to be aware of.
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default();

/// Lines of text with styles for a terminal.
///
/// Every piece has what a terminal would obey spelled out as it is added, so that the styles are the
/// only escape sequences in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Screen(String);

impl Screen {
    /// A text without styles.
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

    /// Adds a text in a style, without the spaces around it.
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

    /// Adds another.
    pub fn append(&mut self, other: &Screen) -> &mut Self {
        self.0 += &other.0;
        self
    }

    /// How many lines there are.
    pub fn lines(&self) -> usize {
        self.0.lines().count()
    }

    /// The text, without the styles.
    #[cfg(test)]
    pub fn text(&self) -> String {
        anstream::adapter::strip_str(&self.0).to_string()
    }
}

/// Prints a screen on the standard output: in colours where that is a terminal that wants them, and
/// `NO_COLOR` does not forbid it. Otherwise as [`say`].
///
/// # Errors
/// As [`say`].
pub(crate) fn show(screen: &Screen) -> Result<()> {
    let mut out = AutoStream::auto(io::stdout()).lock();
    let written = writeln!(out, "{}", screen.0.trim_end()).and_then(|()| out.flush());
    finished(written)
}

/// Writes a line on the standard error: progress, a warning, an error. It is dropped if it cannot be
/// written, because the reader has gone or the disk is full.
pub(crate) fn tell(line: impl Display) {
    // In one piece, so that lines of two programs do not mix.
    let line = format!("{line}\n");
    let _ = io::stderr().write_all(plain::lines(&line).as_bytes());
}

/// Prints a result on the standard output. A reader that has gone (`linefill list | head`, a terminal
/// that was closed) is no error.
///
/// # Errors
/// If it cannot be written for another reason: the disk may be full.
pub(crate) fn say(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    let written = writeln!(out, "{}", plain::lines(text.trim_end())).and_then(|()| out.flush());
    finished(written)
}

/// What became of a result that was written to the standard output.
///
/// # Errors
/// As [`say`].
pub(crate) fn finished(written: io::Result<()>) -> Result<()> {
    match written {
        Err(error) if nobody_reads(&error) => Ok(()),
        written => written.context("cannot write to the standard output"),
    }
}

/// Whether writing to the standard output failed because its reader has gone. A terminal that was
/// closed answers with EIO, as does a broken disk.
fn nobody_reads(error: &io::Error) -> bool {
    let device = || {
        let out = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        Ok::<_, io::Error>(out.metadata()?.file_type().is_char_device())
    };
    error.kind() == ErrorKind::BrokenPipe
        || error.raw_os_error() == Some(libc::EIO) && device().unwrap_or(false)
}
