//! Checks of the kernels that read, write, update, copy or add blocks.

use super::reference::bandwidth;
use crate::cpu::Features;
use crate::kernel::stream::blocks::kernel;
use crate::kernel::verify::Oracle;
use crate::kernel::verify::check::{Built, Case, WithKernel, WithReference};
use crate::kernel::{BLOCK, Bandwidth, Motion, Vector};
use crate::mem::Region;

struct BandwidthCase {
    /// Kilobytes of the region, rounded to whole blocks of every part.
    kib: usize,
    motion: Motion,
    vector: Vector,
}

impl BandwidthCase {
    fn part<'m>(&self, memory: Region<'m>) -> Option<Region<'m>> {
        let whole = self.motion.granularity();
        let bytes = (self.kib * 2 * BLOCK / whole).max(1) * whole;
        Some(memory.split(bytes)?.0)
    }
}

impl Case for BandwidthCase {
    fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
        let part = self.part(memory)?;
        then(&mut Bandwidth::new(part, self.motion, self.vector).ok()?)
    }

    fn reference(&self, memory: Region<'_>, then: WithReference<'_>) -> Built {
        let mut part = self.part(memory)?;
        let (mut run, mut done) = (0, 0);
        then(&mut |blocks| {
            run += 1;
            let checksum = bandwidth(&mut part, self.motion, run, done, blocks);
            done += blocks;
            checksum
        })
    }
}

impl Oracle<'_, '_> {
    pub(crate) fn bandwidths(&mut self, features: Features) {
        for motion in Motion::ALL {
            for bytes in Vector::BYTES {
                // String instructions take no vectors, so one width is enough.
                if let Some(vector) = Vector::of(bytes, features)
                    && (bytes == 16 || !motion.string())
                {
                    self.bandwidth(motion, vector);
                }
            }
        }
    }

    fn bandwidth(&mut self, motion: Motion, vector: Vector) {
        let case = |kib| BandwidthCase { kib, motion, vector };
        self.check_cases(kernel(motion, vector).name, [1, 2, 3, 64, 127].map(case));
    }
}
