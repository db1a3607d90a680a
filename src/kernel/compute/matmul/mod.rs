//! Drepper's four ways to multiply matrices (section 6.2.1 and appendix A.1).

// Calls assembly with addresses of elements inside the matrices.
#![allow(unsafe_code)]

mod checks;
use crate::kernel::{Access, Kernel, Work};
use crate::mem::LINE;
use crate::pattern::{Parts, Product};

const ELEMENT: usize = size_of::<f64>();

/// Elements per line: SM in the paper, whose lines also have 64 bytes.
const SM: usize = LINE / ELEMENT;

/// The loops of a multiplication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MatmulWay {
    /// Three loops; the inner one goes along a row of `mul1` and down a column of `mul2`.
    Original,
    /// Three loops; the inner one goes along rows of both matrices, after `mul2` was transposed into a
    /// separate matrix.
    Transposed,
    /// Six loops, the inner three over sub-matrices of 8 x 8 elements.
    SubMatrix,
    /// The loops of [`SubMatrix`](MatmulWay::SubMatrix), two elements at a time (SSE2), with the prefetches
    /// of appendix A.1.
    Vectorised,
}

/// Why matrices cannot be multiplied with some [`MatmulWay`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MatmulError {
    /// A row is not a whole number of lines.
    PartOfLine {
        /// Elements per row.
        side: usize,
    },
    /// An operation does more than [`Work`] can declare.
    TooLarge {
        /// Elements per row.
        side: usize,
    },
    /// There is not enough memory after the matrices.
    NoRoom {
        /// Bytes needed after the matrices.
        needed: usize,
        /// Bytes available there.
        spare: usize,
    },
}

messages! { MatmulError:
    MatmulError::PartOfLine { side } => (
        "a row of {side} doubles is not a multiple of a line; the next valid number is {}",
        side.next_multiple_of(SM)
    );
    MatmulError::TooLarge { side } => (
        "one operation on matrices of {side} x {side} does more than 2^32 - 1 loads, \
         stores or bytes; multiples of 8 have smaller operations"
    );
    MatmulError::NoRoom { needed, spare } => (
        "this way needs {needed} bytes behind the matrices, where there are {spare}"
    );
}

impl MatmulWay {
    /// All ways, in the order of the paper's table 6.2.
    pub const ALL: [MatmulWay; 4] =
        [MatmulWay::Original, MatmulWay::Transposed, MatmulWay::SubMatrix, MatmulWay::Vectorised];

    /// Bytes of matrices with `side` rows and columns, including the way's additional memory.
    pub const fn bytes(self, side: usize) -> usize {
        let beside = match self {
            MatmulWay::Transposed => Product::matrix_bytes(side),
            _ => 0,
        };
        Product::bytes(side).saturating_add(beside)
    }

    /// Rows and columns of the part of the result that an operation computes.
    const fn block(self) -> [usize; 2] {
        match self {
            MatmulWay::Original | MatmulWay::Transposed => [1, SM],
            MatmulWay::SubMatrix | MatmulWay::Vectorised => [SM, SM],
        }
    }
}

/// Multiplies matrices, round and round: each multiplication adds its products to the result, as the
/// paper's `+=` does. Rows are whole lines.
///
/// An operation computes a line of the result, 8 elements, or a sub-matrix of 8 x 8 elements, so that all
/// operations are alike: 8 N or 64 N multiply-adds for side N. A whole multiplication is
/// [`pass`](Self::pass) operations.
///
/// The copy that the transposed way needs is spread over the multiplication: each operation copies one of
/// its lines again, from the same elements of `mul2`, so that a whole multiplication includes one whole
/// copy.
#[derive(Debug)]
pub struct Matmul<'m> {
    product: Product<'m>,
    way: MatmulWay,
    /// Operations done.
    done: u64,
}

impl<'m> Matmul<'m> {
    /// Creates a multiplication that begins with the first row.
    ///
    /// # Errors
    /// If rows are not whole lines, an operation is too large to declare, or there is not enough memory
    /// after the matrices.
    pub fn new(product: Product<'m>, way: MatmulWay) -> Result<Self, MatmulError> {
        let side = product.side();
        if !side.is_multiple_of(SM) {
            return Err(MatmulError::PartOfLine { side });
        }
        // The operations on sub-matrices are the largest: 8 x 8 x 2 + 8 loads per element of a row.
        if side > u32::MAX as usize / (SM * SM * 3 * ELEMENT) {
            return Err(MatmulError::TooLarge { side });
        }
        let needed = way.bytes(side) - Product::bytes(side);
        let spare = product.spare_bytes();
        if needed > spare {
            return Err(MatmulError::NoRoom { needed, spare });
        }
        let mut matmul = Matmul { product, way, done: 0 };
        if way == MatmulWay::Transposed {
            for number in 0..matmul.pass() {
                matmul.copy(number);
            }
        }
        Ok(matmul)
    }

