//! Rows of bytes, one behind the other.

use crate::mem::{Region, Span};

/// A matrix in row-major order: `rows` rows of `row_bytes` bytes without gaps. How wide an
/// element is, the kernel that sweeps it decides.
#[derive(Debug)]
pub struct Matrix<'m> {
    region: Region<'m>,
    rows: usize,
    row_bytes: usize,
}

/// Why a region holds no such matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MatrixError {
    /// No rows, or rows without bytes.
    Empty {
        /// Rows asked for.
        rows: usize,
        /// Bytes of a row asked for.
        row_bytes: usize,
    },
    /// The region is too small.
    RegionTooSmall {
        /// Bytes of the matrix (`usize::MAX` if they cannot be counted).
        needed: usize,
        /// Bytes of the region.
        region: usize,
    },
}

messages! { MatrixError:
    MatrixError::Empty { rows, row_bytes } => (
        "a matrix of {rows} rows of {row_bytes} bytes is empty; both must be at least 1"
    );
    MatrixError::RegionTooSmall { needed, region } => (
        "the matrix has {needed}, the region {region}", needed = Span::of(*needed)
    );
}

impl<'m> Matrix<'m> {
    /// The first `rows * row_bytes` bytes of `region` as a matrix. Writes nothing.
    ///
    /// # Errors
    /// If the matrix is empty or does not fit.
    pub fn new(region: Region<'m>, rows: usize, row_bytes: usize) -> Result<Self, MatrixError> {
        if rows == 0 || row_bytes == 0 {
            return Err(MatrixError::Empty { rows, row_bytes });
        }
        let needed = Span::of(row_bytes).times(rows);
        if !needed.fits(region.len()) {
            return Err(MatrixError::RegionTooSmall {
                needed: needed.bytes(),
                region: region.len(),
            });
        }
        Ok(Matrix {
            region,
            rows,
            row_bytes,
        })
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Bytes of a row, and from a row to the next.
    pub fn row_bytes(&self) -> usize {
        self.row_bytes
    }

    /// The bytes of all rows.
    pub fn bytes(&self) -> &[u8] {
        &self.region.bytes()[..self.rows * self.row_bytes]
    }

    /// The bytes of all rows, to be written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.region.bytes_mut()[..self.rows * self.row_bytes]
    }

    /// Gives the region back.
    pub fn into_region(self) -> Region<'m> {
        self.region
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_that_does_not_fit_is_refused_by_value() {
        let mut bytes = [0u8; 1024];
        let mut region = Region::new(&mut bytes).unwrap();
        let len = region.len();
        assert!(Matrix::new(region.reborrow(), 4, len / 4).is_ok());
        assert_eq!(
            Matrix::new(region.reborrow(), 5, len / 4).unwrap_err(),
            MatrixError::RegionTooSmall {
                needed: 5 * (len / 4),
                region: len
            }
        );
        assert_eq!(
            Matrix::new(region.reborrow(), 0, 8).unwrap_err(),
            MatrixError::Empty {
                rows: 0,
                row_bytes: 8
            }
        );
        assert!(Matrix::new(region, usize::MAX, 2).is_err());
    }
}
