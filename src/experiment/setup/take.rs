//! Lines that another core holds, taken from it to be written.

// Sees lines as the words that they are made of.
#![allow(unsafe_code)]

use std::sync::Arc;

use super::remote::{Ask, Held, LINES, Line, Others, Table};
use crate::cpu::mfence;
use crate::experiment::{Context, Setup, Subject, Untestable};
use crate::kernel::{Fetched, Kernel, TakeLines, TakeWay, Work};
use crate::measure::Shot;
use crate::mem::Region;
use crate::os::PartnerError;
use crate::os::preempt::current_cpu;

use core::sync::atomic::AtomicU64;

/// Writes to 64 lines, which are brought into their state before each shot.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TakeSetup {
    /// Who holds the lines: any but [`Held::Nowhere`] and [`Held::Exclusive`], which are not
    /// brought about here.
    pub held: Held,
    /// How they are written.
    pub way: TakeWay,
    /// How they are fetched before.
    pub fetched: Fetched,
    /// The CPU of the other thread.
    pub other: usize,
}

struct Take {
    setup: TakeSetup,
    table: Arc<Table>,
    others: Others,
}

/// The words of lines.
fn words(lines: &[Line]) -> &[AtomicU64] {
    let words = size_of_val(lines) / size_of::<AtomicU64>();
    // SAFETY: a line is an array of so many atomic words and nothing else.
    unsafe { core::slice::from_raw_parts(lines.as_ptr().cast(), words) }
}

impl Take {
    fn new(setup: &TakeSetup) -> Result<Self, PartnerError> {
        // The numbers in the lines lead nowhere here.
        let table = Arc::new(Table::new(1));
        Ok(Take {
            setup: setup.clone(),
            others: Others::start(&table, &[setup.other])?,
            table,
        })
    }

    fn kernel(&self) -> Option<TakeLines<'_>> {
        let words = words(self.table.lines());
        TakeLines::new(words, LINES, self.setup.way, self.setup.fetched)
    }
}

impl Shot for Take {
    fn prepare(&mut self) {
        match self.setup.held {
            Held::Modified => self.others.ask(Ask::Write),
            Held::Shared => {
                core::hint::black_box(self.table.read());
                self.others.ask(Ask::Read);
                core::hint::black_box(self.table.read());
            }
            _ => self.table.write(),
        }
        mfence();
    }

    /// Returns the offset of the line after the last, which is the first.
    fn shoot(&mut self) -> u64 {
        let kernel = self.kernel();
        kernel.map_or(u64::MAX, |mut kernel| kernel.run(LINES as u64))
    }

    fn operations(&self) -> u64 {
        LINES as u64
    }
}

impl Setup for TakeSetup {
    /// None of the region: the lines lie in memory that the threads own together.
    fn bytes(&self) -> usize {
        0
    }

    fn prepare<'m>(&self, _: Region<'m>, context: &Context) -> Result<Subject<'m>, Untestable> {
        // Two threads of one CPU would wait for the scheduler.
        if current_cpu() == Some(self.other) {
            return Err(Untestable(
                "it takes a CPU other than the measuring one".into(),
            ));
        }
        if self.fetched == Fetched::ToWrite && !context.features.prefetchw() {
            return Err(Untestable("this CPU has no prefetchw".into()));
        }
        let take = Take::new(self).map_err(Untestable::because)?;
        let work = take
            .kernel()
            .map_or_else(Work::default, |kernel| kernel.work());
        Ok(Subject::Shot {
            shot: Box::new(take),
            work,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mem::LINE;
    use crate::os::allowed;

    /// Every line is written once, whoever had it.
    #[test]
    fn a_shot_takes_every_line_once() {
        let cpus = allowed();
        for held in [Held::Own, Held::Modified, Held::Shared] {
            for fetched in [Fetched::Not, Fetched::ToRead, Fetched::ToWrite] {
                let setup = TakeSetup {
                    held,
                    way: TakeWay::Add,
                    fetched,
                    other: cpus[0],
                };
                let mut take = Take::new(&setup).unwrap();
                let before: u64 = take.table.read();
                for shots in 1..4 {
                    take.prepare();
                    assert_eq!(take.shoot(), 0);
                    assert_eq!(take.table.read(), before + shots * LINES as u64);
                }
            }
        }
        assert_eq!(
            words(&[Line::default(), Line::default()]).len(),
            2 * LINE / 8
        );
    }
}