    /// Operations of a whole multiplication.
    pub fn pass(&self) -> u64 {
        let side = self.product.side();
        let [rows, columns] = self.way.block();
        (side / rows * (side / columns)) as u64
    }

    /// Returns the matrices.
    pub fn into_product(self) -> Product<'m> {
        self.product
    }

    /// Row and column of the first element that operation `number` computes.
    fn corner(&self, number: u64) -> (usize, usize) {
        let [rows, columns] = self.way.block();
        let across = self.product.side() / columns;
        let at = (number % self.pass()) as usize;
        (at / across * rows, at % across * columns)
    }

    /// Copies 8 elements of a column of `mul2` into the line of the transposed matrix at the same position
    /// as the operation's line of the result.
    fn copy(&mut self, number: u64) {
        let (row, column) = self.corner(number);
        let side = self.product.side();
        let Parts { mul2, spare, .. } = self.product.parts();
        let to = spare[row * side + column..][..SM].as_mut_ptr();
        let from = mul2[column * side + row..][..(SM - 1) * side + 1].as_ptr();
        // SAFETY: both slices hold the first of the 8 elements and the last, at their distances.
        unsafe { linefill_matmul_copy(to, from, ELEMENT, side * ELEMENT, SM as u64) };
    }

    /// Computes the operation's 8 elements of a row, one after the other.
    fn line(&mut self, number: u64) {
        let (row, column) = self.corner(number);
        let side = self.product.side();
        let Parts { mul1, mul2, res, spare } = self.product.parts();
        let along = mul1[row * side..][..side].as_ptr();
        for (index, element) in res[row * side + column..][..SM].iter_mut().enumerate() {
            let (down, distance) = match self.way {
                MatmulWay::Transposed => (&spare[(column + index) * side..][..side], 1),
                _ => (&mul2[column + index..][..(side - 1) * side + 1], side),
            };
            let (down, bytes) = (down.as_ptr(), distance * ELEMENT);
            let sum = element.to_bits();
            // SAFETY: the slices hold `side` elements at these distances, and `side` is not 0.
            let sum = unsafe { linefill_matmul_dot(along, down, bytes, side as u64, sum) };
            *element = f64::from_bits(sum);
        }
    }

    /// Computes the operation's 8 x 8 elements.
    fn sub_matrix(&mut self, number: u64, multiply: SubMatrices) {
        let (row, column) = self.corner(number);
        let side = self.product.side();
        let Parts { mul1, mul2, res, .. } = self.product.parts();
        let to = res[row * side + column..].as_mut_ptr();
        let along = mul1[row * side..][..SM * side].as_ptr();
        let down = mul2[column..].as_ptr();
        // SAFETY: row and column are multiples of 8 below `side`, which is also a multiple of 8, so
        // the sub-matrices lie inside the matrices, and all of their rows begin on a line.
        unsafe { multiply(to, along, down, side * ELEMENT, (side / SM) as u64) };
    }
}

impl Kernel for Matmul<'_> {
    /// Returns the number of operations since the kernel was created.
    fn run(&mut self, operations: u64) -> u64 {
        let end = self.done + operations;
        for number in self.done..end {
            match self.way {
                MatmulWay::Original => self.line(number),
                MatmulWay::Transposed => {
                    self.copy(number);
                    self.line(number);
                }
                MatmulWay::SubMatrix => self.sub_matrix(number, linefill_matmul_submatrix),
                MatmulWay::Vectorised => {
                    self.sub_matrix(number, linefill_matmul_submatrix_sse2);
                }
            }
        }
        self.done = end;
        end
    }

    fn work(&self) -> Work {
        let side = self.product.side() as u32;
        let [rows, columns] = self.way.block();
        let elements = (rows * columns) as u32;
        let (sm, element) = (SM as u32, ELEMENT as u32);
        // Loads and stores per element, and loads of single elements of `mul1` per operation.
        let (loads, stores, alone) = match self.way {
            MatmulWay::Original => (2 * side + 1, 1, 0),
            MatmulWay::Transposed => (2 * side + 2, 2, 0),
            MatmulWay::SubMatrix | MatmulWay::Vectorised => (2 * side, side, sm * side),
        };
        let at_once = if self.way == MatmulWay::Vectorised { 2 } else { 1 };
        Work {
            loads: elements * loads / at_once + alone,
            stores: elements * stores / at_once,
            bytes_read: (elements * loads + alone) * element,
            bytes_written: elements * stores * element,
            flops: 2 * u64::from(elements) * u64::from(side),
            ..Work::default()
        }
    }

    /// Reports the accesses of the plain loops, and runs.
    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        let end = self.done + operations;
        for number in self.done..end {
            let places = Places { side: self.product.side(), corner: self.corner(number) };
            match self.way {
                MatmulWay::Original => places.line(false, sink),
                MatmulWay::Transposed => {
                    places.copy(sink);
                    places.line(true, sink);
                }
                MatmulWay::SubMatrix => places.sub_matrix(1, sink),
                MatmulWay::Vectorised => places.sub_matrix(2, sink),
            }
        }
        self.run(operations)
    }
}

