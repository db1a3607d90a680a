//! Walks side by side.

use super::check::{Built, Case, WithKernel, WithTwin};
use super::run::Oracle;
use crate::kernel::{Abreast, all};
use crate::mem::Region;
use crate::pattern::Lanes;

struct LanesCase {
    lanes: usize,
    lines: usize,
}

impl LanesCase {
    fn build<'m>(&self, memory: Region<'m>) -> Option<Lanes<'m>> {
        Lanes::new(memory, self.lanes, self.lines, 13).ok()
    }
}

impl Case for LanesCase {
    fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
        then(&mut Abreast::new(self.build(memory)?));
        Some(())
    }

    fn twin(&self, memory: Region<'_>, then: WithTwin<'_>) -> Built {
        let mut lanes = self.build(memory)?;
        let mut done = 0;
        then(&mut |operations| {
            let stopped = all::lanes::abreast(&mut lanes, done, operations);
            done += operations;
            stopped
        });
        Some(())
    }
}

impl Oracle<'_, '_> {
    pub(super) fn lanes(&mut self) {
        let shapes = [(1, 100), (2, 2), (7, 1000), (32, 1000), (64, 1000)];
        let cases = shapes.map(|(lanes, lines)| LanesCase { lanes, lines });
        self.check("linefill_lanes", cases);
    }
}
