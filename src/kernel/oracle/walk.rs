//! Walks.

use super::check::{Built, Case, WithKernel, WithTwin};
use super::ring::{BARE, PADDED, RingCase};
use super::run::Oracle;
use crate::kernel::{Step, Walk, all};
use crate::mem::Region;

struct WalkCase {
    ring: RingCase,
    step: Step,
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

impl Oracle<'_, '_> {
    pub(super) fn walks(&mut self) {
        let walk = |step| move |ring| WalkCase { ring, step };
        let all = PADDED.into_iter().chain(BARE);
        self.check("linefill_walk_follow", all.map(walk(Step::Follow)));
        self.check("linefill_walk_inc", PADDED.map(walk(Step::Inc)));
        let zero = PADDED.into_iter().map(walk(Step::Addnext0));
        let last = PADDED.into_iter().map(walk(Step::Addnextlast));
        self.check("linefill_walk_addnext", zero.chain(last));
    }
}
