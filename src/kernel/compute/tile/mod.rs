//! Modern matrix multiplication: packed, blocked for the caches, in tiles that stay in registers (Goto
//! and van de Geijn, "Anatomy of high-performance matrix multiplication", ACM TOMS 34, 2008).

// Calls assembly with addresses of packed elements and of tiles inside the matrices.
#![allow(unsafe_code)]

use crate::cpu::{Avx512, Fma};
use crate::kernel::compute::matmul::{MatmulError, linefill_matmul_copy};
use crate::kernel::{Access, Kernel, Work};
use crate::pattern::{Parts, Product};
use core::ops::Range;
use shape::{Band, Shape, Tile};

mod shape;

const ELEMENT: usize = size_of::<f64>();

/// The maximum number of k packed at a time. A tile's elements of `mul1` then take at most half of a
/// 32 KiB L1d, and a band's elements at most a quarter of a 1 MiB L2.
const DEPTH: usize = 256;

/// The maximum rows of an operation that does not take all rows.
const BAND: usize = 128;

/// Registers per row of a tile.
const ACROSS: usize = 3;

/// The instructions and the size of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TileWay {
    /// Tiles of 4 x 12 with AVX2 and FMA; holds the proof that the CPU has them.
    Avx2(Fma),
    /// Tiles of 8 x 24 with AVX-512; holds the proof that the CPU has it.
    Avx512(Avx512),
}

impl TileWay {
    /// Rows per tile.
    const fn rows(self) -> usize {
        match self {
            TileWay::Avx2(_) => 4,
            TileWay::Avx512(_) => 8,
        }
    }

    /// Elements per register.
    const fn lanes(self) -> usize {
        match self {
            TileWay::Avx2(_) => 4,
            TileWay::Avx512(_) => 8,
        }
    }

    /// Columns per tile.
    const fn columns(self) -> usize {
        ACROSS * self.lanes()
    }

    /// Byte offsets, in each row of a tile, of the prefetches before the tile: the first and the last
    /// element, and with AVX-512 two places between.
    const fn prefetches(self) -> &'static [usize] {
        match self {
            TileWay::Avx2(_) => &[0, 88],
            TileWay::Avx512(_) => &[0, 64, 128, 184],
        }
    }

    /// Rows of an operation on matrices of `side`: the largest number up to [`BAND`] that divides `side`
    /// and is whole tiles; `side` if there is none.
    const fn band(self, side: usize) -> usize {
        let mut rows = BAND - BAND % self.rows();
        while rows > 0 {
            if side.is_multiple_of(rows) {
                return rows;
            }
            rows -= self.rows();
        }
        side
    }

    /// Bytes of matrices with `side` rows and columns, including the packed copies.
    pub const fn bytes(self, side: usize) -> usize {
        Product::bytes(side).saturating_add(self.shape(side).bytes())
    }

    const fn shape(self, side: usize) -> Shape {
        // Parts of equal depth, except for the last.
        let parts = side.div_ceil(DEPTH);
        Shape {
            side,
            band: self.band(side),
            depth: if parts == 0 { 0 } else { side.div_ceil(parts) },
            rows: self.rows(),
            columns: self.columns(),
        }
    }
}

/// Multiplies matrices of any size, round and round: each multiplication adds its products to the result.
///
/// An operation is a band of rows of the result. Before it, as many rows of `mul2` are packed again, from
/// the same elements, so that a whole multiplication of [`pass`](Self::pass) operations packs each matrix
/// once. A tile that extends beyond the matrix is computed outside it, from packed zeroes, and the part
/// inside is added to the matrix.
#[derive(Debug)]
pub struct TileMatmul<'m> {
    product: Product<'m>,
    way: TileWay,
    shape: Shape,
    work: Work,
    /// Operations done.
    done: u64,
}

impl<'m> TileMatmul<'m> {
    /// Creates a multiplication that begins with the first row.
    ///
    /// # Errors
    /// If there is not enough memory after the matrices, or an operation does more than [`Work`] can
    /// declare.
    pub fn new(product: Product<'m>, way: TileWay) -> Result<Self, MatmulError> {
        let shape = way.shape(product.side());
        let (needed, spare) = (shape.bytes(), product.spare_bytes());
        if needed > spare {
            return Err(MatmulError::NoRoom { needed, spare });
        }
        let work = shape.work(way.lanes());
        let work = work.ok_or(MatmulError::TooLarge { side: shape.side })?;
        let mut matmul = TileMatmul { product, way, shape, work, done: 0 };
        // Elements beyond the matrix are 0 and remain 0.
        matmul.product.parts().spare[..shape.edge().end].fill(0.0);
        for number in 0..matmul.pass() {
            matmul.pack_mul2(number);
        }
        Ok(matmul)
    }

    /// Operations of a whole multiplication.
    pub fn pass(&self) -> u64 {
        (self.shape.side / self.shape.band) as u64
    }

