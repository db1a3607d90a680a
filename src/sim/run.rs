//! References that change nothing but a count.
//!
//! Most references of a program are fetches from the line of the fetch before, and most of the others
//! touch lines that were used last in their sets. They decide how long a simulation takes.

use super::policy::{DIRTY, EMPTY, Entry, FLAG_BITS};
use super::reference::{Op, Reference};

/// Lines that are remembered at most for each side.
const PLACES: usize = 64;

/// The caches that references enter: one of data, and one of instructions if fetches are not passed
/// over. Using a line again that was used last in its set changes nothing in them, unless a store
/// makes it dirty, and nobody takes a line away.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    fetches: bool,
    line_bits: u32,
    /// Bits of a line's number: lines that they tell apart are in different sets.
    mask: u64,
}

/// The lines used last on a side.
struct Recent {
    shape: Shape,
    entries: [Entry; PLACES],
}

/// What came of a series of references.
#[derive(Clone, Copy, Debug)]
pub(super) struct Served {
    /// How many were served: those up to the first store that goes past the caches.
    pub(super) references: usize,
    /// Hits that are still to be counted, by operation. Fetches that are passed over are among them.
    pub(super) hits: [u64; Op::COUNT],
}

impl Shape {
    /// Caches with lines of one length and so many sets each.
    pub(super) fn new(fetches: bool, line_bits: u32, sets: [u64; 2]) -> Self {
        // The largest power of two that divides both.
        let sets = 1 << sets.map(u64::trailing_zeros).into_iter().min().unwrap_or(0);
        Shape {
            fetches,
            line_bits,
            mask: PLACES.min(sets) as u64 - 1,
        }
    }

    /// Serves references, by `other` where there is more to do than to count a hit.
    #[inline(always)]
    pub(super) fn serve(self, references: &[Reference], other: impl FnMut(&Reference)) -> Served {
        // Code of its own for nearly all caches there are: the numbers are constants in it.
        if (self.line_bits, self.mask) == (6, 63) {
            let (line_bits, mask) = (6, 63);
            return Shape {
                line_bits,
                mask,
                ..self
            }
            .serve_each(references, other);
        }
        self.serve_each(references, other)
    }

    #[inline(always)]
    fn serve_each(self, references: &[Reference], mut other: impl FnMut(&Reference)) -> Served {
        let mut recent = [Recent::new(self), Recent::new(self)];
        let [instructions, data] = &mut recent;
        // A fetch of nothing but so many bytes from here on hits. All do that are passed over.
        let mut stretch = (0, if self.fetches { 0 } else { u64::MAX });
        let mut hits = [0; Op::COUNT];
        let mut others = 0;
        let mut served = references.len();
        for (index, reference) in references.iter().enumerate() {
            if reference.op == Op::Fetch {
                let at = reference.address.wrapping_sub(stretch.0);
                let end = at.wrapping_add(reference.bytes.into());
                if at | end.wrapping_sub(1) < stretch.1 {
                    continue;
                }
                if let Some(line) = instructions.again(reference) {
                    stretch = line;
                    continue;
                }
                stretch = instructions.uses(reference);
            } else if data.again(reference).is_some() {
                hits[reference.op as usize] += 1;
                continue;
            } else if reference.op == Op::NonTemporalStore {
                served = index;
                break;
            } else {
                data.uses(reference);
            }
            others += 1;
            other(reference);
        }
        let counted: u64 = hits.iter().sum();
        hits[Op::Fetch as usize] = served as u64 - counted - others;
        Served {
            references: served,
            hits,
        }
    }
}

/// What a reference must differ by less than for its operation to change nothing, by its number: see
/// [`Recent::differs`].
const LIMITS: [Entry; Op::COUNT] = {
    let mut limits = [0; Op::COUNT];
    let mut index = 0;
    while index < Op::COUNT {
        limits[index] = match Op::ALL[index] {
            // These do not care whether the line is dirty.
            Op::Fetch | Op::Load | Op::Prefetch => DIRTY + 1,
            Op::Store | Op::Modify => DIRTY,
            Op::NonTemporalStore => 0,
        };
        index += 1;
    }
    limits
};

impl Recent {
    fn new(shape: Shape) -> Self {
        Recent {
            shape,
            entries: [EMPTY; PLACES],
        }
    }

    /// Whether a reference touches one line or two, of which each is the one used last of its set,
    /// and changes nothing. Says the last of them, as its first address and its bytes.
    #[inline(always)]
    fn again(&self, reference: &Reference) -> Option<(u64, u64)> {
        let bits = self.shape.line_bits;
        let first = reference.address >> bits;
        // If there is no byte, or if addresses run out, this is no line of the reference. But what is
        // true of both is true of the first, which is all there is then.
        let end = reference.address.wrapping_add(reference.bytes.into());
        let last = end.wrapping_sub(1) >> bits;
        let differs = self.differs(first) | self.differs(last);
        let again = differs < LIMITS[reference.op as usize] && reference.bytes <= 1 << bits;
        again.then_some((last << bits, 1 << bits))
    }

    /// In what the line used last differs from this one if that is dirty: in nothing, in [`DIRTY`]
    /// alone, or in more.
    #[inline(always)]
    fn differs(&self, line: u64) -> Entry {
        self.entries[self.place(line)] ^ (line << FLAG_BITS | DIRTY)
    }

    /// Notes that the lines of a reference are used. Says the last of them, as its first address and
    /// its bytes.
    #[inline]
    fn uses(&mut self, reference: &Reference) -> (u64, u64) {
        let bits = self.shape.line_bits;
        let last = reference.last() >> bits;
        for line in reference.address >> bits..=last {
            let entry = &mut self.entries[self.place(line)];
            let key = line << FLAG_BITS;
            if *entry & !DIRTY != key {
                *entry = key;
            }
            *entry |= Entry::from(reference.op.writes()) * DIRTY;
        }
        (last << bits, 1 << bits)
    }

    #[inline(always)]
    fn place(&self, line: u64) -> usize {
        (line & self.shape.mask) as usize % PLACES
    }
}
