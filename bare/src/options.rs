//! The words that configure an image.

use core::fmt::Arguments;

use crate::console::Console;
use crate::walk::SMALLEST;

/// The default seed of all random layouts.
const SEED: u64 = 1;

/// The options that the words set.
pub struct Options<'w> {
    /// The largest working set in bytes.
    pub largest: Option<usize>,
    /// The seed of all random layouts.
    pub seed: u64,
    /// The experiments to run, separated by commas, instead of the walks.
    pub run: Option<&'w str>,
    /// How long the experiments take.
    pub profile: Profile,
    /// Whether every kernel is checked before anything is timed.
    pub verify: bool,
    /// An intended failure, for tests.
    pub plant: Option<Plant>,
    /// Whether to use counters that CPUID does not report.
    pub plant_pmu: bool,
}

/// How long experiments take.
#[derive(Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(feature = "experiments"), allow(dead_code))]
pub enum Profile {
    /// Two passes, like a quick run of the lab.
    Quick,
    /// One pass of short samples: shows that everything works; the times are meaningless.
    Smoke,
}

/// An intended failure, for tests.
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
    /// Parses `words`. The platform handles those in `own`. `refuse` gets a sentence for every word
    /// that is not understood.
    pub fn parse(words: &'w str, own: &str, mut refuse: impl FnMut(Arguments<'_>)) -> Self {
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
            // QEMU's microvm adds its devices to the command line.
            let device = word.starts_with("virtio_mmio.device=");
            let known = own.split(' ').any(|own| own == word);
            let understood = device || known || options.take(word);
            if !understood {
                refuse(format_args!(
                    "not understood: {word} (accepted: largest=BYTES from {SMALLEST}, seed=NUMBER, \
                     run=NAMES, profile=quick, profile=smoke, verify=off, plant=failure, \
                     plant=exception, plant=panic, plant=pmu; and {own})"
                ));
            }
        }
        options
    }

    /// The largest working set asked for, or as many bytes as there are. Says so if more was asked for.
    pub fn largest_of(&self, console: &mut Console<'_>, most: usize) -> usize {
        let asked = self.largest.unwrap_or(most);
        if asked > most {
            console.say(format_args!(
                "largest={asked} is more than the memory that is there: working sets end at {most} \
                 bytes"
            ));
        }
        asked.min(most)
    }

    /// Whether this word is known.
    fn take(&mut self, word: &'w str) -> bool {
        match word.split_once('=') {
            Some(("largest", bytes)) => match bytes.parse() {
                Ok(bytes) if bytes >= SMALLEST => self.largest = Some(bytes),
                _ => return false,
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
