//! A trace without the references that change nothing but a count.
//!
//! Under LRU the lines of a small cache are in every larger one with a multiple of its sets, so that
//! what hits in the small one hits in all. Which line makes way in them depends on the order in
//! which lines were used last, and on nothing else that a hit does; a cache of one way keeps none
//! (trace stripping: T. R. Puzak, "Analysis of cache replacement-algorithms", 1985), and for more it
//! is told by touching again, just before a line leaves the small cache, what was used after it and
//! does not look so in what is left of the trace. Stripping costs one pass over the trace in the
//! small cache; every cache that is simulated afterwards serves what is left.

use alloc::vec;
use alloc::vec::Vec;

use super::geometry::Geometry;
use super::reference::{Op, Reference, Side};

/// What one word tells: a line's number above what is done with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record(u64);

/// What is done with the line of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Done {
    /// A reference that may miss.
    Reference(Op),
    /// One that hits and is counted already: it brings the order of use up to date.
    Touch(Side),
    /// The next of the references that are kept whole.
    Whole,
}

/// The operations that a record tells, in the order of [`Stripped::dropped`].
const OPS: [Op; 4] = [Op::Fetch, Op::Load, Op::Store, Op::Modify];

impl Record {
    /// Lines that a record can tell: what touches those beyond is kept whole.
    const LINES: u64 = 1 << (64 - Self::BITS);
    const BITS: u32 = 4;
    /// Somebody changes the line until its next record.
    const WRITES: u64 = 8;
    /// After the four of [`OPS`].
    const TOUCHES: [u64; 2] = [4, 5];
    const WHOLE: Record = Record(6);

    const fn reference(line: u64, op: u64, writes: bool) -> Self {
        let writes = if writes { Self::WRITES } else { 0 };
        Record(line << Self::BITS | writes | op)
    }

    const fn touch(line: u64, side: Side) -> Self {
        Record(line << Self::BITS | Self::TOUCHES[side as usize])
    }

    /// What is done.
    #[inline]
    pub(super) const fn done(self) -> Done {
        match self.0 & 7 {
            op @ 0..4 => Done::Reference(OPS[op as usize]),
            4 => Done::Touch(Side::Instructions),
            5 => Done::Touch(Side::Data),
            _ => Done::Whole,
        }
    }

    /// The line, in lines of the smallest cache.
    #[inline]
    pub(super) const fn line(self) -> u64 {
        self.0 >> Self::BITS
    }

    /// Whether somebody changes the line until its next record.
    #[inline]
    pub(super) const fn writes(self) -> bool {
        self.0 & Self::WRITES != 0
    }
}

/// A trace without the references that hit in a small LRU cache, and so in every larger one.
///
/// ```
/// use linefill::sim::{Geometry, Reference, Stripped};
///
/// let loads = (0..4096).step_by(8).map(|address| Reference::load(address, 8));
/// let line = Geometry::new(64, 1, 64)?;
/// let stripped = Stripped::of(line, loads);
/// assert_eq!((stripped.references(), stripped.len()), (512, 64));
///
/// // Two lines in turn stay in a set of two ways, and drive each other out of one.
/// let loads = || (0..100).map(|index| Reference::load(64 * (index % 2), 8));
/// assert_eq!(Stripped::of(Geometry::new(128, 2, 64)?, loads()).len(), 2);
/// assert_eq!(Stripped::of(Geometry::new(64, 1, 64)?, loads()).len(), 100);
/// # Ok::<(), linefill::sim::GeometryError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Stripped {
    smallest: Geometry,
    records: Vec<Record>,
    /// References that touch several lines or pass the caches, in turn.
    whole: Vec<Reference>,
    /// What is left out, operation by operation.
    dropped: [u64; 4],
    references: u64,
}

/// What a cache has that a stripped trace does not tell: lines that come or go on others' account,
/// hits that are not all alike, or too few ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotTold(pub &'static str);

messages! { NotTold:
    NotTold(what) => ("a stripped trace does not tell {what}");
}

