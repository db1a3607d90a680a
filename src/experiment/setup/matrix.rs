//! Stores to a matrix by row and by column.

use crate::experiment::{Context, Setup, Subject, Untestable};
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
}
