//! The division of matrices into tiles, the places of the packed elements, and the resulting work and
//! accesses of a band in program order.

use crate::kernel::compute::tile::{ACROSS, ELEMENT, TileWay};
use crate::kernel::{Access, Work};
use crate::mem::LINE;
use crate::pattern::Product;
use core::ops::Range;

/// The division of the matrices, and the places of the packed elements after them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Rows and columns of the matrices.
    pub side: usize,
    /// Rows per operation.
    pub band: usize,
    /// Number of k of `mul1` packed at a time.
    pub depth: usize,
    /// Rows per tile.
    pub rows: usize,
    /// Columns per tile.
    pub columns: usize,
}

/// A tile of a band.
#[derive(Clone, Copy)]
pub(crate) struct Tile {
    /// Number of the tile across the matrix.
    pub across: usize,
    /// Number of the tile downwards in the band.
    pub down: usize,
    /// Rows and columns of the tile inside the matrix.
    pub part: [usize; 2],
}

impl Shape {
    /// Tiles per row of the matrix.
    pub const fn across(&self) -> usize {
        self.side.div_ceil(self.columns)
    }

    /// Tiles down a band.
    pub const fn down(&self) -> usize {
        self.band.div_ceil(self.rows)
    }

    /// Elements of one packed column of tiles of `mul2`.
    pub const fn panel(&self) -> usize {
        self.side.saturating_mul(self.columns)
    }

    /// The place of all packed elements of `mul2`, in elements after the matrices.
    pub const fn mul2(&self) -> Range<usize> {
        0..self.across().saturating_mul(self.panel())
    }

    /// The place of the packed elements of `mul1`: those of a band, `depth` at a time.
    pub const fn mul1(&self) -> Range<usize> {
        let start = next_line(self.mul2().end);
        let rows = self.down().saturating_mul(self.rows);
        let count = rows.saturating_mul(self.depth);
        start..start.saturating_add(count)
    }

    /// The place of a tile that extends beyond the matrix.
    pub const fn edge(&self) -> Range<usize> {
        let start = next_line(self.mul1().end);
        start..start.saturating_add(self.rows * self.columns)
    }

    pub const fn bytes(&self) -> usize {
        self.edge().end.saturating_mul(ELEMENT)
    }

    /// The ranges of k that are packed at a time.
    pub fn depths(self) -> impl Iterator<Item = Range<usize>> {
        (0..self.side).step_by(self.depth).map(move |k| k..self.side.min(k + self.depth))
    }

    /// The tiles of a band; consecutive tiles use the same packed `mul2`.
    pub fn tiles(self) -> impl Iterator<Item = Tile> {
        (0..self.across()).flat_map(move |across| {
            (0..self.down()).map(move |down| Tile {
                across,
                down,
                part: [
                    self.rows.min(self.band - down * self.rows),
                    self.columns.min(self.side - across * self.columns),
                ],
            })
        })
    }

    /// Whether all of a tile lies inside the matrix.
    pub fn whole(&self, tile: &Tile) -> bool {
        tile.part == [self.rows, self.columns]
    }

    /// Returns the work of a band; `None` if it is more than can be declared. The Rust code for tiles at
    /// the edge counts per element, however the compiler groups the accesses.
    pub fn work(&self, lanes: usize) -> Option<Work> {
        let [mut loads, mut stores, mut wide_loads, mut wide_stores] = [0_u64; 4];
        // Packing: as many rows of both factors as a band has.
        let packed = 2 * (self.band * self.side) as u64;
        loads += packed;
        stores += packed;
        for ks in self.depths() {
            for tile in self.tiles() {
                let registers = (self.rows * ACROSS) as u64;
                wide_loads += (ks.len() * ACROSS) as u64 + registers;
                wide_stores += registers;
                loads += (ks.len() * self.rows) as u64;
                if !self.whole(&tile) {
                    let part = (tile.part[0] * tile.part[1]) as u64;
                    loads += 2 * part;
                    stores += (self.rows * self.columns) as u64 + part;
                }
            }
        }
        let bytes = |elements: u64, wide: u64| {
            let bytes = (elements + wide * lanes as u64) * ELEMENT as u64;
            u32::try_from(bytes).ok()
        };
        Some(Work {
            bytes_read: bytes(loads, wide_loads)?,
            bytes_written: bytes(stores, wide_stores)?,
            // There are fewer accesses than bytes.
            loads: (loads + wide_loads) as u32,
            stores: (stores + wide_stores) as u32,
            flops: 2 * (self.band * self.side) as u64 * self.side as u64,
            ..Work::default()
        })
    }
}

