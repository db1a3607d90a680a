//! A fast path for references that change nothing but a count.
//!
//! Most references of a program are fetches from the line of the previous fetch, and most of the others
//! touch lines that were used last in their sets. They determine how long a simulation takes.

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

/// The lines used last in their sets.
struct Recent {
    /// For each place and operation, the line on which the operation changes nothing, or [`NONE`]. Fetches have
    /// lines of their own. A place has the next power of two of entries: it is a line of the machine.
    lines: [[u64; Op::COUNT.next_power_of_two()]; PLACES],
}

/// No line has this number, because line numbers are addresses divided by at least eight.
const NONE: u64 = u64::MAX;

/// The hits of up to [`Hits::MOST`] references by operation, in one word. It stays in a register: with
/// counts in memory, a reference would wait until the count of the previous one is stored.
#[derive(Clone, Copy, Default)]
struct Hits(u64);

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
        let mut recent = Recent {
            lines: [[NONE; _]; PLACES],
        };
        let mut hits = [0; Op::COUNT];
        let mut served = 0;
        for part in references.chunks(Hits::MOST) {
            let mut some = Hits::default();
            let mut left = part.iter();
            let mut passes = false;
            for reference in left.by_ref() {
                if recent.again_in_one(self, reference)
                    || recent.again(self, reference)
                    || reference.op == Op::Fetch && !self.fetches
                {
                    some.add(reference.op);
                } else if reference.op != Op::NonTemporalStore {
                    recent.uses(self, reference);
                    other(reference);
                } else {
                    passes = true;
                    break;
                }
            }
            some.add_to(&mut hits);
            served += part.len() - left.len();
            if passes {
                served -= 1;
                break;
            }
        }
        Served {
            references: served,
            hits,
        }
    }

    #[inline(always)]
    fn place(self, line: u64) -> usize {
        (line & self.mask) as usize % PLACES
    }
}

impl Hits {
    /// Bits of a count.
    const BITS: usize = u64::BITS as usize / Op::COUNT;

    /// The most references that are counted.
    const MOST: usize = (1 << Self::BITS) - 1;

    /// A hit, by operation.
    const ONE: [u64; Op::COUNT] = {
        let mut ones = [0; Op::COUNT];
        let mut op = 0;
        while op < Op::COUNT {
            ones[op] = 1 << (op * Self::BITS);
            op += 1;
        }
        ones
    };

    #[inline(always)]
    fn add(&mut self, op: Op) {
        self.0 += Self::ONE[op as usize];
    }

    fn add_to(self, hits: &mut [u64; Op::COUNT]) {
        for (op, hits) in hits.iter_mut().enumerate() {
            *hits += self.0 >> (op * Self::BITS) & Self::MOST as u64;
        }
    }
}

impl Recent {
    /// Checks whether a reference touches one line, the line used last in its set, and changes nothing.
    #[inline(always)]
    fn again_in_one(&self, shape: Shape, reference: &Reference) -> bool {
        let bytes = 1 << shape.line_bits;
        let end = (reference.address & (bytes - 1)) + u64::from(reference.bytes);
        let line = reference.address >> shape.line_bits;
        self.holds(shape, reference.op, line) && end <= bytes
    }

    /// Does the same for a reference that touches one or two lines.
    #[inline(always)]
    fn again(&self, shape: Shape, reference: &Reference) -> bool {
        let first = reference.address >> shape.line_bits;
        let last = reference.last() >> shape.line_bits;
        self.holds(shape, reference.op, first)
            && self.holds(shape, reference.op, last)
            && last - first <= 1
    }

    #[inline(always)]
    fn holds(&self, shape: Shape, op: Op, line: u64) -> bool {
        self.lines[shape.place(line)][op as usize] == line
    }

    /// Records a use of the lines of a reference.
    #[inline(always)]
    fn uses(&mut self, shape: Shape, reference: &Reference) {
        for line in reference.address >> shape.line_bits..=reference.last() >> shape.line_bits {
            let place = &mut self.lines[shape.place(line)];
            if reference.op == Op::Fetch {
                place[Op::Fetch as usize] = line;
                continue;
            }
            let dirty = reference.op.writes() || place[Op::Store as usize] == line;
            let written = if dirty { line } else { NONE };
            place[Op::Load as usize] = line;
            place[Op::Prefetch as usize] = line;
            place[Op::Store as usize] = written;
            place[Op::Modify as usize] = written;
        }
    }
}
