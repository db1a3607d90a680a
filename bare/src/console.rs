//! The output of the image: lines for people, checks, and the record. The checks decide the exit status.

use core::fmt::{Arguments, Display};

use serde::Serialize;

/// Room for the longest record line: a point with all its samples.
const LINE_BYTES: usize = 16 << 10;

/// The output of a platform.
pub trait Output {
    /// Prints a line for people.
    fn say(&mut self, text: Arguments<'_>);

    /// Reports the result of a check.
    fn check(&mut self, name: Arguments<'_>, ok: bool);

    /// Writes a line of the record. Returns whether it can be read later.
    fn record(&mut self, line: &str) -> bool;
}

/// An output, with the number of checks and of failures.
pub struct Console<'o> {
    output: &'o mut dyn Output,
    checks: u32,
    failures: u32,
}

impl<'o> Console<'o> {
    /// A console without any checks so far.
    pub fn new(output: &'o mut dyn Output) -> Self {
        Self { output, checks: 0, failures: 0 }
    }

    /// Prints a line for people.
    pub fn say(&mut self, text: Arguments<'_>) {
        self.output.say(text);
    }

    /// Reports a check, and remembers a failure.
    pub fn check(&mut self, name: impl Display, ok: bool) {
        self.checks += 1;
        self.failures += u32::from(!ok);
        self.output.check(format_args!("{name}"), ok);
    }

    /// Writes a record line.
    pub fn record(&mut self, line: &impl Serialize) {
        let mut buffer = [0; LINE_BYTES];
        let text = serde_json_core::to_slice(line, &mut buffer)
            .ok()
            .and_then(|bytes| core::str::from_utf8(&buffer[..bytes]).ok());
        match text {
            Some(text) if self.output.record(text) => {}
            Some(_) => self.check("a record line is written", false),
            None => self.check("a record line fits its buffer", false),
        }
    }

    /// Writes a record line that is already text.
    #[cfg(feature = "experiments")]
    pub fn line(&mut self, text: &str) {
        if !self.output.record(text) {
            self.check("a record line is written", false);
        }
    }

    /// Prints the number of checks and of failures. Returns whether all checks passed.
    pub fn finish(self) -> bool {
        let (checks, failures) = (self.checks, self.failures);
        self.output.say(format_args!("{checks} checks, {failures} failed"));
        failures == 0 && checks > 0
    }
}
