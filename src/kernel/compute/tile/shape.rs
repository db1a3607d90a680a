//! How matrices are cut into tiles, where the packed elements lie, and what that makes of work.

use crate::kernel::Work;
use crate::kernel::compute::tile::{ACROSS, ELEMENT};
use crate::mem::LINE;
use core::ops::Range;

/// How the matrices are cut up, and where the packed elements lie behind them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Rows and columns of the matrices.
    pub side: usize,
    /// Rows of an operation.
    pub band: usize,
    /// k that are packed of `mul1` at a time.
    pub depth: usize,
    /// Rows of a tile.
    pub rows: usize,
    /// Columns of a tile.
    pub columns: usize,
}

/// One tile of a band.
#[derive(Clone, Copy)]
pub(crate) struct Tile {
    /// Its number across.
    pub across: usize,
    /// Its number downwards, in the band.
    pub down: usize,
    /// Its rows and columns inside the matrix.
    pub part: [usize; 2],
}

impl Shape {
    /// Tiles across a row of the matrix.
    pub const fn across(&self) -> usize {
        self.side.div_ceil(self.columns)
    }

    /// Tiles down a band.
    pub const fn down(&self) -> usize {
        self.band.div_ceil(self.rows)
    }

    /// Elements of one column of tiles of `mul2`, packed.
    pub const fn panel(&self) -> usize {
        self.side.saturating_mul(self.columns)
    }

    /// The packed elements of `mul2`, in elements behind the matrices: all of them.
    pub const fn mul2(&self) -> Range<usize> {
        0..self.across().saturating_mul(self.panel())
    }

    /// Those of `mul1`: of a band, `depth` at a time.
    pub const fn mul1(&self) -> Range<usize> {
        let start = next_line(self.mul2().end);
        let rows = self.down().saturating_mul(self.rows);
        let count = rows.saturating_mul(self.depth);
        start..start.saturating_add(count)
    }

    /// A tile for what does not fit the matrix.
    pub const fn edge(&self) -> Range<usize> {
        let start = next_line(self.mul1().end);
        start..start.saturating_add(self.rows * self.columns)
    }

    pub const fn bytes(&self) -> usize {
        self.edge().end.saturating_mul(ELEMENT)
    }

    /// The k that are packed at a time.
    pub fn depths(self) -> impl Iterator<Item = Range<usize>> {
        (0..self.side)
            .step_by(self.depth)
            .map(move |k| k..self.side.min(k + self.depth))
    }

    /// The tiles of a band, those of the same packed `mul2` behind each other.
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

    /// Whether a tile lies wholly inside the matrix.
    pub fn whole(&self, tile: &Tile) -> bool {
        tile.part == [self.rows, self.columns]
    }

    /// What a band does; `None` if that is more than can be declared. What Rust does about tiles at
    /// the edge counts by the element, however the compiler groups it.
    pub fn work(&self, lanes: usize) -> Option<Work> {
        let [mut loads, mut stores, mut wide_loads, mut wide_stores] = [0_u64; 4];
        // Packing: of both factors as many rows as a band has.
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
            // There are fewer of them than bytes.
            loads: (loads + wide_loads) as u32,
            stores: (stores + wide_stores) as u32,
            flops: 2 * (self.band * self.side) as u64 * self.side as u64,
            ..Work::default()
        })
    }
}

/// `elements`, rounded up to a line.
const fn next_line(elements: usize) -> usize {
    match elements.checked_next_multiple_of(LINE / ELEMENT) {
        Some(elements) => elements,
        None => usize::MAX,
    }
}
