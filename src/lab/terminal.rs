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

use anyhow::{Context as _, Result};

use super::plain;

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
