//! Filling lines (Drepper, section 6.1, `setbytes`): the gain from write combining, and the patterns that
//! lose it.

// Calls kernels with addresses of lines inside the region.
#![allow(unsafe_code)]

use crate::cpu::sfence;
#[cfg(target_feature = "sse2")]
use crate::kernel::intrinsics::fill as intrinsics;
use crate::kernel::verify::Oracle;
use crate::kernel::{Access, Form, Kernel, NoIntrinsics, Work};
use crate::mem::{LINE, Region};

/// Bytes of a 16-byte store, a quarter of a line.
const QUARTER: usize = LINE / 4;

/// The maximum number of lines in a group of [`FillWay::Interleaved`]: more than the number of
/// write-combining buffers of any CPU.
const MOST_LINES: u32 = 64;

/// The stores that fill the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FillWay {
    /// Four 16-byte stores per line, through the cache.
    Cached,
    /// Four consecutive 16-byte non-temporal stores per line: each line leaves its buffer complete.
    NonTemporal,
    /// Only the first 1 to 3 of these non-temporal stores per line: no line is ever complete.
    Part {
        /// Quarters of each line that are written, 1 to 3.
        quarters: u32,
    },
    /// The non-temporal stores of whole lines in another order: the first quarter of each of `lines` lines,
    /// then the second quarter of each, and so on. With more lines than write-combining buffers, each
    /// buffer is evicted with only a quarter of its line.
    Interleaved {
        /// Lines per group, 1 to 64.
        lines: u32,
    },
    /// One `rep stosb`.
    RepStosb,
}

/// The kernel that fills the lines.
#[derive(Clone, Copy, Debug)]
enum Fill {
    Lines(Fills),
    Groups(Groups, u32),
}

impl FillWay {
    /// Returns the kernel of `asm/stores/fill.S`.
    fn assembled(self) -> Fill {
        Fill::Lines(match self {
            FillWay::Cached => linefill_fill_cached,
            FillWay::NonTemporal => linefill_fill_stream,
            FillWay::Part { quarters: 1 } => linefill_fill_quarter,
            FillWay::Part { quarters: 2 } => linefill_fill_half,
            FillWay::Part { .. } => linefill_fill_three_quarters,
            FillWay::Interleaved { lines } => {
                return Fill::Groups(linefill_fill_interleaved, lines);
            }
            FillWay::RepStosb => linefill_fill_rep_stosb,
        })
    }

    /// Returns the kernel with intrinsics, if there is one.
    #[cfg(target_feature = "sse2")]
    fn compiled(self) -> Option<Fill> {
        Some(Fill::Lines(match self {
            FillWay::Cached => intrinsics::cached,
            FillWay::NonTemporal => intrinsics::stream,
            FillWay::Part { quarters: 1 } => intrinsics::quarter,
            FillWay::Part { quarters: 2 } => intrinsics::half,
            FillWay::Part { .. } => intrinsics::three_quarters,
            FillWay::Interleaved { lines } => {
                return Some(Fill::Groups(intrinsics::interleaved, lines));
            }
            FillWay::RepStosb => return None,
        }))
    }

    /// Returns `None`: all kernels use vectors, which a soft-float target lacks.
    #[cfg(not(target_feature = "sse2"))]
    fn compiled(self) -> Option<Fill> {
        None
    }
}

/// Why lines cannot be filled with some [`FillWay`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FillError {
    /// The number of lines in a group, if it is not 1 to 64.
    Lines(u32),
    /// The number of quarters in a part of a line, if it is not 1 to 3.
    Quarters(u32),
}

messages! { FillError:
    FillError::Lines(lines) => ("a group has 1 to {MOST_LINES} lines, not {lines}");
    FillError::Quarters(quarters) => ("a part of a line has 1 to 3 quarters, not {quarters}");
}

/// Fills a region line by line, round and round. An operation is a line of 64 bytes.
///
/// Every written byte is set to the number of the pass, from 1 on, modulo 256.
#[derive(Debug)]
pub struct FillLines<'m> {
    region: Region<'m>,
    way: FillWay,
    fill: Fill,
    done: u64,
}

impl<'m> FillLines<'m> {
    /// Creates a fill that begins at the region's first line.
    ///
    /// # Errors
    /// If a group is not 1 to 64 lines, or a part is not 1 to 3 quarters.
    pub fn new(region: Region<'m>, way: FillWay) -> Result<Self, FillError> {
        match way {
            FillWay::Interleaved { lines } if lines == 0 || lines > MOST_LINES => {
                Err(FillError::Lines(lines))
            }
            FillWay::Part { quarters } if !(1..=3).contains(&quarters) => {
                Err(FillError::Quarters(quarters))
            }
            _ => Ok(FillLines { region, way, fill: way.assembled(), done: 0 }),
        }
    }

    /// Returns the same fill in another form. Both forms take the same time: with intrinsics a `lea`
    /// precedes each non-temporal store of a line but the first, and the stores take longer than that.
    ///
    /// # Errors
    /// If `form` is intrinsics, and the way is `rep stosb` or the target is soft-float.
    pub fn by(mut self, form: Form) -> Result<Self, NoIntrinsics> {
        self.fill = match form {
            Form::Assembly => self.way.assembled(),
            Form::Intrinsics => self.way.compiled().ok_or(NoIntrinsics)?,
        };
        Ok(self)
    }

    /// Lines per pass over the region.
    pub fn pass(&self) -> u64 {
        (self.region.len() / LINE) as u64
    }

    /// Stores per line, and bytes per store.
    fn stores(&self) -> (usize, usize) {
        match self.way {
            FillWay::Part { quarters } => (quarters as usize, QUARTER),
            FillWay::RepStosb => (1, LINE),
            _ => (LINE / QUARTER, QUARTER),
        }
    }

