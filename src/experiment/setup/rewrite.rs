//! Lines that are written, again and again or to be read back.

use core::hint::black_box;

use crate::experiment::{Context, Setup, Subject, Untestable};
use crate::kernel::{
    FillLines, FillWay, Kernel, LoadLines, LoadWay, Rewrite, RewriteWay, Vector, Work,
};
use crate::measure::Shot;
use crate::mem::{LINE, Region};

/// What becomes of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Policy {
    /// It stays in the cache.
    WriteBack,
    /// It stays in the cache, and `clwb` writes it to memory as well.
    WriteThrough,
    /// It bypasses the cache.
    WriteCombining,
    /// Neither is cached nor combined.
    Uncacheable,
}

impl Policy {
    /// The reason, if a program cannot have it.
    fn untestable(self) -> Result<(), Untestable> {
        if self == Policy::Uncacheable {
            return Err(Untestable::because(
                "a program cannot map uncacheable memory: the kernel alone sets the type of a \
                 page (PAT, MTRRs)",
            ));
        }
        Ok(())
    }
}

/// Stores to one word. An operation is a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RewriteSetup {
    /// What becomes of each.
    pub policy: Policy,
}

impl Setup for RewriteSetup {
    fn bytes(&self) -> usize {
        LINE
    }

    fn prepare<'m>(
        &self,
        region: Region<'m>,
        context: &Context,
    ) -> Result<Subject<'m>, Untestable> {
        self.policy.untestable()?;
        let way = match self.policy {
            Policy::WriteBack => RewriteWay::Back,
            Policy::WriteThrough => {
                let token = context.features.clwb();
                RewriteWay::Through(
                    token.ok_or_else(|| Untestable::because("this CPU has no clwb"))?,
                )
            }
            Policy::WriteCombining | Policy::Uncacheable => RewriteWay::NonTemporal,
        };
        Ok(Subject::Steady {
            kernel: Box::new(Rewrite::new(region, way)),
            lap: 1,
        })
    }
}

/// Lines that are filled in some way, and then read. The reading is timed; an operation is a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReadBackSetup {
    /// Bytes of all lines together.
    pub bytes: usize,
    /// How they are filled.
    pub way: FillWay,
}

impl Setup for ReadBackSetup {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn prepare<'m>(&self, mut region: Region<'m>, _: &Context) -> Result<Subject<'m>, Untestable> {
        FillLines::new(region.reborrow(), self.way).map_err(Untestable::because)?;
        Ok(Subject::Shot {
            shot: Box::new(ReadBackShot {
                region,
                way: self.way,
            }),
            work: Work {
                loads: 4,
                bytes_read: LINE as u32,
                ..Work::default()
            },
        })
    }
}

struct ReadBackShot<'m> {
    region: Region<'m>,
    way: FillWay,
}

impl Shot for ReadBackShot<'_> {
    fn prepare(&mut self) {
        // It was made once already, from the same region.
        if let Ok(mut fill) = FillLines::new(self.region.reborrow(), self.way) {
            let lines = fill.pass();
            black_box(fill.run(lines));
        }
    }

    fn shoot(&mut self) -> u64 {
        let lines = self.operations();
        LoadLines::new(self.region.reborrow(), LoadWay::Cached(Vector::Sse2)).run(lines)
    }

    fn operations(&self) -> u64 {
        (self.region.len() / LINE) as u64
    }
}