/// Rounds `elements` up to a line.
const fn next_line(elements: usize) -> usize {
    match elements.checked_next_multiple_of(LINE / ELEMENT) {
        Some(elements) => elements,
        None => usize::MAX,
    }
}

/// A band: rows of the result from `top` on.
pub(crate) struct Band {
    pub shape: Shape,
    pub way: TileWay,
    pub top: usize,
}

/// Bytes of an element, in the type that accesses use.
const BYTES: u32 = ELEMENT as u32;

impl Band {
    pub fn report(&self, sink: &mut dyn FnMut(Access)) {
        self.pack_mul2(sink);
        for ks in self.shape.depths() {
            self.pack_mul1(&ks, sink);
            for tile in self.shape.tiles() {
                self.multiply(&tile, &ks, sink);
            }
        }
    }

    /// Byte offset of an element of `mul1` (matrix 0), `mul2` or `res`.
    fn of(&self, matrix: usize, row: usize, column: usize) -> usize {
        let side = self.shape.side;
        matrix * Product::matrix_bytes(side) + (row * side + column) * ELEMENT
    }

    /// Byte offset of an element after the matrices.
    fn behind(&self, element: usize) -> usize {
        Product::bytes(self.shape.side) + element * ELEMENT
    }

    fn pack_mul2(&self, sink: &mut dyn FnMut(Access)) {
        let shape = &self.shape;
        for across in 0..shape.across() {
            let left = across * shape.columns;
            for row in self.top..self.top + shape.band {
                for column in left..shape.side.min(left + shape.columns) {
                    let packed = across * shape.panel() + row * shape.columns + column - left;
                    sink(Access::load(self.of(1, row, column), BYTES));
                    let to = shape.mul2().start + packed;
                    sink(Access::store(self.behind(to), BYTES));
                }
            }
        }
    }

    fn pack_mul1(&self, ks: &Range<usize>, sink: &mut dyn FnMut(Access)) {
        let shape = &self.shape;
        for row in 0..shape.band {
            let panel = row / shape.rows * shape.rows * shape.depth;
            for k in ks.clone() {
                let packed = panel + (k - ks.start) * shape.rows + row % shape.rows;
                sink(Access::load(self.of(0, self.top + row, k), BYTES));
                let to = shape.mul1().start + packed;
                sink(Access::store(self.behind(to), BYTES));
            }
        }
    }

    fn multiply(&self, tile: &Tile, ks: &Range<usize>, sink: &mut dyn FnMut(Access)) {
        let shape = &self.shape;
        let row = self.top + tile.down * shape.rows;
        let part = self.of(2, row, tile.across * shape.columns);
        if shape.whole(tile) {
            self.tile(tile, ks, part, shape.side * ELEMENT, sink);
            return;
        }
        let edge = self.behind(shape.edge().start);
        for element in 0..shape.rows * shape.columns {
            sink(Access::store(edge + element * ELEMENT, BYTES));
        }
        self.tile(tile, ks, edge, shape.columns * ELEMENT, sink);
        let [rows, columns] = tile.part;
        for row in 0..rows {
            for column in 0..columns {
                let place = |from: usize, across: usize| from + (row * across + column) * ELEMENT;
                sink(Access::load(place(part, shape.side), BYTES));
                sink(Access::load(place(edge, shape.columns), BYTES));
                sink(Access::store(place(part, shape.side), BYTES));
            }
        }
    }

    /// Reports the accesses of the assembly to a tile at byte `to` with rows `row_bytes` apart.
    fn tile(
        &self,
        tile: &Tile,
        ks: &Range<usize>,
        to: usize,
        row_bytes: usize,
        sink: &mut dyn FnMut(Access),
    ) {
        let shape = &self.shape;
        for row in 0..shape.rows {
            for place in self.way.prefetches() {
                sink(Access::prefetch(to + row * row_bytes + place));
            }
        }
        let mul1 = shape.mul1().start + tile.down * shape.rows * shape.depth;
        let mul2 = shape.mul2().start + tile.across * shape.panel() + ks.start * shape.columns;
        let (lanes, wide) = (self.way.lanes(), (self.way.lanes() * ELEMENT) as u32);
        for k in 0..ks.len() {
            for register in 0..ACROSS {
                let element = mul2 + k * shape.columns + register * lanes;
                sink(Access::load(self.behind(element), wide));
            }
            for row in 0..shape.rows {
                let element = mul1 + k * shape.rows + row;
                sink(Access::load(self.behind(element), BYTES));
            }
        }
        for row in 0..shape.rows {
            let registers = |register: usize| to + row * row_bytes + register * wide as usize;
            for register in 0..ACROSS {
                sink(Access::load(registers(register), wide));
            }
            for register in 0..ACROSS {
                sink(Access::store(registers(register), wide));
            }
        }
    }
}