    /// Returns the matrices.
    pub fn into_product(self) -> Product<'m> {
        self.product
    }

    /// The first row of the band that operation `number` computes.
    fn top(&self, number: u64) -> usize {
        (number % self.pass()) as usize * self.shape.band
    }

    /// Packs the rows of `mul2` with the same numbers as the band's rows.
    fn pack_mul2(&mut self, number: u64) {
        let (shape, top) = (self.shape, self.top(number));
        let Parts { mul2, spare, .. } = self.product.parts();
        let packed = &mut spare[shape.mul2()];
        for across in 0..shape.across() {
            let left = across * shape.columns;
            let count = shape.columns.min(shape.side - left);
            for row in top..top + shape.band {
                let to = &mut packed[across * shape.panel() + row * shape.columns..][..count];
                let from = &mul2[row * shape.side + left..][..count];
                copy(to, 1, from, count);
            }
        }
    }

    /// Packs the elements of `mul1` in the band's rows and in columns `ks`.
    fn pack_mul1(&mut self, number: u64, ks: &Range<usize>) {
        let (shape, top) = (self.shape, self.top(number));
        let Parts { mul1, spare, .. } = self.product.parts();
        let packed = &mut spare[shape.mul1()];
        for row in 0..shape.band {
            let panel = row / shape.rows * shape.rows * shape.depth;
            let to = &mut packed[panel + row % shape.rows..];
            let from = &mul1[(top + row) * shape.side..][ks.clone()];
            copy(to, shape.rows, from, from.len());
        }
    }

    /// Adds to one tile the products of the columns and rows `ks`.
    fn multiply(&mut self, number: u64, tile: &Tile, ks: &Range<usize>) {
        let (shape, top) = (self.shape, self.top(number));
        let Parts { res, spare, .. } = self.product.parts();
        let row = top + tile.down * shape.rows;
        let part = &mut res[row * shape.side + tile.across * shape.columns..];
        let (packed, edge) = spare.split_at_mut(shape.edge().start);
        let mul2 = tile.across * shape.panel() + ks.start * shape.columns;
        let mul2 = &packed[shape.mul2()][mul2..][..ks.len() * shape.columns];
        let mul1 = tile.down * shape.rows * shape.depth;
        let mul1 = &packed[shape.mul1()][mul1..][..ks.len() * shape.rows];
        let edge = &mut edge[..shape.rows * shape.columns];
        let (to, distance) = if shape.whole(tile) {
            (&mut *part, shape.side)
        } else {
            edge.fill(0.0);
            (&mut *edge, shape.columns)
        };
        let to = to[..(shape.rows - 1) * distance + shape.columns].as_mut_ptr();
        let depth = ks.len() as u64;
        // SAFETY: the slices hold the elements of `depth` rows and columns of the tile, packed,
        // and the tile, whose rows are `distance` apart; `mul2` begins on a line, and a column of
        // tiles and a row of one are whole registers; the token proves that the CPU has the instructions.
        unsafe {
            let (mul1, mul2) = (mul1.as_ptr(), mul2.as_ptr());
            (tiles(self.way).call)(mul1, mul2, depth, to, distance * ELEMENT);
        }
        if !shape.whole(tile) {
            add_part(part, shape.side, edge, shape.columns, tile.part);
        }
    }
}

/// Copies `count` adjacent elements to places `distance` elements apart.
fn copy(to: &mut [f64], distance: usize, from: &[f64], count: usize) {
    let to = to[..(count - 1) * distance + 1].as_mut_ptr();
    let from = from[..count].as_ptr();
    // SAFETY: both slices hold the first and the last of `count` elements at these distances, and
    // there is at least one.
    unsafe { linefill_matmul_copy(to, from, distance * ELEMENT, ELEMENT, count as u64) };
}

/// Adds the first rows and columns of a tile to the matrix at `to`, row by row.
fn add_part(to: &mut [f64], side: usize, tile: &[f64], across: usize, [rows, columns]: [usize; 2]) {
    for row in 0..rows {
        let to = &mut to[row * side..][..columns];
        for (element, added) in to.iter_mut().zip(&tile[row * across..]) {
            *element += added;
        }
    }
}

impl Kernel for TileMatmul<'_> {
    /// Returns the number of operations since the kernel was created.
    fn run(&mut self, operations: u64) -> u64 {
        let shape = self.shape;
        let end = self.done + operations;
        for number in self.done..end {
            self.pack_mul2(number);
            for ks in shape.depths() {
                self.pack_mul1(number, &ks);
                for tile in shape.tiles() {
                    self.multiply(number, &tile, &ks);
                }
            }
        }
        self.done = end;
        end
    }

    fn work(&self) -> Work {
        self.work
    }

    /// Reports the accesses of the plain loops, and runs.
    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        let end = self.done + operations;
        for number in self.done..end {
            let band = Band { shape: self.shape, way: self.way, top: self.top(number) };
            band.report(sink);
        }
        self.run(operations)
    }
}

family! {
    /// The function type of the family: adds the product of packed elements to the tile of the result at
    /// `res`.
    ///
    /// # Safety
    /// Let the tile have R rows and C columns. `mul1` is the address of `depth * R` doubles; `mul2` is the
    /// address of `depth * C` doubles and a multiple of 64; the tile's rows, `row_bytes` apart, are valid
    /// for reads and writes; the CPU has the instructions; `depth` is not 0.
    pub type Tiles = unsafe extern "sysv64" fn(
        mul1: *const f64,
        mul2: *const f64,
        depth: u64,
        res: *mut f64,
        row_bytes: usize,
    ) -> ();

    fn tiles(way: TileWay) {
        TileWay::Avx2(_) => linefill_tile_avx2,
        TileWay::Avx512(_) => linefill_tile_avx512,
    }
}
