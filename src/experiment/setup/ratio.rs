//! How many of a walk's reads of L2 miss, simulated.

use crate::experiment::{Context, Setup, Subject, Untestable};
use crate::mem::Region;
use crate::sim::{
    Design, Geometry, Hierarchy, HierarchyDesign, Inclusion, Instructions, LevelDesign, Prefetcher,
    Reference,
};

use super::WalkSetup;

/// The misses of L2 in percent of its reads, of a lap of a walk that follows another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RatioSetup {
    /// The walk.
    pub walk: WalkSetup,
    /// L1d.
    pub l1: Geometry,
    /// L2, with a prefetcher that follows streams.
    pub l2: Geometry,
}

/// Lines that the prefetcher runs ahead: half as far as Intel's streamer may (optimization manual
/// 248966, "Data Prefetch to L1 caches and L2", 20 lines).
pub(super) const AHEAD: u8 = 10;

impl Setup for RatioSetup {
    fn bytes(&self) -> usize {
        self.walk.bytes()
    }

    fn prepare<'m>(
        &self,
        region: Region<'m>,
        context: &Context,
    ) -> Result<Subject<'m>, Untestable> {
        let Subject::Steady { mut kernel, lap } = self.walk.prepare(region, context)? else {
            return Err(Untestable("a walk has a steady state".to_owned()));
        };
        let mut caches = Hierarchy::new(&self.design()).map_err(Untestable::because)?;
        kernel.trace(lap, &mut |access| {
            caches.reference(Reference::of(access, 0));
        });
        caches.forget_counts();
        kernel.trace(lap, &mut |access| {
            caches.reference(Reference::of(access, 0));
        });
        Ok(Subject::Count(100.0 * caches.counters(1).miss_ratio()))
    }
}

impl RatioSetup {
    fn design(&self) -> HierarchyDesign {
        let level = |cache| LevelDesign::new(Design::lru(cache), Inclusion::NonInclusive);
        let mut l2 = level(self.l2);
        l2.prefetchers = vec![Prefetcher::Streamer { ahead: AHEAD }];
        HierarchyDesign {
            instructions: Instructions::Ignored,
            levels: vec![level(self.l1), l2],
            tlb: None,
        }
    }
}
