//! The screen, and the file of the record.

use core::cell::Cell;
use core::fmt::{self, Arguments, Write};
use core::time::Duration;

use uefi::proto::media::file::{File, RegularFile};
use uefi::{boot, system};

use super::folder::Name;
use super::takeover::in_firmware;
use crate::console::Output;

/// Columns that the screen of every firmware has, minus the last column, because some firmware wraps the line
/// after it.
const COLUMNS: usize = 79;

/// The file of the record. A function that uses the file takes it and puts it back afterwards. An exception
/// or a panic outside these functions therefore still finds the file here.
static FILE: Kept = Kept(Cell::new(None));

struct Kept(Cell<Option<RegularFile>>);

// SAFETY: one CPU runs the program, and no interrupt comes into its functions: none is registered.
unsafe impl Sync for Kept {}

/// The firmware's console and, if a record is kept, its file.
pub struct Screen {
    name: Option<Name>,
    checks: u32,
    /// Whether the last line shows progress and may be overwritten.
    progress: bool,
}

impl Screen {
    /// Opens the screen and clears it.
    pub fn open() -> Self {
        // A console that cannot be cleared can still be written to.
        system::with_stdout(|screen| _ = screen.clear());
        Self::again()
    }

    /// Opens the screen without clearing it.
    pub fn again() -> Self {
        Self { name: None, checks: 0, progress: false }
    }

    /// From now on, writes the lines of the record to `file`, and also the lines for people, with the prefix
    /// `# `.
    pub fn keep(&mut self, file: RegularFile, name: Name) {
        FILE.0.set(Some(file));
        self.name = Some(name);
    }

    /// Prints the name of the record, if one is kept.
    pub fn tell_record(&mut self) {
        if let Some(name) = self.name {
            self.say(format_args!("The record is {name}, beside this program."));
        }
    }

    /// Closes the file of the record: nothing is written to it any more.
    pub fn close(&mut self) {
        drop(FILE.0.take());
    }

    /// Waits for a key press, or for one minute if there is no keyboard.
    pub fn wait_for_key(&mut self) {
        let key = system::with_stdin(|keys| {
            // Discards earlier key presses.
            let _ = keys.reset(false);
            keys.wait_for_key_event()
        });
        match key {
            Ok(key) => _ = boot::wait_for_event(&[key]),
            Err(_) => boot::stall(Duration::from_secs(60)),
        }
    }

    /// Prints text, and overwrites the progress line if there is one.
    fn print(&mut self, text: Arguments<'_>) {
        let clear = core::mem::take(&mut self.progress);
        in_firmware(|| {
            system::with_stdout(|screen| {
                if clear {
                    let _ = write!(screen, "\r{:COLUMNS$}\r", "");
                }
                let _ = screen.write_fmt(text);
            });
        });
    }
}

impl Output for Screen {
    fn say(&mut self, text: Arguments<'_>) {
        self.print(format_args!("{text}\n"));
        // A failure to write this line to the file is ignored, because the line is on the screen.
        write(format_args!("# {text}\n"));
    }

    /// A passed check is only progress: the next line overwrites it.
    fn check(&mut self, name: Arguments<'_>, ok: bool) {
        self.checks += 1;
        if !ok {
            return self.say(format_args!("FAILED: {name}"));
        }
        let checks = self.checks;
        self.print(format_args!("{checks:>4} {name}"));
        self.progress = true;
    }

    fn record(&mut self, line: &str) -> bool {
        write(format_args!("{line}\n"))
    }
}

/// Writes to the file and flushes it to the disk. A missing file is no failure, because `run` has reported
/// that no record is kept.
fn write(text: Arguments<'_>) -> bool {
    let Some(file) = FILE.0.take() else {
        return true;
    };
    let mut file = Text(file);
    let written = in_firmware(|| file.write_fmt(text).is_ok() && file.0.flush().is_ok());
    FILE.0.set(Some(file.0));
    written
}

/// A file as a [`fmt::Write`].
struct Text(RegularFile);

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes()).map_err(|_| fmt::Error)
    }
}
