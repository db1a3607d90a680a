//! Blocks that are read, written, updated or copied.

use crate::cpu::Features;
use crate::kernel::verify::Oracle;
use crate::kernel::verify::check::{Built, Case, WithKernel, WithTwin};
use crate::kernel::{BLOCK, Bandwidth, Motion, Vector};
use crate::mem::Region;

struct BandwidthCase {
    /// Kilobytes, or the whole blocks of every part that come next to them.
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

    fn twin(&self, memory: Region<'_>, then: WithTwin<'_>) -> Built {
        let mut part = self.part(memory)?;
        let (mut run, mut done) = (0, 0);
        then(&mut |blocks| {
            run += 1;
            let checksum = crate::kernel::stream::bandwidth::reference::bandwidth(
                &mut part,
                self.motion,
                run,
                done,
                blocks,
            );
            done += blocks;
            checksum
        })
    }
}

impl Oracle<'_, '_> {
    pub(crate) fn bandwidths(&mut self, features: Features) {
        use Motion as M;
        for (motion, names) in [
            (
                M::Read,
                [
                    "linefill_bandwidth_read16",
                    "linefill_bandwidth_read32",
                    "linefill_bandwidth_read64",
                ],
            ),
            (
                M::ReadHalves,
                [
                    "linefill_bandwidth_read_halves16",
                    "linefill_bandwidth_read_halves32",
                    "linefill_bandwidth_read_halves64",
                ],
            ),
            (
                M::Write,
                [
                    "linefill_bandwidth_write16",
                    "linefill_bandwidth_write32",
                    "linefill_bandwidth_write64",
                ],
            ),
            (
                M::WriteNonTemporal,
                [
                    "linefill_bandwidth_stream16",
                    "linefill_bandwidth_stream32",
                    "linefill_bandwidth_stream64",
                ],
            ),
            (
                M::Update,
                [
                    "linefill_bandwidth_update16",
                    "linefill_bandwidth_update32",
                    "linefill_bandwidth_update64",
                ],
            ),
            (
                M::Copy,
                [
                    "linefill_bandwidth_copy16",
                    "linefill_bandwidth_copy32",
                    "linefill_bandwidth_copy64",
                ],
            ),
            (
                M::CopyNonTemporal,
                [
                    "linefill_bandwidth_copy_stream16",
                    "linefill_bandwidth_copy_stream32",
                    "linefill_bandwidth_copy_stream64",
                ],
            ),
            (
                M::Add,
                [
                    "linefill_bandwidth_add16",
                    "linefill_bandwidth_add32",
                    "linefill_bandwidth_add64",
                ],
            ),
            (
                M::AddThree,
                [
                    "linefill_bandwidth_add_three16",
                    "linefill_bandwidth_add_three32",
                    "linefill_bandwidth_add_three64",
                ],
            ),
            (
                M::Triad,
                [
                    "linefill_bandwidth_triad16",
                    "linefill_bandwidth_triad32",
                    "linefill_bandwidth_triad64",
                ],
            ),
            (
                M::TriadNonTemporal,
                [
                    "linefill_bandwidth_triad_stream16",
                    "linefill_bandwidth_triad_stream32",
                    "linefill_bandwidth_triad_stream64",
                ],
            ),
        ] {
            for (bytes, name) in Vector::BYTES.into_iter().zip(names) {
                if let Some(vector) = Vector::of(bytes, features) {
                    self.bandwidth(name, motion, vector);
                }
            }
        }
        self.bandwidth("linefill_bandwidth_rep_stosb", M::RepStosb, Vector::Sse2);
        self.bandwidth("linefill_bandwidth_rep_movsb", M::RepMovsb, Vector::Sse2);
    }

    fn bandwidth(&mut self, name: &'static str, motion: Motion, vector: Vector) {
        let case = |kib| BandwidthCase {
            kib,
            motion,
            vector,
        };
        self.check_cases(name, [1, 2, 3, 64, 127].map(case));
    }
}
