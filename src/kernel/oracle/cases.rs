//! How each kernel and its twin are set up on a pattern.

use super::check::{Built, Case, WithKernel, WithTwin};
use super::run::RingCase;
use crate::kernel::{
    Ahead, Direction, Fields, FillLines, FillWay, Jump, LoadLines, LoadWay, Pace, PrefetchWalk,
    Register, Step, Store, Sweep, Temporal, Walk, Width, all,
};
use crate::mem::{LINE, Region};
use crate::pattern::{Chain, Fill, Matrix, Ring};

impl RingCase {
    fn build<'m>(&self, memory: Region<'m>) -> Option<Ring<'m>> {
        Ring::new(memory, self.layout, self.count, self.order).ok()
    }
}

/// The first `lines` lines of `memory`.
fn first_lines(memory: Region<'_>, lines: usize) -> Option<Region<'_>> {
    Some(memory.split(lines * LINE)?.0)
}

pub(super) struct RegisterCase;

impl Case for RegisterCase {
    fn kernel(&self, _: Region<'_>, then: WithKernel<'_>) -> Built {
        then(&mut Register::default());
        Some(())
    }

    fn twin(&self, _: Region<'_>, then: WithTwin<'_>) -> Built {
        let mut value = 0;
        then(&mut |operations| {
            value = all::register::register(value, operations);
            value
        });
        Some(())
    }
}

pub(super) struct WalkCase {
    pub ring: RingCase,
    pub step: Step,
}

impl Case for WalkCase {
    fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
        then(&mut Walk::new(self.ring.build(memory)?, self.step).ok()?);
        Some(())
    }

    fn twin(&self, memory: Region<'_>, then: WithTwin<'_>) -> Built {
        let mut ring = self.ring.build(memory)?;
        then(&mut |operations| {
            all::walk::walk(&mut ring, self.step, operations);
            ring.offset(ring.cursor()) as u64
        });
        Some(())
    }
}

pub(super) struct JumpCase {
    pub size: usize,
    pub fill: Fill,
    pub checked: bool,
}

impl Case for JumpCase {
    fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
        let jump = Jump::new(Chain::new(memory, self.size, self.fill).ok()?);
        then(&mut if self.checked { jump.checked() } else { jump });
        Some(())
    }

    fn twin(&self, memory: Region<'_>, then: WithTwin<'_>) -> Built {
        let mut chain = Chain::new(memory, self.size, self.fill).ok()?;
        then(&mut |operations| {
            all::jump::jump(&mut chain, operations);
            u64::from(chain.cursor())
        });
        Some(())
    }
}

pub(super) struct FieldsCase {
    pub ring: RingCase,
    pub direction: Direction,
}

impl Case for FieldsCase {
    fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
        then(&mut Fields::new(self.ring.build(memory)?, self.direction).ok()?);
        Some(())
    }

    fn twin(&self, memory: Region<'_>, then: WithTwin<'_>) -> Built {
        let mut ring = self.ring.build(memory)?;
        then(&mut |operations| all::fields::fields(&mut ring, operations));
        Some(())
    }
}

pub(super) struct PrefetchCase {
    pub ring: RingCase,
    pub ahead: Option<Ahead>,
    pub work: u32,
    pub pace: Pace,
}

impl Case for PrefetchCase {
    fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
        let ring = self.ring.build(memory)?;
        then(&mut PrefetchWalk::new(ring, self.ahead, self.work, self.pace).ok()?);
        Some(())
    }

    fn twin(&self, memory: Region<'_>, then: WithTwin<'_>) -> Built {
        let mut ring = self.ring.build(memory)?;
        if let Some(ahead) = self.ahead {
            let word = usize::from(ring.layout().pointer_offset() == 0);
            ring.link_ahead(word, ahead.elements).ok()?;
        }
        then(&mut |operations| {
            all::prefetch::prefetch(&mut ring, operations);
            ring.offset(ring.cursor()) as u64
        });
        Some(())
    }
}

pub(super) struct StoreCase {
    pub rows: usize,
    pub row_bytes: usize,
    pub sweep: Sweep,
    pub width: Width,
    pub temporal: Temporal,
}

impl Case for StoreCase {
    fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
        let matrix = Matrix::new(memory, self.rows, self.row_bytes).ok()?;
        then(&mut Store::new(matrix, self.sweep, self.width, self.temporal).ok()?);
        Some(())
    }

    fn twin(&self, memory: Region<'_>, then: WithTwin<'_>) -> Built {
        let mut matrix = Matrix::new(memory, self.rows, self.row_bytes).ok()?;
        let mut done = 0;
        then(&mut |operations| {
            let width = self.width.bytes();
            done = all::store::store(&mut matrix, self.sweep, width, done, operations);
            done
        });
        Some(())
    }
}

pub(super) struct FillCase {
    pub lines: usize,
    pub way: FillWay,
}

impl Case for FillCase {
    fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
        then(&mut FillLines::new(first_lines(memory, self.lines)?, self.way).ok()?);
        Some(())
    }

    fn twin(&self, memory: Region<'_>, then: WithTwin<'_>) -> Built {
        let mut region = first_lines(memory, self.lines)?;
        let mut done = 0;
        then(&mut |operations| {
            done = all::fill::fill(&mut region, done, operations);
            done
        });
        Some(())
    }
}

pub(super) struct LoadCase {
    pub lines: usize,
    pub way: LoadWay,
}

impl Case for LoadCase {
    fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
        then(&mut LoadLines::new(
            first_lines(memory, self.lines)?,
            self.way,
        ));
        Some(())
    }

    fn twin(&self, memory: Region<'_>, then: WithTwin<'_>) -> Built {
        let region = first_lines(memory, self.lines)?;
        let mut done = 0;
        then(&mut |operations| {
            let sum = all::load::load(&region, done, operations);
            done += operations;
            sum
        });
        Some(())
    }
}
