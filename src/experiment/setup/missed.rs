//! How often a walk misses in the caches of a CPU that is no longer at hand, simulated.

use std::sync::{Mutex, PoisonError};

use crate::experiment::{Context, Setup, Subject, Untestable};
use crate::mem::Region;
use crate::sim::{
    Design, Geometry, GeometryError, Hierarchy, HierarchyDesign, Inclusion, Instructions,
    LevelDesign, Prefetcher, Reference, TlbDesign,
};

use super::WalkSetup;
use super::ratio::AHEAD;

/// What of a walk's misses is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Missed {
    /// Loads that L1d did not have.
    L1d,
    /// Loads that L2 did not have.
    L2,
    /// Lines that L2 took in, for loads and for its prefetcher.
    L2Lines,
    /// Loads whose page the TLB did not have.
    Tlb,
}

impl Missed {
    /// All of them.
    pub const ALL: [Missed; 4] = [Missed::L1d, Missed::L2, Missed::L2Lines, Missed::Tlb];
}

/// The misses of a lap of a walk that follows another, in percent of its instructions, in the
/// caches of the Core 2 of Drepper's section 7: L1d of 32 KiB and 8 ways, L2 of 4 MiB and 16 ways
/// with a prefetcher that follows streams, 256 TLB entries in sets of 4 for pages of 4 KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Core2Setup {
    /// The walk.
    pub walk: WalkSetup,
    /// Instructions of a step.
    pub instructions: u32,
    /// What is told.
    pub missed: Missed,
}

/// What was counted of a walk, in the order of [`Missed::ALL`]. The four numbers of a walk come out
/// of one simulation, and those of the next pass are the same.
static KNOWN: Mutex<Vec<(WalkSetup, [u64; 4])>> = Mutex::new(Vec::new());

impl Setup for Core2Setup {
    fn bytes(&self) -> usize {
        self.walk.bytes()
    }

    fn prepare<'m>(
        &self,
        region: Region<'m>,
        context: &Context,
    ) -> Result<Subject<'m>, Untestable> {
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.iter().find(|(walk, _)| *walk == self.walk);
        let counts = match found {
            Some((_, counts)) => *counts,
            None => {
                let counts = count(self.walk, region, context)?;
                known.push((self.walk, counts));
                counts
            }
        };
        let instructions = self.walk.count as f64 * f64::from(self.instructions);
        let count = counts[self.missed as usize];
        Ok(Subject::Count(100.0 * count as f64 / instructions))
    }
}

fn count(walk: WalkSetup, region: Region<'_>, context: &Context) -> Result<[u64; 4], Untestable> {
    let Subject::Steady { mut kernel, lap } = walk.prepare(region, context)? else {
        return Err(Untestable("a walk has a steady state".to_owned()));
    };
    let design = design().map_err(Untestable::because)?;
    let mut caches = Hierarchy::new(&design).map_err(Untestable::because)?;
    for counted in [false, true] {
        kernel.trace(lap, &mut |access| {
            caches.reference(Reference::of(access, 0));
        });
        if !counted {
            caches.forget_counts();
        }
    }
    let l2 = caches.counters(1);
    Ok([
        caches.counters(0).misses(),
        l2.misses(),
        l2.fills,
        caches.tlb().map_or(0, |tlb| tlb.first().misses),
    ])
}

/// CPUID of a Core 2 of 65 nm (leaf 2: 2Ch, 49h, and B4h for the TLB).
fn design() -> Result<HierarchyDesign, GeometryError> {
    let level = |geometry| LevelDesign::new(Design::lru(geometry), Inclusion::NonInclusive);
    let mut l2 = level(Geometry::new(4 << 20, 16, 64)?);
    l2.prefetchers = vec![Prefetcher::Streamer { ahead: AHEAD }];
    Ok(HierarchyDesign {
        instructions: Instructions::Ignored,
        levels: vec![level(Geometry::new(32 << 10, 8, 64)?), l2],
        tlb: Some(TlbDesign::new(256, 4, 4096)?),
    })
}