impl Stripped {
    /// Leaves out what hits in `smallest`, of which instructions and data have one each. Caches with
    /// lines as long, a multiple of its sets and no fewer ways can be simulated with what is left;
    /// if it has but one line, those with longer lines, too.
    pub fn of(smallest: Geometry, trace: impl IntoIterator<Item = Reference>) -> Self {
        let mut stripped = Stripped {
            smallest,
            records: Vec::new(),
            whole: Vec::new(),
            dropped: [0; 4],
            references: 0,
        };
        let mut sides = [
            Small::new(smallest, Side::Instructions),
            Small::new(smallest, Side::Data),
        ];
        for reference in trace {
            stripped.references += 1;
            let Some(op) = OPS.iter().position(|&op| op == reference.op) else {
                stripped.keep(&mut sides, reference);
                continue;
            };
            let side = &mut sides[usize::from(op > 0)];
            let first = smallest.line_of(reference.address);
            let last = smallest.line_of(reference.last());
            let writes = reference.op.writes();
            if (first..=last).all(|line| side.holds(line)) {
                (first..=last).for_each(|line| side.hit(&mut stripped.records, line, writes));
                stripped.dropped[op] += 1;
            } else if first == last && last < Record::LINES {
                side.make_way(&mut stripped.records, first);
                let record = Record::reference(first, op as u64, writes);
                side.put(first, stripped.records.len(), writes);
                stripped.records.push(record);
            } else {
                stripped.keep(&mut sides, reference);
            }
        }
        // What follows finds the lines in their order.
        for side in &mut sides {
            (0..smallest.sets()).for_each(|line| side.order(&mut stripped.records, line));
        }
        stripped
    }

    /// Keeps a reference whole.
    fn keep(&mut self, sides: &mut [Small; 2], reference: Reference) {
        let first = self.smallest.line_of(reference.address);
        let last = self.smallest.line_of(reference.last());
        if reference.op == Op::NonTemporalStore || last >= Record::LINES {
            for side in sides {
                (first..=last).for_each(|line| side.empty(&mut self.records, line));
            }
        } else {
            let side = &mut sides[usize::from(reference.op != Op::Fetch)];
            (first..=last).for_each(|line| side.order(&mut self.records, line));
            let record = self.records.len();
            let writes = reference.op.writes();
            (first..=last).for_each(|line| side.renew(line, record, writes));
        }
        self.records.push(Record::WHOLE);
        self.whole.push(reference);
    }

    /// References of the trace.
    pub fn references(&self) -> u64 {
        self.references
    }

    /// What is left of them.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether nothing is left: there was no reference.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The smallest cache that it tells of.
    pub fn smallest(&self) -> Geometry {
        self.smallest
    }

    /// Whether it tells what happens in an LRU cache, or, if `smallest` has but one way, in any for
    /// which using a line twice in a row is using it once.
    ///
    /// # Errors
    /// If its lines, sets or ways are none that the trace was stripped for.
    pub(super) fn tells_of(&self, geometry: Geometry) -> Result<(), NotTold> {
        let smallest = self.smallest;
        if geometry.line() < smallest.line() {
            return Err(NotTold("what happens in lines shorter than its own"));
        }
        if smallest.lines() > 1 && geometry.line() > smallest.line() {
            return Err(NotTold("which set a line longer than its own is in"));
        }
        if !geometry.sets().is_multiple_of(smallest.sets()) {
            return Err(NotTold("what happens in sets that its own do not divide"));
        }
        if geometry.ways() < smallest.ways() {
            return Err(NotTold(
                "what happens in fewer ways than it was stripped for",
            ));
        }
        Ok(())
    }

    /// What is left, in turn.
    pub(super) fn records(&self) -> &[Record] {
        &self.records
    }

    /// The references that are kept whole, in turn.
    pub(super) fn whole(&self) -> &[Reference] {
        &self.whole
    }

    /// What is left out, all of it hits.
    pub(super) fn dropped(&self) -> impl Iterator<Item = (Op, u64)> {
        OPS.into_iter().zip(self.dropped)
    }
}

