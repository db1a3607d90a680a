//! What the image says: lines for people, checks, and how they decide the end.

use core::fmt::{Arguments, Display, Write};

use crate::exit::{Status, exit};
use crate::serial::Serial;

/// The serial port, and whether everything checked so far was right.
pub struct Console {
    serial: Serial,
    checks: u32,
    failures: u32,
}

impl Console {
    /// Opens the serial port.
    pub fn open() -> Self {
        Self {
            serial: Serial::first(),
            checks: 0,
            failures: 0,
        }
    }

    /// A line for people: whatever is no record line starts with `# `.
    pub fn say(&mut self, text: Arguments<'_>) {
        // The port never fails.
        let _ = writeln!(self.serial, "# {text}");
    }

    /// Reports a check, `# check NAME: ok` or `# check NAME: FAILED`, and remembers a failure.
    pub fn check(&mut self, name: impl Display, ok: bool) {
        let result = if ok { "ok" } else { "FAILED" };
        self.checks += 1;
        self.failures += u32::from(!ok);
        self.say(format_args!("check {name}: {result}"));
    }

    /// Says how the checks went, and leaves with the status that follows.
    pub fn finish(mut self) -> ! {
        let Self {
            checks, failures, ..
        } = self;
        self.say(format_args!("{checks} checks, {failures} failed"));
        exit(if failures == 0 && checks > 0 {
            Status::Passed
        } else {
            Status::Failed
        })
    }
}
