//! Threads that increment words or take locks, in one place or in neighbouring places.

use crate::experiment::prelude::*;
use crate::host::Worker;
use crate::kernel::{Increment, IncrementWay};
use crate::mem::{LINE, Region};

/// Where the words of the threads lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Spacing {
    /// All threads have the same word.
    Shared,
    /// Each has its own word, this many bytes after the word before: 8 is an array without gaps.
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
    /// How they increment.
    pub way: IncrementWay,
    /// Where their words lie.
    pub spacing: Spacing,
    /// The CPU of each.
    pub cpus: Vec<usize>,
    /// Which thread's time counts.
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
}
