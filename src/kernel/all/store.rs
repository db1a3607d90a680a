//! The twin of [`Store`](crate::kernel::Store).

use crate::kernel::Sweep;
use crate::pattern::Matrix;

/// Does `operations` stores of `width` bytes, of which the first is number `done` since the
/// beginning; returns the number of the next. The rows are a multiple of the width.
pub fn store(
    matrix: &mut Matrix<'_>,
    sweep: Sweep,
    width: usize,
    done: u64,
    operations: u64,
) -> u64 {
    let rows = matrix.rows() as u64;
    let row_bytes = matrix.row_bytes();
    let columns = (row_bytes / width) as u64;
    for number in done..done + operations {
        let pass = number / (rows * columns) + 1;
        let index = number % (rows * columns);
        let (row, column) = match sweep {
            Sweep::Row => (index / columns, index % columns),
            Sweep::Column => (index % rows, index / rows),
        };
        let place = row as usize * row_bytes + column as usize * width;
        for part in matrix.bytes_mut()[place..place + width].chunks_mut(8) {
            part.copy_from_slice(&pass.to_le_bytes()[..part.len()]);
        }
    }
    done + operations
}
