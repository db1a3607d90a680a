//! A trace without the references that change nothing but a count.
//!
//! Under LRU, the lines of a small cache are in every cache that has a multiple of its sets and at least
//! as many ways. A reference that hits in the small cache therefore hits in all of them. Such a hit
//! affects later victims only through the order in which lines were used last. With one way the small
//! cache keeps no such order (trace stripping: T. R. Puzak, "Analysis of cache replacement-algorithms",
//! 1985). With several ways, the stripped trace restores the order: before a line leaves the small
//! cache, the lines that were used after it but have no later record are touched again. Stripping costs
//! one pass over the trace in the small cache; every cache that is simulated afterwards serves only the
//! stripped trace.

use alloc::vec;
use alloc::vec::Vec;

use super::geometry::Geometry;
use super::reference::{Op, Reference, Side};

/// A record of a stripped trace in one word: the line number above the action on that line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record(u64);

/// The action on the line of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Done {
    /// A reference that may miss.
    Reference(Op),
    /// A reference that hits and is already counted; the record restores the order of use.
    Touch(Side),
    /// The next of the references that are stored whole.
    Whole,
}

/// The operations that a record can hold, in the order of [`Stripped::dropped`].
const OPS: [Op; 4] = [Op::Fetch, Op::Load, Op::Store, Op::Modify];

impl Record {
    /// Line numbers that fit a record. References to lines beyond are stored whole.
    const LINES: u64 = 1 << (64 - Self::BITS);
    const BITS: u32 = 4;
    /// Flag: the line is modified by this reference or by one dropped before the line's next record.
    const WRITES: u64 = 8;
    /// Codes of touches, by side; they follow the four codes of [`OPS`].
    const TOUCHES: [u64; 2] = [4, 5];
    const WHOLE: Record = Record(6);

    const fn reference(line: u64, op: u64, writes: bool) -> Self {
        let writes = if writes { Self::WRITES } else { 0 };
        Record(line << Self::BITS | writes | op)
    }

    const fn touch(line: u64, side: Side) -> Self {
        Record(line << Self::BITS | Self::TOUCHES[side as usize])
    }

    /// Returns the action.
    #[inline]
    pub(super) const fn done(self) -> Done {
        match self.0 & 7 {
            op @ 0..4 => Done::Reference(OPS[op as usize]),
            4 => Done::Touch(Side::Instructions),
            5 => Done::Touch(Side::Data),
            _ => Done::Whole,
        }
    }

    /// Returns the line number, in lines of the smallest cache.
    #[inline]
    pub(super) const fn line(self) -> u64 {
        self.0 >> Self::BITS
    }

    /// Returns whether the line is modified before its next record.
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
    /// References that touch several lines or bypass the caches, in order.
    whole: Vec<Reference>,
    /// Number of dropped references, by operation.
    dropped: [u64; 4],
    references: u64,
}

/// The feature of a cache that a stripped trace cannot represent: lines that come or go for reasons
/// other than references, hits that have different effects, or too few ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotTold(pub &'static str);

messages! { NotTold:
    NotTold(what) => ("a stripped trace does not tell {what}");
}

impl Stripped {
    /// Drops the references that hit in `smallest`; instructions and data each have one such cache. The
    /// result can simulate caches with the same line size, a multiple of its sets and at least as many
    /// ways. If `smallest` has only one line, it can also simulate caches with longer lines.
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
        // Restores the order of use for the references that may follow the trace.
        for side in &mut sides {
            (0..smallest.sets()).for_each(|line| side.order(&mut stripped.records, line));
        }
        stripped
    }

    /// Stores a reference whole.
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

    /// Returns the number of references of the full trace.
    pub fn references(&self) -> u64 {
        self.references
    }

    /// Returns the number of records of the stripped trace.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Returns whether the stripped trace is empty: there was no reference.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Returns the smallest cache that the trace can simulate.
    pub fn smallest(&self) -> Geometry {
        self.smallest
    }

    /// Checks that the trace can simulate an LRU cache of this geometry. If `smallest` has one way, this
    /// holds for every policy under which using a line twice in a row has the same effect as using it
    /// once.
    ///
    /// # Errors
    /// If the trace was not stripped for these lines, sets or ways.
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

    /// Returns the records, in order.
    pub(super) fn records(&self) -> &[Record] {
        &self.records
    }

    /// Returns the references that are stored whole, in order.
    pub(super) fn whole(&self) -> &[Reference] {
        &self.whole
    }

    /// Returns the number of dropped references by operation; all of them are hits.
    pub(super) fn dropped(&self) -> impl Iterator<Item = (Op, u64)> {
        OPS.into_iter().zip(self.dropped)
    }
}

/// The small cache of one side: sets of lines in order of use.
struct Small {
    geometry: Geometry,
    side: Side,
    held: Vec<Held>,
}

/// A line of a [`Small`].
#[derive(Clone, Copy)]
struct Held {
    line: u64,
    /// Index of the line's last record: the time of its last use in the stripped trace.
    record: usize,
    /// Whether a record tells that the line is modified.
    writes: bool,
    /// Whether the line's last record has space for the write flag.
    room: bool,
}

impl Held {
    /// No line has this number, because line numbers are addresses divided by at least eight.
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

    /// Returns the lines of a set, the one used last first.
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

    /// Uses a line that is in the cache, and ensures that a record tells of a store to it.
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

    /// Touches the lines that were used after the least recently used one, which is about to leave, but
    /// have no later record.
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

    /// Puts a line first in its set; the last line leaves.
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

    /// Touches lines of the set of `line` until the records of all its lines are in order of use.
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

    /// Uses or brings in a line for a reference that is stored whole. The record of such a reference has
    /// no space for the write flag.
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

    /// Forgets the set of a line, so that the next reference to it gets a record.
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
