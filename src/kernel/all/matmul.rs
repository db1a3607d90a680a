//! The twin of [`Matmul`](crate::kernel::Matmul) and [`TileMatmul`](crate::kernel::TileMatmul).

use crate::pattern::Product;

/// Adds to `operations` blocks of the result, of `rows` x `columns` elements each, what the rows
/// of the one factor and the columns of the other come to; returns the number of the next block.
/// Blocks follow each other along the rows; the first is number `done` since the beginning.
pub fn matmul(
    product: &mut Product<'_>,
    [rows, columns]: [usize; 2],
    done: u64,
    operations: u64,
) -> u64 {
    let side = product.side();
    let across = side / columns;
    let blocks = (side / rows * across) as u64;
    let parts = product.parts();
    for number in done..done + operations {
        let block = (number % blocks) as usize;
        let (top, left) = (block / across * rows, block % across * columns);
        for i in top..top + rows {
            let row = &parts.mul1[i * side..][..side];
            for j in left..left + columns {
                let mut element = parts.res[i * side + j];
                let column = parts.mul2[j..].iter().step_by(side);
                for (one, other) in row.iter().zip(column) {
                    element += one * other;
                }
                parts.res[i * side + j] = element;
            }
        }
    }
    done + operations
}
