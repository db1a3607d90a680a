//! Matrices: contiguous rows of bytes, and two square matrices of doubles with their product.

use super::Rng;
use crate::mem::{LINE, Region, Span};

/// A matrix in row-major order: `rows` rows of `row_bytes` bytes without gaps. The kernel that sweeps
/// the matrix determines the width of an element.
#[derive(Debug)]
pub struct Matrix<'m> {
    region: Region<'m>,
    rows: usize,
    row_bytes: usize,
}

/// Why a region cannot hold a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MatrixError {
    /// The matrix has no rows, or rows without bytes.
    Empty {
        /// Requested rows.
        rows: usize,
        /// Requested bytes per row.
        row_bytes: usize,
    },
    /// The region is too small.
    RegionTooSmall {
        /// Bytes of the matrix; `usize::MAX` if the number overflows.
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
    /// Uses the first `rows * row_bytes` bytes of `region` as a matrix. Writes nothing.
    ///
    /// # Errors
    /// If the matrix is empty or does not fit.
    pub fn new(region: Region<'m>, rows: usize, row_bytes: usize) -> Result<Self, MatrixError> {
        if rows == 0 || row_bytes == 0 {
            return Err(MatrixError::Empty { rows, row_bytes });
        }
        let too_small = |needed, region| MatrixError::RegionTooSmall { needed, region };
        Span::of(row_bytes).times(rows).within(region.len(), too_small)?;
        Ok(Matrix { region, rows, row_bytes })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Bytes per row, and from each row to the next.
    pub fn row_bytes(&self) -> usize {
        self.row_bytes
    }

    /// The bytes of all rows, mutable.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.region.bytes_mut()[..self.rows * self.row_bytes]
    }
}

/// Two factors and their product, all square and row-major, one after the other from the start of the
/// region and each on a line. The rest of the region follows after them.
#[derive(Debug)]
pub struct Product<'m> {
    side: usize,
    mul1: &'m mut [f64],
    mul2: &'m mut [f64],
    res: &'m mut [f64],
    spare: &'m mut [f64],
}

/// Mutable parts of a [`Product`], borrowed at the same time.
pub(crate) struct Parts<'a> {
    pub mul1: &'a [f64],
    pub mul2: &'a [f64],
    pub res: &'a mut [f64],
    pub spare: &'a mut [f64],
}

/// Why a region cannot hold a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProductError {
    /// The matrices have no rows.
    Empty,
    /// The region is too small.
    RegionTooSmall {
        /// Bytes of the three matrices; `usize::MAX` if the number overflows.
        needed: usize,
        /// Bytes of the region.
        region: usize,
    },
}

messages! { ProductError:
    ProductError::Empty => ("matrices have at least 1 row, not 0");
    ProductError::RegionTooSmall { needed, region } => (
        "the matrices have {needed}, the region has {region}", needed = Span::of(*needed)
    );
}

impl<'m> Product<'m> {
    /// Bytes of a matrix of `side` rows and columns, up to the next matrix; `usize::MAX` if the number
    /// overflows.
    pub const fn matrix_bytes(side: usize) -> usize {
        let row = Span::of(size_of::<f64>()).times(side);
        row.times(side).whole(LINE).bytes()
    }

    /// Bytes of all three matrices; `usize::MAX` if the number overflows.
    pub const fn bytes(side: usize) -> usize {
        Span::of(Product::matrix_bytes(side)).times(3).bytes()
    }

