//! Stores behind a long latency.

use super::check::{Built, Case, WithKernel, WithTwin};
use super::run::Oracle;
use crate::kernel::{MOST_PENDING, Pending, all};
use crate::mem::Region;

struct PendingCase(u32);

impl Case for PendingCase {
    fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
        then(&mut Pending::new(memory, self.0).ok()?);
        Some(())
    }

    fn twin(&self, mut memory: Region<'_>, then: WithTwin<'_>) -> Built {
        let mut count = 0;
        then(&mut |operations| {
            count = all::pending::pending(&mut memory, self.0, count, operations);
            count
        });
        Some(())
    }
}

impl Oracle<'_, '_> {
    pub(super) fn pendings(&mut self) {
        self.check(
            "linefill_pending",
            [0, 1, 63, MOST_PENDING].map(PendingCase),
        );
    }
}
