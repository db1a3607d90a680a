//! A fast path for references that change nothing but a count.
//!
//! Most references of a program are fetches from the line of the previous fetch, and most of the others
//! touch lines that were used last in their sets. They determine how long a simulation takes.

use core::slice::Iter;

use super::reference::{Op, Reference};

/// The most lines that are remembered per side.
const PLACES: usize = 64;

/// The caches that references enter: one for data, and one for instructions unless fetches are ignored.
/// In these caches, using a line again that was used last in its set changes nothing, unless a store
/// makes it dirty, and nothing else removes lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    fetches: bool,
    places: Places,
}

/// Where lines are remembered. Nearly all existing caches are `USUAL`: their numbers are constants in the
/// code.
#[derive(Clone, Copy, Debug)]
struct Places<const USUAL: bool = false> {
    line_bits: u32,
    /// Mask of line-number bits, at least one. Lines that differ in these bits are in different sets.
    mask: u64,
}

/// Serves the references that need more than a count of hits.
pub(super) trait Others {
    /// Serves a reference that touches any number of lines.
    fn in_several(&mut self, reference: &Reference);

    /// Serves a reference that touches one line.
    #[inline(always)]
    fn in_one(&mut self, _line: u64, reference: &Reference) {
        self.in_several(reference);
    }

    /// Serves a reference that touches two lines, and changes nothing at the first.
    #[inline(always)]
    fn in_last(&mut self, _last: u64, reference: &Reference) {
        self.in_several(reference);
    }
}

/// The lines used last in their sets.
struct Recent<const USUAL: bool> {
    places: Places<USUAL>,
    /// For each place and operation, the start of the line on which the operation changes nothing, or
    /// [`Places::none`]. Fetches have lines of their own. A place has the next power of two of entries: it is a
    /// line of the machine.
    starts: [[u64; Op::COUNT.next_power_of_two()]; PLACES],
}

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
    /// Returns the shape of caches with the same line size and these numbers of sets. `None` if a cache has
    /// one set.
    pub(super) fn new(fetches: bool, line_bits: u32, sets: [u64; 2]) -> Option<Self> {
        // The largest power of two that divides both numbers of sets.
        let sets = 1 << sets.map(u64::trailing_zeros).into_iter().min()?;
        let mask = PLACES.min(sets) as u64 - 1;
        (mask > 0).then_some(Shape { fetches, places: Places { line_bits, mask } })
    }

    /// Serves references, through `others` where they need more than a count of hits.
    #[inline(always)]
    pub(super) fn serve(self, references: &[Reference], others: &mut impl Others) -> Served {
        match self.places.usual() {
            Some(places) => self.serve_at(places, references, others),
            None => self.serve_at(self.places, references, others),
        }
    }

    #[inline(always)]
    fn serve_at<const USUAL: bool>(
        self,
        places: Places<USUAL>,
        references: &[Reference],
        others: &mut impl Others,
    ) -> Served {
        let mut recent = Recent::new(places);
        let mut hits = [0; Op::COUNT];
        let mut served = 0;
        for part in references.chunks(Hits::MOST) {
            let mut some = Hits::default();
            let mut left = part.iter();
            let mut passes = false;
            while let Some(reference) = recent.skip(&mut left, &mut some) {
                if reference.op == Op::NonTemporalStore {
                    passes = true;
                    break;
                }
                if reference.op == Op::Fetch && !self.fetches {
                    some.add(reference.op);
                    continue;
                }
                let [first, last] = reference.lines(places.line_bits());
                if first == last {
                    recent.uses(reference.op, first);
                    others.in_one(first, reference);
                } else if last - first > 1 || !recent.holds(reference.op, first) {
                    for line in first..=last {
                        recent.uses(reference.op, line);
                    }
                    others.in_several(reference);
                } else if recent.holds(reference.op, last) {
                    some.add(reference.op);
                } else {
                    recent.uses(reference.op, last);
                    others.in_last(last, reference);
                }
            }
            some.add_to(&mut hits);
            served += part.len() - left.len();
            if passes {
                served -= 1;
                break;
            }
        }
        Served { references: served, hits }
    }
}

impl Places {
    fn usual(self) -> Option<Places<true>> {
        let Places { line_bits, mask } = self;
        (line_bits == 6 && mask == 63).then_some(Places { line_bits, mask })
    }
}

impl<const USUAL: bool> Places<USUAL> {
    #[inline(always)]
    fn line_bits(self) -> u32 {
        if USUAL { 6 } else { self.line_bits }
    }

    /// Returns the place of the line of an address.
    #[inline(always)]
    fn of(self, address: u64) -> usize {
        let mask = if USUAL { 63 } else { self.mask };
        (address >> self.line_bits() & mask) as usize % PLACES
    }

    /// Returns the start of a line that is never at this place, because it belongs to another one.
    #[inline(always)]
    fn none(self, place: usize) -> u64 {
        (place as u64 ^ 1) << self.line_bits()
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

impl<const USUAL: bool> Recent<USUAL> {
    fn new(places: Places<USUAL>) -> Self {
        let mut starts = [[0; _]; PLACES];
        for (place, starts) in starts.iter_mut().enumerate() {
            starts.fill(places.none(place));
        }
        Recent { places, starts }
    }

    /// Counts references that touch one line, the line used last in its set, and change nothing. Returns the
    /// first other reference.
    ///
    /// Not inlined, because the loop needs all registers.
    #[inline(never)]
    fn skip<'a>(&self, left: &mut Iter<'a, Reference>, hits: &mut Hits) -> Option<&'a Reference> {
        let mut counted = *hits;
        let other = left.find(|reference| {
            let place = &self.starts[self.places.of(reference.address)];
            // The offset of the first byte, if its line is that of the place. No offset is that large if it is
            // another line.
            let first = reference.address ^ place[reference.op as usize];
            let last = first.wrapping_add(u64::from(reference.bytes)).wrapping_sub(1);
            let other = first | last >= 1 << self.places.line_bits();
            if !other {
                counted.add(reference.op);
            }
            other
        });
        *hits = counted;
        other
    }

    /// Checks whether the operation changes nothing on a line.
    #[inline(always)]
    fn holds(&self, op: Op, line: u64) -> bool {
        let start = line << self.places.line_bits();
        self.starts[self.places.of(start)][op as usize] == start
    }

    /// Records a use of a line.
    #[inline(always)]
    fn uses(&mut self, op: Op, line: u64) {
        let start = line << self.places.line_bits();
        let place = self.places.of(start);
        let none = self.places.none(place);
        let starts = &mut self.starts[place];
        if op == Op::Fetch {
            starts[Op::Fetch as usize] = start;
            return;
        }
        let dirty = op.writes() || starts[Op::Store as usize] == start;
        let written = if dirty { start } else { none };
        starts[Op::Load as usize] = start;
        starts[Op::Prefetch as usize] = start;
        starts[Op::Store as usize] = written;
        starts[Op::Modify as usize] = written;
    }
}