    /// Creates two factors of `side` rows and columns that depend only on `seed`, and a product of zeroes.
    ///
    /// Elements are multiples of 1/1024, at least -1 and below 1. Sums of their products are exact in any
    /// order of addition, as long as they stay below 2^33.
    ///
    /// # Errors
    /// If the matrices are empty or do not fit.
    pub fn new(region: Region<'m>, side: usize, seed: u64) -> Result<Self, ProductError> {
        if side == 0 {
            return Err(ProductError::Empty);
        }
        let too_small = |needed, region| ProductError::RegionTooSmall { needed, region };
        Span::of(Product::bytes(side)).within(region.len(), too_small)?;
        let apart = Product::matrix_bytes(side) / size_of::<f64>();
        let (mul1, rest) = region.into_f64s().split_at_mut(apart);
        let (mul2, rest) = rest.split_at_mut(apart);
        let (res, spare) = rest.split_at_mut(apart);
        let count = side * side;
        let [mul1, mul2, res] = [mul1, mul2, res].map(|matrix| &mut matrix[..count]);
        let mut rng = Rng::new(seed);
        for factor in [&mut *mul1, &mut *mul2] {
            factor.fill_with(|| (rng.bits() >> 53) as f64 / 1024.0 - 1.0);
        }
        res.fill(0.0);
        Ok(Product { side, mul1, mul2, res, spare })
    }

    /// Number of rows, and of columns.
    pub fn side(&self) -> usize {
        self.side
    }

    /// The left factor, the right factor and the product, row by row.
    pub fn matrices(&self) -> [&[f64]; 3] {
        [self.mul1, self.mul2, self.res]
    }

    /// The two factors, mutable.
    pub fn factors_mut(&mut self) -> [&mut [f64]; 2] {
        [self.mul1, self.mul2]
    }

    /// The matrices and the memory after them.
    pub(crate) fn parts(&mut self) -> Parts<'_> {
        Parts { mul1: self.mul1, mul2: self.mul2, res: self.res, spare: self.spare }
    }

    /// Bytes after the matrices.
    pub(crate) fn spare_bytes(&self) -> usize {
        size_of_val(self.spare)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::vec;

    use super::*;

    #[test]
    fn a_matrix_that_does_not_fit_is_refused_by_value() {
        let mut bytes = [0u8; 1024];
        let mut region = Region::new(&mut bytes).unwrap();
        let len = region.len();
        assert!(Matrix::new(region.reborrow(), 4, len / 4).is_ok());
        assert_eq!(
            Matrix::new(region.reborrow(), 5, len / 4).unwrap_err(),
            MatrixError::RegionTooSmall { needed: 5 * (len / 4), region: len }
        );
        assert_eq!(
            Matrix::new(region.reborrow(), 0, 8).unwrap_err(),
            MatrixError::Empty { rows: 0, row_bytes: 8 }
        );
        assert!(Matrix::new(region, usize::MAX, 2).is_err());
    }

    #[test]
    fn elements_are_multiples_of_a_power_of_two_below_one_and_follow_from_the_seed() {
        let mut bytes = vec![0; Product::bytes(13) + 64];
        let mut region = Region::new(&mut bytes).unwrap();
        let mut elements = |seed| {
            let product = Product::new(region.reborrow(), 13, seed).unwrap();
            let [mul1, mul2, res] = product.matrices();
            assert!(res.iter().all(|element| *element == 0.0));
            [mul1, mul2].concat()
        };
        let one = elements(1);
        assert_eq!(one.len(), 2 * 13 * 13);
        let exact = |element: &f64| (element * 1024.0).fract() == 0.0 && element.abs() <= 1.0;
        assert!(one.iter().all(exact));
        assert!(one.iter().any(|e| *e < -0.5) && one.iter().any(|e| *e > 0.5));
        assert_eq!(one, elements(1));
        assert_ne!(one, elements(2));
    }

    #[test]
    fn matrices_that_do_not_fit_are_refused_by_value() {
        let mut bytes = [0; 3 * 64 + 63];
        let mut region = Region::new(&mut bytes).unwrap();
        assert!(Product::new(region.reborrow(), 2, 1).is_ok());
        let needed = 3 * 128;
        assert_eq!(
            Product::new(region.reborrow(), 3, 1).unwrap_err(),
            ProductError::RegionTooSmall { needed, region: region.len() }
        );
        assert_eq!(Product::new(region.reborrow(), 0, 1).unwrap_err(), ProductError::Empty);
        assert!(Product::new(region, usize::MAX, 1).is_err());
    }
}
