//! Stores to a matrix by row and by column.

use crate::experiment::predict::{Flow, moved};
use crate::experiment::{Context, Forecast, Model, Parameters, Setup, Subject, Untestable};
use crate::kernel::{Store, Sweep, Temporal, Width};
use crate::mem::Region;
use crate::pattern::Matrix;

/// A matrix, and stores of one width that sweep it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MatrixSetup {
    /// Rows.
    pub rows: usize,
    /// Bytes of a row.
    pub row_bytes: usize,
    /// Direction of the inner loop.
    pub sweep: Sweep,
    /// Bytes of a store: 4, 8, 16, 32 or 64.
    pub width: usize,
    /// Through the cache or past it.
    pub temporal: Temporal,
}

impl Setup for MatrixSetup {
    fn bytes(&self) -> usize {
        self.rows * self.row_bytes
    }

    fn prepare<'m>(
        &self,
        region: Region<'m>,
        context: &Context,
    ) -> Result<Subject<'m>, Untestable> {
        let width = Width::of(self.width, context.features)
            .ok_or_else(|| Untestable(format!("this CPU has no stores of {} bytes", self.width)))?;
        let matrix = Matrix::new(region, self.rows, self.row_bytes).map_err(Untestable::because)?;
        let store =
            Store::new(matrix, self.sweep, width, self.temporal).map_err(Untestable::because)?;
        let lap = store.pass();
        Ok(Subject::Steady {
            kernel: Box::new(store),
            lap,
        })
    }

    /// By row alone: by column, lines leave and come back in parts.
    fn predict(&self, parameters: &Parameters<'_>) -> Option<Forecast> {
        (self.sweep == Sweep::Row).then_some(())?;
        let none = Flow {
            width: Some(self.width),
            ..Flow::default()
        };
        let flow = match self.temporal {
            Temporal::Cached => Flow {
                stored: self.width,
                ..none
            },
            Temporal::NonTemporal => Flow {
                bypassing: self.width,
                ..none
            },
        };
        Some(Forecast {
            cycles: moved(parameters, self.bytes(), flow)?.max(1.0),
            model: &ROWS,
        })
    }
}

static ROWS: Model = Model {
    name: "a store a cycle, or lines at the rate of a stream",
    bar: 0.25,
    leaves_out: "stores that leave a line in parts",
};
