//! A trace whose references to one line in a row are counted instead of kept.
//!
//! Most references of a program touch the line that the reference before them touched, among
//! instructions nine of ten, and change nothing in any cache but a count: the line is there, and is
//! the one used last. Instructions and data have first levels of their own, so that what lies between
//! two fetches of a line are loads and stores as well. Taking such runs together costs one pass over
//! the trace; every cache that is simulated afterwards serves a run in the time of a reference.

use alloc::vec::Vec;

use super::geometry::GeometryError;
use super::reference::{Op, Reference};

/// References to one line with no other line of their side between them.
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

/// A trace as runs of references to one line.
///
/// ```
/// use linefill::sim::{Reference, Runs};
///
/// let loads = (0..4096).step_by(8).map(|address| Reference::load(address, 8));
/// let runs = Runs::of(64, loads)?;
/// assert_eq!((runs.references(), runs.len()), (512, 64));
/// # Ok::<(), linefill::sim::GeometryError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Runs {
    runs: Vec<Run>,
    references: u64,
    line: u64,
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
    /// Takes references to one line of `line` bytes together. Caches with lines as long, or longer,
    /// can be simulated with them.
    ///
    /// # Errors
    /// If there is no such line.
    pub fn of(
        line: u64,
        trace: impl IntoIterator<Item = Reference>,
    ) -> Result<Self, GeometryError> {
        if !line.is_power_of_two() || line < 8 {
            return Err(GeometryError::Line(line));
        }
        let mut runs = Runs {
            runs: Vec::new(),
            references: 0,
            line,
        };
        // The runs of instructions and of data that may go on, and their lines.
        let mut open: [Option<(u64, usize)>; 2] = [None; 2];
        for reference in trace {
            runs.references += 1;
            let first = reference.address / line;
            let alone = reference.last() / line == first;
            let counted = match reference.op {
                Op::Fetch => 0,
                Op::Load => 1,
                Op::Store => 2,
                Op::Modify => 3,
                Op::NonTemporalStore | Op::Prefetch => {
                    runs.push(reference);
                    open = [None; 2];
                    continue;
                }
            };
            let open = &mut open[usize::from(counted > 0)];
            match *open {
                Some((line, at)) if alone && line == first && runs.runs[at].has_room(counted) => {
                    runs.runs[at].more[counted] += 1;
                }
                _ => {
                    *open = alone.then_some((first, runs.runs.len()));
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

    pub(super) fn iter(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter()
    }
}

impl Run {
    fn has_room(&self, counted: usize) -> bool {
        self.more[counted] < u32::MAX
    }
}
