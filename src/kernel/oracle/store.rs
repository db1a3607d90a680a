//! Stores over a matrix.

use super::check::{Built, Case, WithKernel, WithTwin};
use super::lines::vector_forms;
use super::run::Oracle;
use crate::cpu::Features;
use crate::kernel::{Form, Store, Sweep, Temporal, Width, all};
use crate::mem::Region;
use crate::pattern::Matrix;

struct StoreCase {
    rows: usize,
    row_bytes: usize,
    sweep: Sweep,
    width: Width,
    temporal: Temporal,
    form: Form,
}

impl Case for StoreCase {
    fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
        let matrix = Matrix::new(memory, self.rows, self.row_bytes).ok()?;
        let store = Store::new(matrix, self.sweep, self.width, self.temporal).ok()?;
        then(&mut store.by(self.form).ok()?);
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
                let cases = |form| {
                    sweeps.into_iter().flat_map(move |sweep| {
                        matrices.map(|(rows, columns)| StoreCase {
                            rows,
                            row_bytes: columns * bytes,
                            sweep,
                            width,
                            temporal,
                            form,
                        })
                    })
                };
                let general = Form::ALL.into_iter().filter(|_| bytes <= 8);
                let vector = vector_forms().filter(|_| bytes > 8);
                self.check(name, general.chain(vector).flat_map(cases));
            }
        }
    }
}
