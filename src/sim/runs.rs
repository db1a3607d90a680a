//! A trace whose references to one line in a row are counted instead of kept.
//!
//! Most references of a program touch the line that was used last in its set, and change nothing in
//! any cache but a count: the line is there, and stays the one used last. What lies between are
//! references to other sets, and, as instructions and data have first levels of their own, those of
//! the other side. Whoever has used a line last in one of few sets has done so in one of many, if
//! these are a multiple of those, so that the fewest sets of interest tell what is left out (trace
//! stripping: T. R. Puzak, "Analysis of cache replacement-algorithms", 1985). Taking such runs
//! together costs one pass over the trace; every cache that is simulated afterwards serves a run in
//! the time of a reference.

use alloc::vec;
use alloc::vec::Vec;

use super::geometry::{Geometry, GeometryError};
use super::reference::{Op, Reference};

/// References to one line with no other line of its set and side between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// The first of them; where it touches several lines, or passes the caches, the only one.
    pub(super) first: Reference,
    /// Fetches, loads, stores and modifications after the first.
    pub(super) more: [u32; 4],
}

impl Run {
    /// Whether the line is changed.
    #[inline]
    pub(super) fn writes(&self) -> bool {
        self.first.op.writes() || self.more[2] + self.more[3] > 0
    }
}

/// The most sets by which runs are taken together.
const MOST_SETS: u64 = 1 << 20;

/// A trace as runs of references to one line.
///
/// ```
/// use linefill::sim::{Reference, Runs};
///
/// let loads = (0..4096).step_by(8).map(|address| Reference::load(address, 8));
/// let runs = Runs::of(64, 1, loads)?;
/// assert_eq!((runs.references(), runs.len()), (512, 64));
///
/// // Two lines in turn are one run each in two sets, and one a load in one set.
/// let loads = || (0..100).map(|index| Reference::load(64 * (index % 2), 8));
/// assert_eq!(Runs::of(64, 2, loads())?.len(), 2);
/// assert_eq!(Runs::of(64, 1, loads())?.len(), 100);
/// # Ok::<(), linefill::sim::GeometryError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Runs {
    runs: Vec<Run>,
    references: u64,
    line: u64,
    sets: u64,
}

/// What a hierarchy has that a run does not tell: lines that come or go on others' account, uses in
/// a row that are not all alike, or lines shorter than those of the runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotByRuns(pub &'static str);

impl core::fmt::Display for NotByRuns {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "runs of references do not tell {}", self.0)
    }
}

impl core::error::Error for NotByRuns {}

impl Runs {
    /// Takes references to one line of `line` bytes together that have no other line of their set
    /// between them, of `sets` sets. Caches with lines as long and a multiple of so many sets can be
    /// simulated with them; with one set, those with longer lines, too.
    ///
    /// # Errors
    /// If there is no such line, or the sets are no power of two.
    pub fn of(
        line: u64,
        sets: u64,
        trace: impl IntoIterator<Item = Reference>,
    ) -> Result<Self, GeometryError> {
        if !line.is_power_of_two() || line < 8 {
            return Err(GeometryError::Line(line));
        }
        if !sets.is_power_of_two() || sets > MOST_SETS {
            return Err(GeometryError::Sets(sets));
        }
        let mut runs = Runs {
            runs: Vec::new(),
            references: 0,
            line,
            sets,
        };
        let mut open = [Open::new(sets), Open::new(sets)];
        for reference in trace {
            runs.references += 1;
            let first = reference.address / line;
            let last = reference.last() / line;
            let counted = match reference.op {
                Op::Fetch => 0,
                Op::Load => 1,
                Op::Store => 2,
                Op::Modify => 3,
                Op::NonTemporalStore | Op::Prefetch => {
                    runs.push(reference);
                    open.iter_mut().for_each(|open| open.close(first, last));
                    continue;
                }
            };
            let open = &mut open[usize::from(counted > 0)];
            match open.run(first) {
                Some(at) if first == last && runs.runs[at].has_room(counted) => {
                    runs.runs[at].more[counted] += 1;
                }
                _ => {
                    open.close(first, last);
                    if first == last {
                        open.begin(first, runs.runs.len());
                    }
                    runs.push(reference);
                }
            }
        }
        Ok(runs)
    }

    fn push(&mut self, first: Reference) {
        self.runs.push(Run {
            first,
            more: [0; 4],
        });
    }

    /// References of the trace.
    pub fn references(&self) -> u64 {
        self.references
    }

    /// Runs that they came to.
    pub fn len(&self) -> usize {
        self.runs.len()
    }

    /// Whether there was no reference.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Bytes of the lines by which they were taken together.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Sets by which they were taken together.
    pub fn sets(&self) -> u64 {
        self.sets
    }

    /// Whether they tell what happens in a cache.
    ///
    /// # Errors
    /// If its lines or sets are none that they were taken together for.
    pub(super) fn tell_of(&self, geometry: Geometry) -> Result<(), NotByRuns> {
        if geometry.line() < self.line {
            return Err(NotByRuns("what happens in lines shorter than theirs"));
        }
        if self.sets > 1 && geometry.line() > self.line {
            return Err(NotByRuns("which set a line longer than theirs is in"));
        }
        if !geometry.sets().is_multiple_of(self.sets) {
            return Err(NotByRuns("what happens in sets that theirs do not divide"));
        }
        Ok(())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter()
    }
}

/// The runs of one side that may go on: of each set the line used last, and the place of its run.
struct Open(Vec<(u64, usize)>);

/// No line has this number.
const NONE: u64 = u64::MAX;

impl Open {
    fn new(sets: u64) -> Self {
        Open(vec![(NONE, 0); sets as usize])
    }

    fn slot(&mut self, line: u64) -> &mut (u64, usize) {
        let mask = self.0.len() as u64 - 1;
        &mut self.0[(line & mask) as usize]
    }

    /// The run of `line`, if it may go on.
    fn run(&mut self, line: u64) -> Option<usize> {
        let &mut (open, at) = self.slot(line);
        (open == line).then_some(at)
    }

    fn begin(&mut self, line: u64, at: usize) {
        *self.slot(line) = (line, at);
    }

    /// Ends what is open in the sets of these lines.
    fn close(&mut self, first: u64, last: u64) {
        let all = first + self.0.len() as u64 - 1;
        for line in first..=last.min(all) {
            self.slot(line).0 = NONE;
        }
    }
}

impl Run {
    fn has_room(&self, counted: usize) -> bool {
        self.more[counted] < u32::MAX
    }
}
