//! Lines that are filled or read.

use super::check::{Built, Case, WithKernel, WithTwin};
use super::run::Oracle;
use crate::cpu::Features;
use crate::kernel::{Blocked, FillLines, FillWay, Form, LoadLines, LoadWay, Vector, all};
use crate::mem::{LINE, Region};

/// The first `lines` lines of `memory`.
fn first_lines(memory: Region<'_>, lines: usize) -> Option<Region<'_>> {
    Some(memory.split(lines * LINE)?.0)
}

struct FillCase {
    lines: usize,
    way: FillWay,
    form: Form,
}

impl Case for FillCase {
    fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
        let fill = FillLines::new(first_lines(memory, self.lines)?, self.way).ok()?;
        then(&mut fill.by(self.form).ok()?);
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
    Lines(LoadWay, Form),
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
            Reading::Lines(way, form) => {
                then(&mut LoadLines::new(region, way).by(form).ok()?);
            }
            Reading::Blocks(lines, times) => then(&mut Blocked::new(region, lines, times).ok()?),
        }
        Some(())
    }

    fn twin(&self, memory: Region<'_>, then: WithTwin<'_>) -> Built {
        let region = first_lines(memory, self.lines)?;
        let mut done = 0;
        then(&mut |operations| {
            let sum = match self.reading {
                Reading::Lines(..) => all::load::load(&region, done, operations),
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

/// The forms of a kernel on vectors: soft-float targets have them in assembly alone.
pub(super) fn vector_forms() -> impl Iterator<Item = Form> {
    let target = |&form: &Form| cfg!(target_feature = "sse2") || form == Form::Assembly;
    Form::ALL.into_iter().filter(target)
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
            let string = way == FillWay::RepStosb;
            let forms = vector_forms().filter(move |&form| !string || form == Form::Assembly);
            let of = |form| [1, 2, 100].map(|lines| FillCase { lines, way, form });
            self.check(name, forms.flat_map(of));
        }
        let groups = [1, 2, 3, 8, 13, 63, 64].map(|lines| FillWay::Interleaved { lines });
        let cases = vector_forms().flat_map(|form| {
            let of = move |way| [1, 2, 100].map(|lines| FillCase { lines, way, form });
            groups.into_iter().flat_map(of)
        });
        self.check("linefill_fill_interleaved", cases);
    }

    pub(super) fn loads(&mut self, features: Features) {
        let cases = |way| {
            vector_forms().flat_map(move |form| {
                [1, 2, 100].map(|lines| LoadCase {
                    lines,
                    reading: Reading::Lines(way, form),
                })
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
            let plain = cases(LoadWay::Cached(vector));
            let in_blocks = blocks.into_iter().filter(|_| bytes == 16);
            self.check(cached, plain.chain(in_blocks));
            if let Some(sse41) = features.sse41() {
                self.check(streamed, cases(LoadWay::NonTemporal(sse41, vector)));
            }
        }
    }
}