/// The small cache of a side: sets of lines in the order of use.
struct Small {
    geometry: Geometry,
    side: Side,
    held: Vec<Held>,
}

/// A line of a [`Small`].
#[derive(Clone, Copy)]
struct Held {
    line: u64,
    /// Its last record, which tells when the line was used last in what is left of the trace.
    record: usize,
    /// Whether it is told that somebody changes the line.
    writes: bool,
    /// Whether that record has room to say so.
    room: bool,
}

impl Held {
    /// No line has this number: those so high are divided by at least eight.
    const NONE: Held = Held {
        line: u64::MAX,
        record: 0,
        writes: false,
        room: false,
    };
}

impl Small {
    fn new(geometry: Geometry, side: Side) -> Self {
        Small {
            geometry,
            side,
            held: vec![Held::NONE; geometry.lines() as usize],
        }
    }

    /// The lines of a set, the one used last first.
    #[inline]
    fn set(&mut self, line: u64) -> &mut [Held] {
        let ways = self.geometry.ways() as usize;
        let first = self.geometry.set_of(line) as usize * ways;
        &mut self.held[first..][..ways]
    }

    #[inline]
    fn holds(&mut self, line: u64) -> bool {
        self.set(line).iter().any(|held| held.line == line)
    }

    /// Uses a line that is there, and sees to it that a store to it is told.
    #[inline]
    fn hit(&mut self, records: &mut Vec<Record>, line: u64, writes: bool) {
        let side = self.side;
        let set = self.set(line);
        let way = set.iter().position(|held| held.line == line);
        let way = way.unwrap_or_default();
        set[..=way].rotate_right(1);
        let held = &mut set[0];
        if writes && !held.writes {
            held.writes = true;
            if !held.room {
                held.touch(records, side);
            }
            records[held.record].0 |= Record::WRITES;
        }
    }

    /// Touches the lines that were used after the one used longest ago, which is to leave, but have
    /// no later record.
    fn make_way(&mut self, records: &mut Vec<Record>, line: u64) {
        let side = self.side;
        let Some((oldest, newer)) = self.set(line).split_last_mut() else {
            return;
        };
        if oldest.line == Held::NONE.line {
            return;
        }
        let newer = newer.iter_mut().rev();
        for held in newer.filter(|held| held.record <= oldest.record) {
            held.touch(records, side);
        }
    }

    /// Puts a line first in its set; the last leaves.
    fn put(&mut self, line: u64, record: usize, writes: bool) {
        let set = self.set(line);
        set.rotate_right(1);
        set[0] = Held {
            line,
            record,
            writes,
            room: true,
        };
    }

    /// Touches lines of the set of `line` until all of them have their records in the order of use.
    fn order(&mut self, records: &mut Vec<Record>, line: u64) {
        let side = self.side;
        let mut last = None;
        let held = self.set(line).iter_mut().rev();
        for held in held.filter(|held| held.line != Held::NONE.line) {
            if last.is_some_and(|last| held.record <= last) {
                held.touch(records, side);
            }
            last = Some(held.record);
        }
    }

    /// Uses a line, or brings it in, by a reference that is kept whole, whose record has no room to
    /// tell of a store later on.
    fn renew(&mut self, line: u64, record: usize, writes: bool) {
        let set = self.set(line);
        let way = set.iter().position(|held| held.line == line);
        let told = way.is_some_and(|way| set[way].writes);
        let last = way.unwrap_or(set.len() - 1);
        set[..=last].rotate_right(1);
        set[0] = Held {
            line,
            record,
            writes: writes || told,
            room: false,
        };
    }

    /// Forgets the set of a line, so that whatever happens to it next is told.
    fn empty(&mut self, records: &mut Vec<Record>, line: u64) {
        self.order(records, line);
        self.set(line).fill(Held::NONE);
    }
}

impl Held {
    fn touch(&mut self, records: &mut Vec<Record>, side: Side) {
        self.record = records.len();
        self.room = true;
        records.push(Record::touch(self.line, side));
    }
}
