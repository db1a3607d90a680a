//! Threads that increment words or take locks, in one place or in neighbouring ones.

use crate::experiment::prelude::*;
use crate::kernel::{Increment, IncrementWay};
use crate::mem::{LINE, Region};
use crate::model::Contested;
use crate::os::Worker;

/// Where the words of the threads lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Spacing {
    /// All threads have the same word.
    Shared,
    /// Each has a word of its own, so many bytes after the one before: 8 is an array without gaps.
    Apart(usize),
}

impl Spacing {
    /// Byte offset of the word of the thread `index`.
    pub fn at(self, index: usize) -> usize {
        match self {
            Spacing::Shared => 0,
            Spacing::Apart(bytes) => index * bytes,
        }
    }
}

/// Threads that increment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IncrementSetup {
    /// How they do.
    pub way: IncrementWay,
    /// Where their words lie.
    pub spacing: Spacing,
    /// The CPU of each.
    pub cpus: Vec<usize>,
    /// Whose time counts.
    pub pace: SampleOf,
}

impl Setup for IncrementSetup {
    fn bytes(&self) -> usize {
        self.spacing.at(self.cpus.len().saturating_sub(1)) + LINE
    }

    fn prepare<'m>(&self, mut region: Region<'m>, _: &Context) -> Result<Workload<'m>, Untestable> {
        // A lock is free at first.
        region.bytes_mut().fill(0);
        let words = region.into_atomics();
        let member = |(index, &cpu): (usize, &usize)| {
            let word = self.spacing.at(index) / size_of::<u64>();
            let kernel = Increment::new(words, word, self.way)
                .ok_or_else(|| Untestable(format!("word {word} does not lie in the region")))?;
            Ok(Worker {
                cpu,
                kernel: Box::new(kernel),
            })
        };
        let members = self.cpus.iter().enumerate().map(member);
        let members = members.collect::<Result<_, Untestable>>()?;
        Ok(Workload::at_once(members, self.pace, 1))
    }

    /// Of words that share a line, which goes around between the threads.
    fn predict(&self, parameters: &Parameters<'_>) -> Option<Forecast> {
        let one_line = match self.spacing {
            Spacing::Shared => true,
            Spacing::Apart(bytes) => bytes * self.cpus.len() <= LINE,
        };
        let mut cpus = self.cpus.clone();
        cpus.sort_unstable();
        cpus.dedup();
        (one_line && cpus.len() > 1 && cpus.len() == self.cpus.len()).then_some(())?;
        let line = Contested {
            threads: cpus.len() as f64,
            round_trip: parameters.round_trip()?,
        };
        Some(match self.way {
            IncrementWay::Plain => Forecast {
                cycles: line.buffered(parameters.pending_stores()?.into(), parameters.l1()?),
                model: &BUFFERED,
            },
            IncrementWay::CompareExchange => Forecast {
                cycles: line.loading_first(parameters.addition()?),
                model: &WAITING,
            },
            IncrementWay::FetchAdd | IncrementWay::SpinLock => Forecast {
                cycles: line.waiting(parameters.addition()?),
                model: &WAITING,
            },
        })
    }
}

static BUFFERED: Model = Model {
    name: "a line that each core has for a quarter of a round trip, and a store buffer that empties \
           into it",
    bar: 0.25,
    leaves_out: "how long the directory keeps a request that comes while the line is on its way",
};

static WAITING: Model = Model {
    name: "a line that each core has for a quarter of a round trip, and adds to as to its own",
    bar: 0.25,
    leaves_out: "that a compare-and-exchange fails if another core came between it and its load, and \
                 that a lock is given back by a store of its own, for which the line may have to come \
                 once more",
};
