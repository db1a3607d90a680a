//! The accesses of a band, in program order.

use crate::kernel::Access;
use crate::kernel::compute::tile::shape::{Shape, Tile};
use crate::kernel::compute::tile::{ACROSS, ELEMENT, TileWay};
use crate::pattern::Product;
use core::ops::Range;

/// A band: rows of the result from `top` on.
pub(crate) struct Band {
    pub shape: Shape,
    pub way: TileWay,
    pub top: usize,
}

/// Bytes of an element, as accesses have them.
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

    /// Byte offset of an element behind the matrices.
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

    /// What the assembly does with a tile at byte `to` whose rows are `row_bytes` apart.
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