    /// Returns the next line, and the number of lines from there, at most `most`, that one call fills. An
    /// interleaved group that the end of the region or of the run cuts short is a smaller group.
    fn straight(&self, most: u64) -> (u64, u64) {
        let line = self.done % self.pass();
        let lines = most.min(self.pass() - line);
        match self.way {
            FillWay::Interleaved { lines: group } if lines > u64::from(group) => {
                (line, lines - lines % u64::from(group))
            }
            _ => (line, lines),
        }
    }
}

impl FillLines<'_> {
    /// The model of the stores to `lines` lines from byte `from` on: the first store of each line, then
    /// the second of each, and so on.
    fn trace_group(&mut self, from: usize, lines: usize, sink: &mut dyn FnMut(Access)) {
        let pass = (self.done / self.pass() + 1) as u8;
        let (stores, bytes) = self.stores();
        for store in 0..stores {
            for line in 0..lines {
                let place = from + line * LINE + store * bytes;
                sink(match self.way {
                    FillWay::Cached | FillWay::RepStosb => Access::store(place, bytes as u32),
                    _ => Access::non_temporal_store(place, bytes as u32),
                });
                self.region.bytes_mut()[place..place + bytes].fill(pass);
            }
        }
    }
}

impl Kernel for FillLines<'_> {
    /// Returns the number of lines filled since the kernel was created. Non-temporal stores have
    /// left the core on return.
    fn run(&mut self, operations: u64) -> u64 {
        let end = self.done + operations;
        while self.done < end {
            let (line, lines) = self.straight(end - self.done);
            let pass = (self.done / self.pass() + 1) as u8;
            let value = u64::from_ne_bytes([pass; 8]);
            let at = self.region.bytes_mut()[line as usize * LINE..].as_mut_ptr();
            // SAFETY: `lines` lines from `at` on lie in the region, which is borrowed mutably and
            // starts on a line; an interleaved group has at most `lines` lines, and `straight` made
            // `lines` a multiple of a smaller group; `sfence` follows.
            let behind = unsafe {
                match self.fill {
                    Fill::Lines(fill) => fill(at, lines, value),
                    Fill::Groups(fill, group) => {
                        let group = u64::from(group).min(lines);
                        fill(at, lines / group, value, group)
                    }
                }
            };
            self.done += ((behind - at.addr()) / LINE) as u64;
        }
        if !matches!(self.way, FillWay::Cached | FillWay::RepStosb) {
            sfence();
        }
        self.done
    }

    /// Counts `rep stosb` as one store per line: the CPU chooses how to split it.
    fn work(&self) -> Work {
        let (stores, bytes) = self.stores();
        Work::default().store(stores as u32, bytes as u32)
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        let end = self.done + operations;
        while self.done < end {
            let (line, lines) = self.straight(end - self.done);
            let group = match self.way {
                FillWay::Interleaved { lines: group } => u64::from(group).min(lines),
                _ => 1,
            };
            for first in (line..line + lines).step_by(group as usize) {
                self.trace_group(first as usize * LINE, group as usize, sink);
            }
            self.done += lines;
        }
        self.done
    }
}

family! {
    /// The function type of the kernels that fill one line after the other: writes `value` (`rep stosb` its
    /// low byte) to `lines` lines, or to the first quarters of each; returns the address after the last line.
    ///
    /// # Safety
    /// `at` is the address of `lines` lines that are valid for writes; `lines` is not 0; `sfence`
    /// follows non-temporal stores.
    pub type Fills = unsafe extern "sysv64" fn(at: *mut u8, lines: u64, value: u64) -> usize;

    linefill_fill_cached
    linefill_fill_stream
    linefill_fill_quarter
    linefill_fill_half
    linefill_fill_three_quarters
    linefill_fill_rep_stosb
}

family! {
    /// The function type of the interleaved kernel: writes `groups` groups of `lines` lines, the first
    /// quarter of each line of a group, then the second of each, and so on; returns the address after the
    /// last line.
    ///
    /// # Safety
    /// As for [`Fills`], with `groups * lines` lines; neither number is 0.
    pub type Groups =
        unsafe extern "sysv64" fn(at: *mut u8, groups: u64, value: u64, lines: u64) -> usize;

    linefill_fill_interleaved
}

impl Oracle<'_, '_> {
    pub(crate) fn fills(&mut self) {
        for (name, way) in [
            ("linefill_fill_cached", FillWay::Cached),
            ("linefill_fill_stream", FillWay::NonTemporal),
            ("linefill_fill_rep_stosb", FillWay::RepStosb),
            ("linefill_fill_quarter", FillWay::Part { quarters: 1 }),
            ("linefill_fill_half", FillWay::Part { quarters: 2 }),
            ("linefill_fill_three_quarters", FillWay::Part { quarters: 3 }),
        ] {
            self.fill(name, &[way]);
        }
        let groups = [1, 2, 3, 8, 13, 63, 64];
        let groups = groups.map(|lines| FillWay::Interleaved { lines });
        self.fill("linefill_fill_interleaved", &groups);
    }

    fn fill(&mut self, name: &'static str, ways: &[FillWay]) {
        let forms = match ways {
            [FillWay::RepStosb] => &[Form::Assembly],
            _ => Form::on_vectors(),
        };
        let cases = forms.iter().flat_map(|form| ways.iter().map(move |way| (*form, *way)));
        let cases = cases.flat_map(|case| [1, 2, 100].map(|lines| (case, lines)));
        self.check(name, cases, |&((form, way), lines), memory, then| {
            let (region, _) = memory.split(lines * LINE)?;
            then(&mut FillLines::new(region, way).ok()?.by(form).ok()?)
        });
    }
}
