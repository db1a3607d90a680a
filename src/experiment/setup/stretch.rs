//! A walk whose samples are as long as the pattern repeats.

use super::WalkSetup;
use crate::experiment::{Context, Forecast, Parameters, Setup, Subject, Untestable};
use crate::kernel::{Kernel, Step, Walk};
use crate::measure::Shot;
use crate::mem::Region;
use crate::pattern::Ring;

/// A ring that is followed by stretches of so many steps, sixteen of which make a sample: steps at
/// the beginning of a block of pages cost more than those at its end, where lines that came along
/// are hit, and samples shorter than a block would be of one kind or the other. An operation is a
/// step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StretchSetup {
    /// The ring, which is followed whatever its step is.
    pub walk: WalkSetup,
    /// Steps of a stretch.
    pub steps: u64,
}

impl Setup for StretchSetup {
    fn bytes(&self) -> usize {
        self.walk.bytes()
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Result<Subject<'m>, Untestable> {
        let WalkSetup {
            layout,
            count,
            order,
            ..
        } = self.walk;
        let ring = Ring::new(region, layout, count, order).map_err(Untestable::because)?;
        let mut walk = Walk::new(ring, Step::Follow).map_err(Untestable::because)?;
        // The first stretch finds TLBs and prefetchers as the laying out left them.
        walk.run(self.steps);
        let work = walk.work();
        let steps = self.steps.max(1);
        Ok(Subject::Shot {
            shot: Box::new(Stretch { walk, steps }),
            work,
        })
    }

    /// The walk that the stretches are of.
    fn traced<'m>(&self, region: Region<'m>, context: &Context) -> Result<Subject<'m>, Untestable> {
        self.walk.with(Step::Follow).prepare(region, context)
    }

    fn predict(&self, parameters: &Parameters<'_>) -> Option<Forecast> {
        self.walk.predict(parameters)
    }
}

struct Stretch<'m> {
    walk: Walk<'m>,
    steps: u64,
}

impl Shot for Stretch<'_> {
    fn prepare(&mut self) {}

    fn shoot(&mut self) -> u64 {
        self.walk.run(self.steps)
    }

    fn operations(&self) -> u64 {
        self.steps
    }
}
