//! Walks by loads of any width.

use super::burst::no_width;
use crate::experiment::{Context, Setup, Subject, Untestable};
use crate::kernel::{Straddle, Width};
use crate::mem::Region;
use crate::pattern::{Layout, Order, Ring};

/// A ring and a walk along it that loads the pointers by one width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StraddleSetup {
    /// Where the elements lie; they hold a load each.
    pub layout: Layout,
    /// How many there are.
    pub count: usize,
    /// In which order they are visited.
    pub order: Order,
    /// Bytes of a load: 4, 8, 16, 32 or 64.
    pub width: usize,
}

impl Setup for StraddleSetup {
    fn bytes(&self) -> usize {
        self.layout.span(self.count)
    }

    fn prepare<'m>(
        &self,
        region: Region<'m>,
        context: &Context,
    ) -> Result<Subject<'m>, Untestable> {
        let width = Width::of(self.width, context.features).ok_or_else(|| no_width(self.width))?;
        let ring =
            Ring::new(region, self.layout, self.count, self.order).map_err(Untestable::because)?;
        let walk = Straddle::new(ring, width).map_err(Untestable::because)?;
        Ok(Subject::Steady {
            kernel: Box::new(walk),
            lap: self.count as u64,
        })
    }
}
