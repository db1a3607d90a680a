//! Stores over a matrix, by row or by column, through the cache or past it (Drepper, section 6.1,
//! Figure 6.1 and Table 6.1).

// Calls assembly with addresses inside the matrix.
#![allow(unsafe_code)]

use super::x86_64::asm::store as asm;
use super::{Access, Kernel, Width, Work};
use crate::cpu::sfence;
use crate::pattern::Matrix;

/// The direction of the inner loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sweep {
    /// Row after row: addresses follow each other.
    Row,
    /// Column after column: each store is a row further than the one before.
    Column,
}

/// Whether a store goes through the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Temporal {
    /// Through the cache, which first fetches the line for ownership.
    Cached,
    /// Past the cache, collected in write-combining buffers.
    NonTemporal,
}

/// Why a matrix cannot be swept by stores of some width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// A row is no whole number of stores.
    PartOfRow {
        /// Bytes of a row.
        row_bytes: usize,
        /// Bytes of a store.
        width: usize,
    },
}

impl core::fmt::Display for StoreError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let StoreError::PartOfRow { row_bytes, width } = self;
        write!(
            f,
            "rows of {row_bytes} bytes are no whole number of {width}-byte stores; the next such row has {} bytes",
            row_bytes.next_multiple_of(*width)
        )
    }
}

impl core::error::Error for StoreError {}

/// A sweep of stores over a matrix, again and again. An operation is one store.
///
/// What is stored is the number of the pass, from 1 on, repeated every 8 bytes (4-byte stores
/// hold its low half).
#[derive(Debug)]
pub struct Store<'m> {
    matrix: Matrix<'m>,
    sweep: Sweep,
    width: Width,
    temporal: Temporal,
    done: u64,
}

/// A run of stores at a constant distance.
struct Straight {
    place: usize,
    stride: usize,
    stores: u64,
    pass: u64,
}

impl<'m> Store<'m> {
    /// A sweep that begins at the first element.
    ///
    /// # Errors
    /// If the rows are no whole number of stores, so that some would be misaligned.
    pub fn new(
        matrix: Matrix<'m>,
        sweep: Sweep,
        width: Width,
        temporal: Temporal,
    ) -> Result<Self, StoreError> {
        let row_bytes = matrix.row_bytes();
        if !row_bytes.is_multiple_of(width.bytes()) {
            return Err(StoreError::PartOfRow {
                row_bytes,
                width: width.bytes(),
            });
        }
        Ok(Store {
            matrix,
            sweep,
            width,
            temporal,
            done: 0,
        })
    }

    /// Stores of one pass over the matrix.
    pub fn pass(&self) -> u64 {
        (self.matrix.rows() * (self.matrix.row_bytes() / self.width.bytes())) as u64
    }

    /// The matrix.
    pub fn into_matrix(self) -> Matrix<'m> {
        self.matrix
    }

    /// The next at most `most` stores that lie at a constant distance.
    fn straight(&self, most: u64) -> Straight {
        let width = self.width.bytes();
        let rows = self.matrix.rows();
        let pass = self.done / self.pass() + 1;
        let index = (self.done % self.pass()) as usize;
        let (place, stride, left) = match self.sweep {
            // Rows follow each other without a gap.
            Sweep::Row => (index * width, width, self.pass() as usize - index),
            Sweep::Column => {
                let (column, row) = (index / rows, index % rows);
                let place = row * self.matrix.row_bytes() + column * width;
                (place, self.matrix.row_bytes(), rows - row)
            }
        };
        Straight {
            place,
            stride,
            stores: most.min(left as u64),
            pass,
        }
    }

    fn stores(&self) -> asm::Stores {
        match (self.temporal, self.width) {
            (Temporal::Cached, Width::W4) => asm::linefill_store4,
            (Temporal::Cached, Width::W8) => asm::linefill_store8,
            (Temporal::Cached, Width::W16) => asm::linefill_store16,
            (Temporal::Cached, Width::W32(_)) => asm::linefill_store32,
            (Temporal::Cached, Width::W64(_)) => asm::linefill_store64,
            (Temporal::NonTemporal, Width::W4) => asm::linefill_stream4,
            (Temporal::NonTemporal, Width::W8) => asm::linefill_stream8,
            (Temporal::NonTemporal, Width::W16) => asm::linefill_stream16,
            (Temporal::NonTemporal, Width::W32(_)) => asm::linefill_stream32,
            (Temporal::NonTemporal, Width::W64(_)) => asm::linefill_stream64,
        }
    }
}

impl Kernel for Store<'_> {
    /// Returns the number of stores since the kernel was made. Non-temporal stores have left the
    /// core when it returns.
    fn run(&mut self, operations: u64) -> u64 {
        let stores = self.stores();
        let end = self.done + operations;
        while self.done < end {
            let run = self.straight(end - self.done);
            let at = self.matrix.bytes_mut()[run.place..].as_mut_ptr();
            // SAFETY: `straight` ends where the row-major matrix or the column ends, so all
            // stores lie in the matrix, which is borrowed mutably; it starts on a line and its
            // rows are a multiple of the width, so they are aligned; the width's token proves the
            // instruction; `sfence` follows.
            let behind = unsafe { stores(at, run.stride, run.stores, run.pass) };
            self.done += ((behind - at.addr()) / run.stride) as u64;
        }
        if self.temporal == Temporal::NonTemporal {
            sfence();
        }
        self.done
    }

    fn work(&self) -> Work {
        Work {
            stores: 1,
            bytes_written: self.width.bytes() as u32,
            ..Work::default()
        }
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) {
        let bytes = self.width.bytes() as u32;
        for _ in 0..operations {
            let place = self.straight(1).place;
            sink(match self.temporal {
                Temporal::Cached => Access::store(place, bytes),
                Temporal::NonTemporal => Access::non_temporal_store(place, bytes),
            });
            self.done += 1;
        }
    }
}
