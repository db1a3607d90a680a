//! Many references at a time.

use alloc::vec::Vec;

use super::Hierarchy;
use crate::sim::eight::Eight;
use crate::sim::reference::{Op, Reference};
use crate::sim::run::{self, Front, Line, Newest};

/// What [`Hierarchy`] itself does with a reference that nobody but the levels sees.
impl Front for Hierarchy {
    #[inline]
    fn instructions(&self) -> Option<Newest<'_>> {
        let side = self.side(Op::Fetch)?;
        Some(self.at(side, 0).newest())
    }

    #[inline]
    fn data(&self) -> Newest<'_> {
        self.levels[0].cache.newest()
    }

    fn serve(&mut self, &reference: &Reference, _: Line) -> Line {
        self.serve_unwatched(reference);
        // What was used last may be another line, or none.
        Line::default()
    }
}

/// The levels of a hierarchy all of which are [`Eight`]s and none of which takes a line from another
/// or away from it: those that cachegrind simulates, and many more.
struct Eights<'a> {
    /// None where fetches are passed over.
    instructions: Option<Eight<'a>>,
    data: Eight<'a>,
    behind: Vec<Eight<'a>>,
}

impl<'a> Eights<'a> {
    fn of(hierarchy: &'a mut Hierarchy) -> Option<Self> {
        if !hierarchy.apart || hierarchy.joint() {
            return None;
        }
        let instructions = match &mut hierarchy.instructions {
            Some(cache) => Some(cache.eight()?),
            None => None,
        };
        let mut levels = hierarchy.levels.iter_mut();
        let data = levels.next()?.cache.eight()?;
        let behind = levels.map(|level| {
            let eight = level.cache.eight()?;
            Some(Eight {
                newest: &mut [],
                ..eight
            })
        });
        let behind = behind.collect::<Option<_>>()?;
        Some(Eights {
            instructions,
            data,
            behind,
        })
    }
}

impl Front for Eights<'_> {
    #[inline]
    fn instructions(&self) -> Option<Newest<'_>> {
        self.instructions.as_ref().map(Eight::newest)
    }

    #[inline]
    fn data(&self) -> Newest<'_> {
        self.data.newest()
    }

    #[inline]
    fn serve(&mut self, reference: &Reference, line: Line) -> Line {
        match &mut self.instructions {
            Some(cache) if reference.op == Op::Fetch => {
                cache.serve(reference, &mut self.behind);
                Line::of(reference.last(), cache.line_bits)
            }
            _ => {
                self.data.serve(reference, &mut self.behind);
                line
            }
        }
    }
}

impl Hierarchy {
    /// Serves references that nobody but the levels sees, and says how many: those up to the first
    /// store that goes past the caches.
    pub(super) fn serve_many(&mut self, references: &[Reference]) -> usize {
        let (served, hits) = match Eights::of(self) {
            Some(mut eights) => run::serve(&mut eights, references),
            None => run::serve(self, references),
        };
        for op in Op::ALL {
            if let Some(side) = self.side(op) {
                self.at_mut(side, 0).count_hits(op, hits[op as usize]);
            }
        }
        served
    }
}
