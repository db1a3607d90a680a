//! Where data lies in a line: structures, holes, alignment.

use crate::experiment::prelude::*;
use crate::experiment::shared::count::CountSetup;
use crate::experiment::shared::lines::no_width;
use crate::kernel::{TwoFields, WideChase, Width};
use crate::pattern::{Layout, Order, Ring};

pub mod alignment;
pub mod elements;
pub mod holes;
pub mod instruction;
pub mod orders;
pub mod placement;
pub mod straddle;
pub mod structure;

families![structure, instruction, elements, orders, holes, placement, alignment, straddle,];

/// A number of a layout: its name, its value on this machine, and its value in the document.
type Counted = (&'static str, usize, f64);

fn counted((name, value, _): Counted) -> Case {
    CountSetup::computed(name, value as u64, |value| Ok(value as f64)).at(0.0)
}

/// Judges that every number equals the document's.
fn agree(e: &Evidence<'_>, numbers: &[Counted]) -> Judged {
    all_of(numbers.iter().map(|(name, _, wanted)| between(name, e.at(name, 0.0), *wanted, *wanted)))
}

/// What a walk loads of each element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Loads {
    /// The pointer, and two words that are added up, counted from 0.
    Two([usize; 2]),
    /// The pointer, by a load of this many bytes: 4, 8, 16, 32 or 64.
    Wide(usize),
}

/// Set-up of a walk along a ring, whose elements have room for the loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RingSetup {
    pub layout: Layout,
    pub count: usize,
    pub order: Order,
    pub loads: Loads,
}

impl Setup for RingSetup {
    fn bytes(&self) -> usize {
        self.layout.span(self.count)
    }

    fn prepare<'m>(&self, region: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        let ring = || Ring::new(region, self.layout, self.count, self.order);
        let period = self.count as u64;
        Ok(match self.loads {
            Loads::Two(words) => Workload::steady(TwoFields::new(ring()?, words)?, period),
            Loads::Wide(bytes) => {
                let width = Width::of(bytes, context.features).ok_or_else(|| no_width(bytes))?;
                Workload::steady(WideChase::new(ring()?, width)?, period)
            }
        })
    }
}
