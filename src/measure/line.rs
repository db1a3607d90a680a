//! A timing as a line that `linefill compare` reads.

use core::fmt::{self, Write as _};

use crate::stats::Interval;

/// What a function takes, as a line of kind `function` (docs/FORMAT.md): print one per function, keep the
/// output, and `linefill compare OLD NEW --fail-if 'NAME > 1.05'` holds a later one against it.
///
/// ```
/// use linefill::measure::FunctionLine;
/// use linefill::stats::Interval;
///
/// let nanoseconds = Interval::new(2.5, 2.75);
/// let line = FunctionLine { name: "parse/64", nanoseconds, cycles: None };
/// let expected = r#"{"kind":"function","name":"parse/64","nanoseconds":[2.5,2.625,2.75]}"#;
/// assert_eq!(line.to_string(), expected);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FunctionLine<'a> {
    /// The name, by which it is found again.
    pub name: &'a str,
    /// The 95 % interval per operation, in nanoseconds.
    pub nanoseconds: Interval,
    /// The same in core cycles, if they are known. Where both lines have them, they are compared.
    pub cycles: Option<Interval>,
}

impl fmt::Display for FunctionLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(r#"{"kind":"function","name":""#)?;
        for letter in self.name.chars() {
            match letter {
                '"' | '\\' => write!(f, "\\{letter}")?,
                '\0'..=' ' if letter != ' ' => write!(f, "\\u{:04x}", u32::from(letter))?,
                letter => f.write_char(letter)?,
            }
        }
        let interval = |f: &mut fmt::Formatter<'_>, name, of: Interval| {
            write!(f, r#","{name}":[{},{},{}]"#, of.lo, of.middle(), of.hi)
        };
        f.write_char('"')?;
        interval(f, "nanoseconds", self.nanoseconds)?;
        if let Some(cycles) = self.cycles {
            interval(f, "cycles", cycles)?;
        }
        f.write_char('}')
    }
}
