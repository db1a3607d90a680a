//! Many references at a time.

use alloc::vec::Vec;

use super::Hierarchy;
use crate::sim::cache::Cache;
use crate::sim::eight::Eight;
use crate::sim::reference::{Op, Reference};
use crate::sim::run::Shape;

/// So few references are served one by one: the rest would take longer to prepare.
const FEW: usize = 64;

impl Hierarchy {
    /// How the caches are that references enter, if none but references changes what is in them and
    /// they are [`Shape`]s.
    fn shape(&self) -> Option<Shape> {
        let data = &self.levels[0].cache;
        let instructions = self.instructions.as_ref();
        let steady = |cache: &Cache| cache.is_steady();
        if self.watched || !self.apart || self.joint() || !steady(data) {
            return None;
        }
        let geometry = data.geometry();
        let of_instructions = instructions.unwrap_or(data).geometry();
        let alike = of_instructions.line() == geometry.line() && instructions.is_none_or(steady);
        alike.then(|| {
            let sets = [of_instructions.sets(), geometry.sets()];
            Shape::new(instructions.is_some(), geometry.offset_bits(), sets)
        })
    }

    /// Serves references, and says how many: those up to the first store that goes past the caches.
    /// None if nothing is gained by it.
    pub(super) fn serve_many(&mut self, references: &[Reference]) -> Option<usize> {
        let shape = self.shape().filter(|_| references.len() > FEW)?;
        let served = match Eights::of(self) {
            Some(mut eights) => shape.serve(references, |reference| eights.serve(reference)),
            None => shape.serve(references, |&reference| {
                self.serve_unwatched(reference);
            }),
        };
        for op in Op::ALL {
            if let Some(side) = self.side(op) {
                self.at_mut(side, 0)
                    .count_hits(op, served.hits[op as usize]);
            }
        }
        Some(served.references)
    }
}

/// The levels of a hierarchy, all of which are [`Eight`]s: those that cachegrind simulates, and more.
struct Eights<'a> {
    /// None if fetches are passed over.
    instructions: Option<Eight<'a>>,
    data: Eight<'a>,
    behind: Vec<Eight<'a>>,
}

impl<'a> Eights<'a> {
    fn of(hierarchy: &'a mut Hierarchy) -> Option<Self> {
        let instructions = match &mut hierarchy.instructions {
            Some(cache) => Some(cache.first_eight()?),
            None => None,
        };
        let mut levels = hierarchy.levels.iter_mut();
        let data = levels.next()?.cache.first_eight()?;
        let behind = levels.map(|level| level.cache.eight());
        Some(Eights {
            instructions,
            data,
            behind: behind.collect::<Option<_>>()?,
        })
    }

    #[inline]
    fn serve(&mut self, reference: &Reference) {
        if reference.op != Op::Fetch {
            self.data.serve(reference, &mut self.behind);
        } else if let Some(cache) = &mut self.instructions {
            cache.serve(reference, &mut self.behind);
        }
    }
}
