//! Loads behind stores whose addresses come late.

use super::check::{Built, Case, WithKernel, WithTwin};
use super::ring::{PADDED, RingCase};
use super::run::Oracle;
use crate::kernel::speculate::{FIRST, apart, lay_out};
use crate::kernel::{Issue, Speculate, SpeculateMiss, all};
use crate::mem::Region;

struct ChainCase {
    issue: Issue,
    shared: usize,
}

/// Decides which loads share their place.
const SEED: u64 = 7;

impl Case for ChainCase {
    fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
        then(&mut Speculate::new(memory, self.issue, self.shared, SEED).ok()?);
        Some(())
    }

    fn twin(&self, mut memory: Region<'_>, then: WithTwin<'_>) -> Built {
        lay_out(&mut memory, self.shared, SEED).ok()?;
        let mut value = FIRST;
        then(&mut |operations| {
            value = all::speculate::speculate(&mut memory, value, operations);
            value
        });
        Some(())
    }
}

struct MissCase {
    ring: RingCase,
    issue: Issue,
}

impl Case for MissCase {
    fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
        let ring = self.ring.build(memory)?;
        then(&mut SpeculateMiss::new(ring, self.issue).ok()?);
        Some(())
    }

    fn twin(&self, memory: Region<'_>, then: WithTwin<'_>) -> Built {
        let mut ring = self.ring.build(memory)?;
        let (mut other, store) = apart(&ring).ok()?;
        then(&mut |operations| {
            other = all::speculate::speculate_miss(&mut ring, store, other, operations);
            ring.offset(ring.cursor()) as u64
        });
        Some(())
    }
}

impl Oracle<'_, '_> {
    pub(super) fn speculations(&mut self) {
        for (issue, chains, misses) in [
            (Issue::Free, "linefill_speculate", "linefill_speculate_miss"),
            (
                Issue::Ordered,
                "linefill_speculate_ordered",
                "linefill_speculate_miss_ordered",
            ),
        ] {
            let shared = [0, 1, 16, 128, 255, 256];
            self.check(chains, shared.map(|shared| ChainCase { issue, shared }));
            self.check(misses, PADDED.map(|ring| MissCase { ring, issue }));
        }
    }
}
