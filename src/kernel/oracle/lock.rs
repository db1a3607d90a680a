//! Locked additions. Across two lines nobody may try them unasked, so they are not checked there.

use super::check::{Built, Case, WithKernel, WithTwin};
use super::run::Oracle;
use crate::kernel::{LockAdd, all};
use crate::mem::Region;

struct LockCase {
    at: usize,
}

impl Case for LockCase {
    fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
        then(&mut LockAdd::new(memory, self.at, None).ok()?);
        Some(())
    }

    fn twin(&self, mut memory: Region<'_>, then: WithTwin<'_>) -> Built {
        then(&mut |operations| all::lock::lock_add(&mut memory, self.at, operations));
        Some(())
    }
}

impl Oracle<'_, '_> {
    pub(super) fn locks(&mut self) {
        let case = |at| LockCase { at };
        self.check("linefill_lock_add", [0, 3, 56, 4096 + 17].map(case));
    }
}
