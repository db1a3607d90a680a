//! The screen, and the file of the record beside it.

use core::cell::Cell;
use core::fmt::{self, Arguments, Write};
use core::time::Duration;

use uefi::proto::media::file::{File, RegularFile};
use uefi::{boot, system};

use super::folder::Name;
use super::takeover::in_firmware;
use crate::console::Output;

/// Columns that every firmware's screen has, less the last one, after which some begin a new line.
const COLUMNS: usize = 79;

/// The file of the record. Whoever uses it takes it and puts it back: an exception or a panic, which
/// nobody comes back from, still finds it here.
static FILE: Kept = Kept(Cell::new(None));

struct Kept(Cell<Option<RegularFile>>);

// SAFETY: one CPU runs the program, and no interrupt comes into its functions: none is registered.
unsafe impl Sync for Kept {}

/// The firmware's console and, once there is one, the record.
pub struct Screen {
    name: Option<Name>,
    checks: u32,
    /// Whether the last line is one that tells progress, to be written over.
    progress: bool,
}

impl Screen {
    /// An empty screen.
    pub fn open() -> Self {
        // A console that cannot be cleared is still one to write on.
        system::with_stdout(|screen| _ = screen.clear());
        Self::again()
    }

    /// The screen as it is.
    pub fn again() -> Self {
        Self {
            name: None,
            checks: 0,
            progress: false,
        }
    }

    /// The lines of the record go there from now on, and with a `# ` before them those for people.
    pub fn keep(&mut self, file: RegularFile, name: Name) {
        FILE.0.set(Some(file));
        self.name = Some(name);
    }

    /// Says where the record is, if it is kept.
    pub fn tell_record(&mut self) {
        if let Some(name) = self.name {
            self.say(format_args!("The record is {name}, beside this program."));
        }
    }

    /// Waits until a key is pressed; without a keyboard, for a minute.
    pub fn wait_for_key(&mut self) {
        let key = system::with_stdin(|keys| {
            // Keys of before do not count.
            let _ = keys.reset(false);
            keys.wait_for_key_event()
        });
        match key {
            Ok(key) => _ = boot::wait_for_event(&[key]),
            Err(_) => boot::stall(Duration::from_secs(60)),
        }
    }

    /// Replaces the line that tells progress, if there is one.
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
        // The record is for them second: a line that it lacks is on the screen.
        write(format_args!("# {text}\n"));
    }

    /// A check that passed is progress, to be written over by the next line.
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

/// Writes to the file, through to the disk. Without a file that is no failure: `run` has said that none
/// is kept.
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
