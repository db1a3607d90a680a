//! The words that tell an image what to do.

use core::fmt::Arguments;

/// Decides every random layout, unless the words say otherwise.
const SEED: u64 = 1;

/// What the words ask for.
pub struct Options<'w> {
    /// The largest working set in bytes.
    pub largest: Option<usize>,
    /// Decides every random layout.
    pub seed: u64,
    /// The experiments to run, parted by commas, instead of the walks.
    pub run: Option<&'w str>,
    /// How much time they take.
    pub profile: Profile,
    /// Every kernel is checked before anything is timed.
    pub verify: bool,
    /// A failure on purpose.
    pub plant: Option<Plant>,
    /// Counters that CPUID does not report are taken for granted.
    pub plant_pmu: bool,
}

/// How much time experiments take.
#[derive(Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(feature = "experiments"), allow(dead_code))]
pub enum Profile {
    /// Two passes, as a quick run of the lab.
    Quick,
    /// One pass of short samples: everything works, and no time is to be believed.
    Smoke,
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

impl<'w> Options<'w> {
    /// Reads `words`. Those in `own` are the platform's, and `say` gets a line for every word that nobody
    /// understands.
    pub fn parse(words: &'w str, own: &str, mut say: impl FnMut(Arguments<'_>)) -> Self {
        let mut options = Options {
            largest: None,
            seed: SEED,
            run: None,
            profile: Profile::Quick,
            verify: true,
            plant: None,
            plant_pmu: false,
        };
        for word in words.split_ascii_whitespace() {
            let understood = own.split(' ').any(|own| own == word) || options.take(word);
            if !understood {
                say(format_args!(
                    "not understood: {word} (accepted: largest=BYTES, seed=NUMBER, run=NAMES, \
                     profile=quick, profile=smoke, verify=off, plant=failure, plant=exception, \
                     plant=panic, plant=pmu; and {own})"
                ));
            }
        }
        options
    }

    /// Whether this word is understood.
    fn take(&mut self, word: &'w str) -> bool {
        match word.split_once('=') {
            Some(("largest", bytes)) => match bytes.parse() {
                Ok(bytes) => self.largest = Some(bytes),
                Err(_) => return false,
            },
            Some(("seed", seed)) => match seed.parse() {
                Ok(seed) => self.seed = seed,
                Err(_) => return false,
            },
            Some(("run", names)) => self.run = Some(names),
            Some(("profile", "quick")) => self.profile = Profile::Quick,
            Some(("profile", "smoke")) => self.profile = Profile::Smoke,
            Some(("verify", "off")) => self.verify = false,
            Some(("plant", "failure")) => self.plant = Some(Plant::Failure),
            Some(("plant", "exception")) => self.plant = Some(Plant::Exception),
            Some(("plant", "panic")) => self.plant = Some(Plant::Panic),
            Some(("plant", "pmu")) => self.plant_pmu = true,
            _ => return false,
        }
        true
    }
}
