//! References that change nothing but a count.
//!
//! Most references of a program are fetches from the line of the fetch before, and most of the others
//! touch lines that were used last in their sets. It is they that decide how long a simulation takes.

use super::policy::{DIRTY, Entry, FLAG_BITS};
use super::reference::{Op, Reference};

/// What was used last: for each set of a cache an entry, or one for several sets.
#[derive(Clone, Copy)]
pub(super) struct Newest<'a> {
    /// One for each value of the lowest bits of a line's number.
    pub(super) entries: &'a [Entry],
    pub(super) line_bits: u32,
}

/// A line, as its first address and its bytes: none, by default.
#[derive(Clone, Copy, Default)]
pub(super) struct Line {
    address: u64,
    bytes: u64,
}

impl Line {
    /// The line of an address.
    #[inline]
    pub(super) fn of(address: u64, line_bits: u32) -> Self {
        Line {
            address: address >> line_bits << line_bits,
            bytes: 1 << line_bits,
        }
    }

    /// Whether every byte of a reference is in the line. It need not say so of a reference to no byte.
    #[inline]
    fn holds(self, reference: Reference) -> bool {
        let first = reference.address.wrapping_sub(self.address);
        let end = first.wrapping_add(reference.bytes.into());
        first | end.wrapping_sub(1) < self.bytes
    }
}

impl Newest<'_> {
    /// Whether a reference touches one line or two, of which each is the one used last of its set,
    /// and changes nothing. Says the last of these lines.
    #[inline]
    pub(super) fn again(self, reference: Reference) -> Option<Line> {
        // The last line is far from the first if there is no byte, or if addresses run out.
        let end = reference.address.wrapping_add(reference.bytes.into());
        let first = reference.address >> self.line_bits;
        let last = end.wrapping_sub(1) >> self.line_bits;
        // A load does not care whether the line is dirty, a store wants it to be.
        let may_differ = if reference.op.writes() { 0 } else { DIRTY };
        let again = self.differs(first) | self.differs(last) <= may_differ
            && last.wrapping_sub(first) <= 1
            && reference.op != Op::NonTemporalStore;
        again.then_some(Line {
            address: last << self.line_bits,
            bytes: 1 << self.line_bits,
        })
    }

    /// In what the entry used last differs from the one of `line`, dirty: in nothing, in [`DIRTY`]
    /// alone, or in more.
    #[inline]
    fn differs(self, line: u64) -> Entry {
        let place = line as usize & (self.entries.len() - 1);
        self.entries[place] ^ (line << FLAG_BITS | DIRTY)
    }
}

/// The caches that references enter.
pub(super) trait Front {
    /// Where instructions are fetched from, unless fetches are passed over.
    fn instructions(&self) -> Option<Newest<'_>>;

    /// Where data are.
    fn data(&self) -> Newest<'_>;

    /// Serves a reference, and counts it. Of `line` a fetch changed nothing before: says of which line
    /// one does now.
    fn serve(&mut self, reference: &Reference, line: Line) -> Line;
}

/// Serves references up to the first store that goes past the caches, and says how many, and how many
/// hits of each kind are still to be counted. Fetches that are passed over are hits.
#[inline(always)]
pub(super) fn serve(front: &mut impl Front, references: &[Reference]) -> (usize, [u64; Op::COUNT]) {
    let mut line = Line::default();
    let mut hits = [0; Op::COUNT];
    let mut others = 0;
    let mut served = references.len();
    for (index, reference) in references.iter().enumerate() {
        if reference.op == Op::Fetch {
            if line.holds(*reference) {
                continue;
            }
            let Some(newest) = front.instructions() else {
                continue;
            };
            if let Some(now) = newest.again(*reference) {
                line = now;
                continue;
            }
        } else if front.data().again(*reference).is_some() {
            hits[reference.op as usize] += 1;
            continue;
        } else if reference.op == Op::NonTemporalStore {
            served = index;
            break;
        }
        others += 1;
        line = front.serve(reference, line);
    }
    let counted: u64 = hits.iter().sum();
    hits[Op::Fetch as usize] = served as u64 - counted - others;
    (served, hits)
}
