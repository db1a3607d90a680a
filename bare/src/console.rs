//! What the image says: lines for people, checks, and how they decide the end.

use core::fmt::{Arguments, Display, Write};

use serde::Serialize;

use crate::exit::{Status, exit};
use crate::serial::Serial;

/// Room for the longest record line: a point with all its samples.
const LINE_BYTES: usize = 16 << 10;

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

    /// Writes a record line.
    pub fn record(&mut self, line: &impl Serialize) {
        let mut buffer = [0; LINE_BYTES];
        let text = serde_json_core::to_slice(line, &mut buffer)
            .ok()
            .and_then(|bytes| core::str::from_utf8(&buffer[..bytes]).ok());
        match text {
            Some(text) => {
                // The port never fails.
                let _ = writeln!(self.serial, "{text}");
            }
            None => self.check("a record line fits its buffer", false),
        }
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
