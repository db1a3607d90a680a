//! Lines of one set, visited in a given order.

use crate::experiment::{Context, Setup, Subject, Untestable};
use crate::kernel::Revisit;
use crate::mem::{LINE, Region};
use crate::pattern::Visits;

/// Bytes of a word.
const WORD: usize = 8;

/// Lines that addresses can belong to, all of one set.
const LINES: usize = 64;

/// A round over lines of one set. An operation is a load.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RevisitSetup {
    /// The lines in the order of their visits, numbered from 0, 64 at most. A line has room for
    /// eight visits a round.
    pub lines: Vec<u8>,
    /// Bytes after which an address falls into the same set.
    pub apart: usize,
}

impl RevisitSetup {
    /// Where each visit loads. No two lines in a row have the same distance for long, lest a
    /// prefetcher take them for a stream: triangular numbers come by all of 64 places.
    fn places(&self) -> Option<Vec<usize>> {
        // Any set will do that is not the first, where much of a page begins.
        let set = self.apart / 3 / LINE * LINE;
        let mut visits = [0; LINES];
        let places = self.lines.iter().map(|&line| {
            let line = usize::from(line);
            let word = visits.get_mut(line)?;
            let at = line * (line + 1) / 2 % LINES * self.apart + set + *word * WORD;
            *word += 1;
            (*word <= LINE / WORD).then_some(at)
        });
        places.collect()
    }
}

impl Setup for RevisitSetup {
    fn bytes(&self) -> usize {
        LINES * self.apart
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Result<Subject<'m>, Untestable> {
        let places = self.places().ok_or_else(|| {
            Untestable(format!(
                "a line of the sequence is visited more than {} times, or numbered {LINES} or more",
                LINE / WORD
            ))
        })?;
        let visits = Visits::new(region, &places).map_err(Untestable::because)?;
        Ok(Subject::Steady {
            kernel: Box::new(Revisit::new(visits)),
            lap: places.len() as u64,
        })
    }
}
