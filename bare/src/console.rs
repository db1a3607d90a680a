//! What the image says: lines for people, checks, and how they decide the end.

use core::fmt::{Arguments, Display};

use serde::Serialize;

/// Room for the longest record line: a point with all its samples.
const LINE_BYTES: usize = 16 << 10;

/// Where it is said: what a platform has for people, and what it has for the record.
pub trait Output {
    /// A line for people.
    fn say(&mut self, text: Arguments<'_>);

    /// A check, as it ends.
    fn check(&mut self, name: Arguments<'_>, ok: bool);

    /// A line of the record, and whether it is where it can be read later.
    fn record(&mut self, line: &str) -> bool;
}

/// An output, and whether everything checked so far was right.
pub struct Console<'o> {
    output: &'o mut dyn Output,
    checks: u32,
    failures: u32,
}

impl<'o> Console<'o> {
    /// Nothing is checked yet.
    pub fn new(output: &'o mut dyn Output) -> Self {
        Self {
            output,
            checks: 0,
            failures: 0,
        }
    }

    /// A line for people.
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

    /// Writes a record line as it is.
    #[cfg(feature = "experiments")]
    pub fn line(&mut self, text: &str) {
        if !self.output.record(text) {
            self.check("a record line is written", false);
        }
    }

    /// Says how the checks went, and whether all of them passed.
    pub fn finish(self) -> bool {
        let (checks, failures) = (self.checks, self.failures);
        self.output
            .say(format_args!("{checks} checks, {failures} failed"));
        failures == 0 && checks > 0
    }
}
