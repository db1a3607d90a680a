//! The words that tell an image what to do.

use core::fmt::Arguments;

/// What the words ask for.
#[derive(Default)]
pub struct Options {
    /// The largest working set in bytes.
    pub largest: Option<usize>,
    /// A failure on purpose.
    pub plant: Option<Plant>,
    /// Counters that CPUID does not report are taken for granted.
    pub plant_pmu: bool,
}

/// A failure on purpose.
#[derive(Clone, Copy)]
pub enum Plant {
    /// A check that fails.
    Failure,
    /// An exception.
    Exception,
    /// A panic.
    Panic,
}

impl Options {
    /// Reads `words`. Those in `own` are the platform's, and `say` gets a line for every word that nobody
    /// understands.
    pub fn parse(words: &str, own: &str, mut say: impl FnMut(Arguments<'_>)) -> Self {
        let mut options = Self::default();
        for word in words.split_ascii_whitespace() {
            match word {
                "plant=failure" => options.plant = Some(Plant::Failure),
                "plant=exception" => options.plant = Some(Plant::Exception),
                "plant=panic" => options.plant = Some(Plant::Panic),
                "plant=pmu" => options.plant_pmu = true,
                _ if own.split(' ').any(|own| own == word) => {}
                _ => match word.strip_prefix("largest=").map(str::parse) {
                    Some(Ok(bytes)) => options.largest = Some(bytes),
                    _ => say(format_args!(
                        "not understood: {word} (accepted: largest=BYTES, plant=failure, \
                         plant=exception, plant=panic, plant=pmu; and {own})"
                    )),
                },
            }
        }
        options
    }
}
