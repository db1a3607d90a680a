//! A fast path for references that change nothing but a count.
//!
//! Most references of a program are fetches from the line of the previous fetch, and most of the others
//! touch lines that were used last in their sets. They determine how long a simulation takes.

use super::policy::{DIRTY, EMPTY, Entry, FLAG_BITS};
use super::reference::{Op, Reference};

/// The most lines that are remembered per side.
const PLACES: usize = 64;

/// The caches that references enter: one for data, and one for instructions unless fetches are ignored.
/// In these caches, using a line again that was used last in its set changes nothing, unless a store
/// makes it dirty, and nothing else removes lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    fetches: bool,
    line_bits: u32,
    /// Mask of line-number bits. Lines that differ in these bits are in different sets.
    mask: u64,
}

/// The lines used last on one side.
struct Recent {
    shape: Shape,
    entries: [Entry; PLACES],
}

/// The result of serving a series of references.
#[derive(Clone, Copy, Debug)]
pub(super) struct Served {
    /// Number of references served: those before the first non-temporal store.
    pub(super) references: usize,
    /// Hits that the caller has to count, by operation. Ignored fetches are included.
    pub(super) hits: [u64; Op::COUNT],
}

impl Shape {
    /// Returns the shape of caches with the same line size and these numbers of sets.
    pub(super) fn new(fetches: bool, line_bits: u32, sets: [u64; 2]) -> Self {
        // The largest power of two that divides both numbers of sets.
        let sets = 1 << sets.map(u64::trailing_zeros).into_iter().min().unwrap_or(0);
        Shape {
            fetches,
            line_bits,
            mask: PLACES.min(sets) as u64 - 1,
        }
    }

    /// Serves references; calls `other` for each that needs more than a hit count.
    #[inline(always)]
    pub(super) fn serve(self, references: &[Reference], other: impl FnMut(&Reference)) -> Served {
        // Specialised for nearly all existing caches, so that these numbers are constants in the code.
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
        // Start and length of the line last fetched from: a fetch within it hits. Covers all addresses
        // if fetches are ignored.
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

/// For each operation, by its number: a reference changes nothing if it differs by less than this limit;
/// see [`Recent::differs`].
const LIMITS: [Entry; Op::COUNT] = {
    let mut limits = [0; Op::COUNT];
    let mut index = 0;
    while index < Op::COUNT {
        limits[index] = match Op::ALL[index] {
            // For these it does not matter whether the line is dirty.
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

    /// Checks whether a reference touches one or two lines, each of them the line used last in its set,
    /// and changes nothing. Returns the start and length of the last line if so.
    #[inline(always)]
    fn again(&self, reference: &Reference) -> Option<(u64, u64)> {
        let bits = self.shape.line_bits;
        let first = reference.address >> bits;
        // If the reference has no bytes, or the address wraps around, `last` is not a line of the
        // reference. A condition that holds for both lines then also holds for the first, which is the
        // only one.
        let end = reference.address.wrapping_add(reference.bytes.into());
        let last = end.wrapping_sub(1) >> bits;
        let differs = self.differs(first) | self.differs(last);
        let again = differs < LIMITS[reference.op as usize] && reference.bytes <= 1 << bits;
        again.then_some((last << bits, 1 << bits))
    }

    /// Returns the difference between the line used last, and `line` if dirty: 0 if they are equal,
    /// [`DIRTY`] if only the flag differs, more otherwise.
    #[inline(always)]
    fn differs(&self, line: u64) -> Entry {
        self.entries[self.place(line)] ^ (line << FLAG_BITS | DIRTY)
    }

    /// Records a use of the lines of a reference. Returns the start and length of the last line.
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
