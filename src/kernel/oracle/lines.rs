//! Lines that are filled or read.

use super::check::{Built, Case, WithKernel, WithTwin};
use super::run::Oracle;
use crate::cpu::Features;
use crate::kernel::{Blocked, FillLines, FillWay, LoadLines, LoadWay, Vector, all};
use crate::mem::{LINE, Region};

/// The first `lines` lines of `memory`.
fn first_lines(memory: Region<'_>, lines: usize) -> Option<Region<'_>> {
    Some(memory.split(lines * LINE)?.0)
}

struct FillCase {
    lines: usize,
    way: FillWay,
}

impl Case for FillCase {
    fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
        then(&mut FillLines::new(first_lines(memory, self.lines)?, self.way).ok()?);
        Some(())
    }

    fn twin(&self, memory: Region<'_>, then: WithTwin<'_>) -> Built {
        let mut region = first_lines(memory, self.lines)?;
        let bytes = match self.way {
            FillWay::Part { quarters } => quarters as usize * LINE / 4,
            _ => LINE,
        };
        let mut done = 0;
        then(&mut |operations| {
            done = all::fill::fill(&mut region, bytes, done, operations);
            done
        });
        Some(())
    }
}

/// How lines are read.
#[derive(Clone, Copy)]
enum Reading {
    /// One after the other.
    Lines(LoadWay),
    /// In blocks of so many lines, each so many times.
    Blocks(usize, u32),
}

#[derive(Clone, Copy)]
struct LoadCase {
    lines: usize,
    reading: Reading,
}

impl Case for LoadCase {
    fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
        let region = first_lines(memory, self.lines)?;
        match self.reading {
            Reading::Lines(way) => then(&mut LoadLines::new(region, way)),
            Reading::Blocks(lines, times) => then(&mut Blocked::new(region, lines, times).ok()?),
        }
        Some(())
    }

    fn twin(&self, memory: Region<'_>, then: WithTwin<'_>) -> Built {
        let region = first_lines(memory, self.lines)?;
        let mut done = 0;
        then(&mut |operations| {
            let sum = match self.reading {
                Reading::Lines(_) => all::load::load(&region, done, operations),
                Reading::Blocks(lines, times) => {
                    all::blocked::blocked(&region, lines, times, done, operations)
                }
            };
            done += operations;
            sum
        });
        Some(())
    }
}

impl Oracle<'_, '_> {
    pub(super) fn fills(&mut self) {
        for (name, way) in [
            ("linefill_fill_cached", FillWay::Cached),
            ("linefill_fill_stream", FillWay::NonTemporal),
            ("linefill_fill_rep_stosb", FillWay::RepStosb),
            ("linefill_fill_quarter", FillWay::Part { quarters: 1 }),
            ("linefill_fill_half", FillWay::Part { quarters: 2 }),
            (
                "linefill_fill_three_quarters",
                FillWay::Part { quarters: 3 },
            ),
        ] {
            self.check(name, [1, 2, 100].map(|lines| FillCase { lines, way }));
        }
        let groups = [1, 2, 3, 8, 13, 63, 64].map(|lines| FillWay::Interleaved { lines });
        let cases = groups
            .into_iter()
            .flat_map(|way| [1, 2, 100].map(|lines| FillCase { lines, way }));
        self.check("linefill_fill_interleaved", cases);
    }

    pub(super) fn loads(&mut self, features: Features) {
        let cases = |way| {
            [1, 2, 100].map(|lines| LoadCase {
                lines,
                reading: Reading::Lines(way),
            })
        };
        // One block that is all, blocks that leave lines over, and blocks of a line.
        let blocks = [(100, 2), (7, 3), (1, 1)].map(|(block, times)| LoadCase {
            lines: 100,
            reading: Reading::Blocks(block, times),
        });
        for (bytes, cached, streamed) in [
            (16, "linefill_load_cached", "linefill_load_stream"),
            (32, "linefill_load_cached32", "linefill_load_stream32"),
            (64, "linefill_load_cached64", "linefill_load_stream64"),
        ] {
            let Some(vector) = Vector::of(bytes, features) else {
                continue;
            };
            let plain = cases(LoadWay::Cached(vector)).into_iter();
            let in_blocks = blocks.into_iter().filter(|_| bytes == 16);
            self.check(cached, plain.chain(in_blocks));
            if let Some(sse41) = features.sse41() {
                self.check(streamed, cases(LoadWay::NonTemporal(sse41, vector)));
            }
        }
    }
}
