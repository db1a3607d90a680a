//! Stores over a matrix.

use super::check::{Built, Case, WithKernel, WithTwin};
use super::run::Oracle;
use crate::cpu::Features;
use crate::kernel::{Store, Sweep, Temporal, Width, all};
use crate::mem::Region;
use crate::pattern::Matrix;

struct StoreCase {
    rows: usize,
    row_bytes: usize,
    sweep: Sweep,
    width: Width,
    temporal: Temporal,
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

impl Oracle<'_, '_> {
    pub(super) fn stores(&mut self, features: Features) {
        for (bytes, cached, streamed) in [
            (4, "linefill_store4", "linefill_stream4"),
            (8, "linefill_store8", "linefill_stream8"),
            (16, "linefill_store16", "linefill_stream16"),
            (32, "linefill_store32", "linefill_stream32"),
            (64, "linefill_store64", "linefill_stream64"),
        ] {
            let Some(width) = Width::of(bytes, features) else {
                continue;
            };
            for (name, temporal) in [
                (cached, Temporal::Cached),
                (streamed, Temporal::NonTemporal),
            ] {
                let matrices = [(1, 1), (1, 40), (40, 1), (7, 3), (23, 61)];
                let sweeps = [Sweep::Row, Sweep::Column];
                let cases = sweeps.into_iter().flat_map(|sweep| {
                    matrices.map(|(rows, columns)| StoreCase {
                        rows,
                        row_bytes: columns * bytes,
                        sweep,
                        width,
                        temporal,
                    })
                });
                self.check(name, cases);
            }
        }
    }
}
