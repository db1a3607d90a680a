//! Walks that add up two words of an element.

use crate::experiment::{Context, Setup, Subject, Untestable};
use crate::kernel::Pair;
use crate::mem::Region;
use crate::pattern::{Layout, Order, Ring};

/// A ring of elements of whole lines, two words of which are added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PairSetup {
    /// Bytes of all elements together.
    pub working_set: usize,
    /// Where the elements lie.
    pub layout: Layout,
    /// In which order they are visited.
    pub order: Order,
    /// The words.
    pub words: [usize; 2],
}

impl PairSetup {
    fn count(&self) -> usize {
        self.layout.count(self.working_set).max(1)
    }
}

impl Setup for PairSetup {
    fn bytes(&self) -> usize {
        self.layout.span(self.count())
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Result<Subject<'m>, Untestable> {
        let ring = Ring::new(region, self.layout, self.count(), self.order)
            .map_err(Untestable::because)?;
        let pair = Pair::new(ring, self.words).map_err(Untestable::because)?;
        Ok(Subject::Steady {
            kernel: Box::new(pair),
            lap: self.count() as u64,
        })
    }
}
