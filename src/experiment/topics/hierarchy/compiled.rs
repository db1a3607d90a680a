//! L2 misses of a C compiler at work: a stored trace, and the compiler that is installed here.

use crate::experiment::prelude::*;
#[cfg(not(feature = "std"))]
use crate::host::Host;
use crate::sim::trace::{Decoder, MAGIC};
use crate::sim::{Cache, Design, Geometry};

#[cfg(feature = "std")]
mod installed;

/// A compiler, and the sets in which its misses are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compiler {
    /// Misses of the stored trace, which has one set in 128 (`reference/README.md`), times 128.
    Stored,
    /// Misses in one of the stored trace's eight slices of sets, times 128.
    StoredSlice(u8),
    /// Misses in all sets during another compilation, of which the counts alone are stored.
    Whole,
    /// Misses of the installed compiler, traced by valgrind.
    Installed,
    /// Misses of the installed compiler in the sets that the stored trace keeps, times 128.
    InstalledSampled,
}

/// Misses of a compiler in an L2 under LRU, behind L1i and L1d of 32 KiB and 8 ways each.
#[derive(Clone, Copy, Debug)]
pub struct CompilerSetup {
    pub of: Compiler,
    pub size: u64,
    pub ways: u64,
    /// Bytes of a line: 32 or 64.
    pub line: u64,
}

impl Setup for CompilerSetup {
    fn is_count(&self) -> bool {
        true
    }

    fn prepare<'m>(&self, _: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        let misses = match self.of {
            Compiler::Stored => self.in_stored_trace(|_| true)?,
            Compiler::StoredSlice(index) => {
                let slice = KEPT.get(usize::from(index)).copied();
                self.in_stored_trace(|address| Some(slice_of(address)) == slice)?
            }
            Compiler::Whole => self.in_all_sets()?,
            Compiler::Installed => self.of_installed(context.host, false)?,
            Compiler::InstalledSampled => self.of_installed(context.host, true)? * SAMPLED,
        };
        Ok(Workload::Count(misses))
    }
}

/// The stored traces of accesses that missed in L1, by line size.
const STORED: [(u64, &[u8]); 2] = [
    (32, include_bytes!("../../../../reference/gcc-l1-misses-32.lft")),
    (64, include_bytes!("../../../../reference/gcc-l1-misses-64.lft")),
];

/// The stored trace keeps one set in this many.
const SAMPLED: f64 = 128.0;

/// The sets of the stored trace: addresses whose bits 6 to 15 are one of these numbers, which were
/// drawn at random.
const KEPT: [u64; 8] = [198, 249, 445, 492, 650, 691, 919, 956];

fn slice_of(address: u64) -> u64 {
    address >> 6 & 1023
}

/// Number of slices that the stored trace keeps.
pub(crate) const SLICES: u8 = KEPT.len() as u8;

/// The misses in all sets during a whole compilation: line size, size, ways, misses.
const WHOLE: &str = include_str!("../../../../reference/gcc-l2-misses.csv");

impl CompilerSetup {
    fn in_all_sets(&self) -> Testable<f64> {
        let cache = format!("{},{},{},", self.line, self.size, self.ways);
        let misses = WHOLE.lines().find_map(|line| line.strip_prefix(&cache));
        misses.and_then(|misses| misses.parse().ok()).ok_or_else(|| self.no_trace())
    }

    fn in_stored_trace(&self, counts: impl Fn(u64) -> bool) -> Testable<f64> {
        let stored = STORED.iter().find(|(line, _)| *line == self.line);
        let records = stored.and_then(|(_, bytes)| bytes.strip_prefix(MAGIC));
        let records = records.ok_or_else(|| self.no_trace())?;
        let mut cache = Cache::new(Design::lru(Geometry::new(self.size, self.ways, self.line)?));
        // Sets are independent of each other, so sets that are not counted can be left out.
        let taken = Decoder::default().decode(records, |reference| {
            if counts(reference.address) {
                cache.reference(reference);
            }
        });
        match taken? {
            all if all == records.len() => Ok(cache.counters().misses() as f64 * SAMPLED),
            part => {
                Err(Untestable(format!("the stored trace cannot be decoded beyond byte {part}")))
            }
        }
    }

    fn no_trace(&self) -> Untestable {
        let CompilerSetup { size, ways, line, .. } = self;
        Untestable(format!(
            "there is no trace for an L2 of {size} bytes with {ways} ways and lines of {line} bytes"
        ))
    }
}

#[cfg(not(feature = "std"))]
impl CompilerSetup {
    /// Fails, because no program is started without the standard library.
    fn of_installed(&self, host: &dyn Host, _: bool) -> Testable<f64> {
        host.programs()?;
        Err(Untestable::without_std())
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::installed::{Levels, is_kept};
    use super::*;

    #[test]
    fn the_stored_traces_are_whole_and_yield_what_stack_distances_yield() {
        for (line, bytes) in STORED {
            let mut levels = Levels::new(line).unwrap();
            let records = bytes.strip_prefix(MAGIC).unwrap();
            let mut references = 0_u64;
            let taken = Decoder::default().decode(records, |reference| {
                references += 1;
                assert!(is_kept(reference.address) || is_kept(reference.last()));
                for stack in &mut levels.behind {
                    stack.reference(reference);
                }
            });
            assert_eq!(taken, Ok(records.len()));
            assert!(references > 40_000);
            for (size, ways) in [(512 << 10, 1), (2 << 20, 8), (16 << 20, 1), (16 << 20, 4)] {
                let setup = CompilerSetup { of: Compiler::Stored, size, ways, line };
                let sets = size / ways / line;
                let stack = levels.behind.iter().find(|s| s.largest().sets() == sets);
                let misses = stack.unwrap().misses(ways as usize) as f64 * SAMPLED;
                assert_eq!(setup.in_stored_trace(|_| true), Ok(misses));
            }
        }
    }

    #[test]
    fn a_line_without_a_trace_is_no_zero() {
        let setup = CompilerSetup { of: Compiler::Stored, size: 1 << 20, ways: 8, line: 128 };
        for refused in [setup.in_stored_trace(|_| true), setup.in_all_sets()] {
            assert!(refused.unwrap_err().0.contains("128 bytes"));
        }
    }

    #[test]
    fn all_caches_of_the_table_have_a_count_in_all_sets() {
        for line in [32, 64] {
            for size in (19..=24).map(|log| 1 << log) {
                let misses = [1, 2, 4, 8].map(|ways| {
                    let of = Compiler::Whole;
                    CompilerSetup { of, size, ways, line }.in_all_sets().unwrap()
                });
                assert!(misses.is_sorted_by(|more, fewer| more > fewer), "{misses:?}");
            }
        }
    }
}
