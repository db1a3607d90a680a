//! A lap of a ring, after something else displaced what the CPU knew of its pages.

use core::hint::black_box;

use crate::experiment::predict::{Places, random};
use crate::experiment::{Context, Forecast, Parameters, Setup, Subject, Untestable};
use crate::kernel::{Kernel, Step, Walk};
use crate::measure::Shot;
use crate::mem::{LINE, PAGE, Region};
use crate::pattern::{Layout, Order, Ring};

/// What is displaced between two laps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Displaced {
    /// Nothing.
    Nothing,
    /// Translations: a byte of each of so many other pages is read. All lie at the same offset of
    /// their pages, so that their lines displace each other in a few sets and leave the ring's
    /// lines, and those of its page tables, in the caches.
    Translations {
        /// How many pages: more than the second-level TLB has entries.
        pages: usize,
    },
    /// Translations, page tables and the lines themselves: so many other bytes are read.
    All {
        /// How many bytes: more than the last-level cache holds.
        bytes: usize,
    },
}

impl Displaced {
    /// Bytes of other pages.
    fn bytes(self) -> usize {
        match self {
            Displaced::Nothing => 0,
            Displaced::Translations { pages } => pages * PAGE,
            Displaced::All { bytes } => bytes.next_multiple_of(LINE),
        }
    }
}

/// A ring whose laps are timed singly, with other pages touched in between. An operation is a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DisplaceSetup {
    /// Where the elements lie.
    pub layout: Layout,
    /// How many there are.
    pub count: usize,
    /// What is displaced before each lap.
    pub displaced: Displaced,
    /// Decides the order of the ring.
    pub seed: u64,
}

impl Setup for DisplaceSetup {
    fn bytes(&self) -> usize {
        // The ring begins on a page of its own.
        self.displaced.bytes().next_multiple_of(PAGE) + self.layout.span(self.count)
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Result<Subject<'m>, Untestable> {
        let other = self.displaced.bytes().next_multiple_of(PAGE);
        let (mut others, ring) = if other == 0 {
            (None, region)
        } else {
            let parts = region.split(other);
            let (others, ring) =
                parts.ok_or_else(|| Untestable("no room for other pages".to_owned()))?;
            (Some(others), ring)
        };
        // A page that was never written may be one page of zeroes for all.
        if let Some(others) = &mut others {
            (0..others.len())
                .step_by(PAGE)
                .for_each(|page| others.set_word(page, 1));
        }
        let order = Order::Random { seed: self.seed };
        let ring = Ring::new(ring, self.layout, self.count, order).map_err(Untestable::because)?;
        let walk = Walk::new(ring, Step::Follow).map_err(Untestable::because)?;
        let work = walk.work();
        let shot = DisplaceShot {
            walk,
            lap: self.count as u64,
            others,
            displaced: self.displaced,
        };
        Ok(Subject::Shot {
            shot: Box::new(shot),
            work,
        })
    }

    /// The walk alone, with nothing displaced.
    fn traced<'m>(&self, region: Region<'m>, _: &Context) -> Result<Subject<'m>, Untestable> {
        let order = Order::Random { seed: self.seed };
        let ring =
            Ring::new(region, self.layout, self.count, order).map_err(Untestable::because)?;
        let walk = Walk::new(ring, Step::Follow).map_err(Untestable::because)?;
        Ok(Subject::Steady {
            kernel: Box::new(walk),
            lap: self.count as u64,
        })
    }

    /// A lap right after the last one; what is displaced in between is not modelled.
    fn predict(&self, parameters: &Parameters<'_>) -> Option<Forecast> {
        let dense = self.layout == Layout::npad(self.layout.padding());
        (dense && self.displaced == Displaced::Nothing).then_some(())?;
        let places = Places {
            count: self.count,
            stride: self.layout.stride(),
            rotating: false,
        };
        random(parameters, places, None)
    }
}

struct DisplaceShot<'m> {
    walk: Walk<'m>,
    lap: u64,
    others: Option<Region<'m>>,
    displaced: Displaced,
}

impl Shot for DisplaceShot<'_> {
    fn prepare(&mut self) {
        black_box(self.walk.run(2 * self.lap));
        let Some(others) = &self.others else { return };
        let step = match self.displaced {
            Displaced::Nothing => return,
            Displaced::Translations { .. } => PAGE,
            Displaced::All { .. } => LINE,
        };
        for at in (0..others.len()).step_by(step) {
            black_box(others.bytes()[at]);
        }
    }

    fn shoot(&mut self) -> u64 {
        self.walk.run(self.lap)
    }

    fn operations(&self) -> u64 {
        self.lap
    }
}