/// The places of an operation's accesses.
struct Places {
    side: usize,
    corner: (usize, usize),
}

impl Places {
    /// Byte offset of an element of `mul1` (matrix 0), `mul2`, `res` or the transposed matrix.
    fn of(&self, matrix: usize, row: usize, column: usize) -> usize {
        matrix * Product::matrix_bytes(self.side) + (row * self.side + column) * ELEMENT
    }

    fn copy(&self, sink: &mut dyn FnMut(Access)) {
        let (row, column) = self.corner;
        for index in column..column + SM {
            sink(Access::load(self.of(1, index, row), ELEMENT as u32));
            sink(Access::store(self.of(3, row, index), ELEMENT as u32));
        }
    }

    fn line(&self, transposed: bool, sink: &mut dyn FnMut(Access)) {
        let bytes = ELEMENT as u32;
        let (row, first) = self.corner;
        for column in first..first + SM {
            sink(Access::load(self.of(2, row, column), bytes));
            for k in 0..self.side {
                sink(Access::load(self.of(0, row, k), bytes));
                let place = if transposed { self.of(3, column, k) } else { self.of(1, k, column) };
                sink(Access::load(place, bytes));
            }
            sink(Access::store(self.of(2, row, column), bytes));
        }
    }

    /// Reports the loops k, i2, k2 and j2, `at_once` elements at a time.
    fn sub_matrix(&self, at_once: usize, sink: &mut dyn FnMut(Access)) {
        let bytes = (at_once * ELEMENT) as u32;
        let (row, column) = self.corner;
        for k in (0..self.side).step_by(SM) {
            for i2 in row..row + SM {
                if at_once > 1 {
                    sink(Access::prefetch(self.of(0, i2, k) + LINE));
                }
                for k2 in k..k + SM {
                    sink(Access::load(self.of(0, i2, k2), ELEMENT as u32));
                    for j2 in (column..column + SM).step_by(at_once) {
                        sink(Access::load(self.of(1, k2, j2), bytes));
                        sink(Access::load(self.of(2, i2, j2), bytes));
                        sink(Access::store(self.of(2, i2, j2), bytes));
                    }
                }
            }
        }
    }
}

unsafe extern "sysv64" {
    /// Copies `count` doubles from places `from_bytes` apart to places `to_bytes` apart.
    ///
    /// # Safety
    /// The doubles are valid for reads and their places for writes; `count` is not 0.
    pub fn linefill_matmul_copy(
        to: *mut f64,
        from: *const f64,
        to_bytes: usize,
        from_bytes: usize,
        count: u64,
    );

    /// Computes one element of a product: `element` plus `count` products, added one after the other.
    /// `element` and the result are the bits of an `f64`.
    ///
    /// # Safety
    /// `row` is the address of `count` doubles valid for reads, `column` the address of `count` doubles
    /// `column_bytes` apart; `count` is not 0.
    pub fn linefill_matmul_dot(
        row: *const f64,
        column: *const f64,
        column_bytes: usize,
        count: u64,
        element: u64,
    ) -> u64;
}

family! {
    /// The function type of the kernels that multiply sub-matrices of 8 x 8: adds to the sub-matrix at `res`
    /// the products of the `count` sub-matrices from `mul1` rightwards and the `count` from `mul2` downwards.
    ///
    /// # Safety
    /// The sub-matrices are valid for reads, the one at `res` also for writes, and their rows are
    /// `row_bytes` apart; all three addresses and `row_bytes` are multiples of 64; `count` is not 0.
    pub type SubMatrices = unsafe extern "sysv64" fn(
        res: *mut f64,
        mul1: *const f64,
        mul2: *const f64,
        row_bytes: usize,
        count: u64,
    ) -> ();

    /// One element at a time.
    linefill_matmul_submatrix
    /// Two elements at a time with SSE2, with prefetches of `mul1`.
    linefill_matmul_submatrix_sse2
}

pub(crate) mod reference {
    use crate::pattern::Product;

    /// Adds the product of the factors to `operations` blocks of the result, of `rows` x `columns` elements
    /// each; returns the number of the next block. Blocks follow each other along the rows; `done` blocks
    /// were computed before.
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
}
