//! Elements of an array that are picked by indices.

use crate::experiment::{Context, Setup, Subject, Untestable};
use crate::kernel::Pick;
use crate::mem::Region;
use crate::pattern::{Order, Picks};

/// An array of elements whose first and last words are read. An operation is an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PickSetup {
    /// Bytes of an element.
    pub element: usize,
    /// How many there are.
    pub count: usize,
    /// In which order they are read.
    pub order: Order,
}

impl Setup for PickSetup {
    fn bytes(&self) -> usize {
        Picks::span(self.element, self.count)
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Result<Subject<'m>, Untestable> {
        let picks = Picks::new(region, self.element, self.count, self.order)
            .map_err(Untestable::because)?;
        let lap = picks.count() as u64;
        Ok(Subject::Steady {
            kernel: Box::new(Pick::new(picks)),
            lap,
        })
    }
}
