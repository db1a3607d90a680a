//! Stores over a matrix, by row or by column, through or past the cache (Drepper, section 6.1,
//! Figure 6.1 and Table 6.1).

// Calls kernels with addresses inside the matrix.
#![allow(unsafe_code)]

use crate::cpu::Features;
use crate::cpu::sfence;
use crate::kernel::intrinsics::store as intrinsics;
use crate::kernel::verify::Oracle;
use crate::kernel::{Access, Form, Kernel, NoIntrinsics, Width, Work};
use crate::pattern::Matrix;

/// The direction of the inner loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Sweep {
    /// Row by row: consecutive addresses.
    Row,
    /// Column by column: each store is one row after the one before.
    Column,
}

/// Whether a store goes through the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Temporal {
    /// Through the cache, which first fetches the line with an RFO.
    Cached,
    /// Past the cache, collected in write-combining buffers.
    NonTemporal,
}

/// Why a matrix cannot be swept with stores of some width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreError {
    /// A row is not a whole number of stores.
    PartOfRow {
        /// Bytes per row.
        row_bytes: usize,
        /// Bytes per store.
        width: usize,
    },
}

messages! { StoreError:
    StoreError::PartOfRow { row_bytes, width } => (
        "a row of {row_bytes} bytes is not a multiple of {width}; the next valid size is {}",
        row_bytes.next_multiple_of(*width)
    );
}

/// Sweeps of stores over a matrix, round and round. An operation is one store.
///
/// The stored value is the number of the pass, from 1 on, repeated every 8 bytes (4-byte stores hold
/// its low half). Each column is a separate call, which costs short columns time: half a cycle per store
/// with 16 rows on Zen 4.
#[derive(Debug)]
pub struct Store<'m> {
    matrix: Matrix<'m>,
    width: Width,
    temporal: Temporal,
    stores: Stores,
    lane: Lane,
    at: Position,
}

/// Stores at a constant distance: one column, or all rows, which are contiguous.
#[derive(Clone, Copy, Debug)]
struct Lane {
    /// Bytes from one store to the next.
    stride: usize,
    /// Stores per lane.
    stores: u64,
    /// Lanes per pass, each one store width after the one before.
    lanes: u64,
}

/// The position of the next store. Tracked rather than computed from `done`, because the divisions
/// would cost as much as a short column.
#[derive(Clone, Copy, Debug)]
struct Position {
    /// Stores since the kernel was created.
    done: u64,
    /// Stores done in this lane.
    store: u64,
    /// Lanes done in this pass.
    lane: u64,
    /// The pass, from 1.
    pass: u64,
}

impl<'m> Store<'m> {
    /// Creates a sweep that begins at the first element.
    ///
    /// # Errors
    /// If a row is not a whole number of stores, so that some stores would be misaligned.
    pub fn new(
        matrix: Matrix<'m>,
        sweep: Sweep,
        width: Width,
        temporal: Temporal,
    ) -> Result<Self, StoreError> {
        let row_bytes = matrix.row_bytes();
        if !row_bytes.is_multiple_of(width.bytes()) {
            return Err(StoreError::PartOfRow { row_bytes, width: width.bytes() });
        }
        let rows = matrix.rows() as u64;
        let columns = (row_bytes / width.bytes()) as u64;
        let lane = match sweep {
            Sweep::Row => Lane { stride: width.bytes(), stores: rows * columns, lanes: 1 },
            Sweep::Column => Lane { stride: row_bytes, stores: rows, lanes: columns },
        };
        Ok(Store {
            matrix,
            width,
            temporal,
            stores: assembled(temporal, width).call,
            lane,
            at: Position { done: 0, store: 0, lane: 0, pass: 1 },
        })
    }

    /// Returns the same sweep in another form.
    ///
    /// Both forms store at the same rate. On a Zen 5 a call of the compiled loop of 4- or 8-byte stores
    /// ends some 80 core cycles later: 2 to 4 % of a lap of 16 KiB in the L1d.
    ///
    /// # Errors
    /// If `form` is intrinsics, the stores are vectors, and the target is soft-float.
    pub fn by(mut self, form: Form) -> Result<Self, NoIntrinsics> {
        self.stores = match form {
            Form::Assembly => assembled(self.temporal, self.width).call,
            Form::Intrinsics => compiled(self.temporal, self.width).ok_or(NoIntrinsics)?,
        };
        Ok(self)
    }

    /// Stores per pass over the matrix.
    pub fn pass(&self) -> u64 {
        self.lane.stores * self.lane.lanes
    }

    /// Byte offset of the next store.
    fn place(&self) -> usize {
        self.at.lane as usize * self.width.bytes() + self.at.store as usize * self.lane.stride
    }

    /// Byte offset of the store with this number since the kernel was created.
    fn place_of(&self, number: u64) -> usize {
        let index = number % self.pass();
        let (lane, store) = (index / self.lane.stores, index % self.lane.stores);
        lane as usize * self.width.bytes() + store as usize * self.lane.stride
    }

    /// Advances by `stores` stores, at most to the end of the lane.
    fn advance(&mut self, stores: u64) {
        self.at.done += stores;
        self.at.store += stores;
        if self.at.store == self.lane.stores {
            self.at.store = 0;
            self.at.lane += 1;
        }
        if self.at.lane == self.lane.lanes {
            self.at.lane = 0;
            self.at.pass += 1;
        }
    }
}

/// Returns the kernel with intrinsics, if the target has it.
fn compiled(temporal: Temporal, width: Width) -> Option<Stores> {
    Some(match (temporal, width) {
        (Temporal::Cached, Width::W4) => intrinsics::store4,
        (Temporal::Cached, Width::W8) => intrinsics::store8,
        #[cfg(target_feature = "sse2")]
        (Temporal::Cached, Width::W16) => intrinsics::store16,
        #[cfg(target_feature = "sse2")]
        (Temporal::Cached, Width::W32(_)) => intrinsics::store32,
        #[cfg(target_feature = "sse2")]
        (Temporal::Cached, Width::W64(_)) => intrinsics::store64,
        (Temporal::NonTemporal, Width::W4) => intrinsics::stream4,
        (Temporal::NonTemporal, Width::W8) => intrinsics::stream8,
        #[cfg(target_feature = "sse2")]
        (Temporal::NonTemporal, Width::W16) => intrinsics::stream16,
        #[cfg(target_feature = "sse2")]
        (Temporal::NonTemporal, Width::W32(_)) => intrinsics::stream32,
        #[cfg(target_feature = "sse2")]
        (Temporal::NonTemporal, Width::W64(_)) => intrinsics::stream64,
        #[cfg(not(target_feature = "sse2"))]
        _ => return None,
    })
}

impl Kernel for Store<'_> {
    /// Returns the number of stores since the kernel was created. The last call's stores are counted by
    /// the address at which they ended. Non-temporal stores have left the core on return.
    fn run(&mut self, operations: u64) -> u64 {
        let stores = self.stores;
        let stride = self.lane.stride;
        let end = self.at.done + operations;
        let mut before = self.at.done;
        let mut bytes = 0;
        while self.at.done < end {
            before = self.at.done;
            let count = (end - before).min(self.lane.stores - self.at.store);
            let place = self.place();
            let first = self.matrix.bytes_mut()[place..].as_mut_ptr();
            // SAFETY: `count` stores from `place` on end with the lane, so all lie in the matrix,
            // which is borrowed mutably; it starts on a line and its rows are a multiple of the
            // width, so they are aligned; the width's token proves that the CPU has the instruction;
            // `sfence` follows.
            let behind = unsafe { stores(first, stride, count, self.at.pass) };
            bytes = behind - first.addr();
            self.advance(count);
        }
        if self.temporal == Temporal::NonTemporal {
            sfence();
        }
        before + (bytes / stride) as u64
    }

    fn work(&self) -> Work {
        Work::default().store(1, self.width.bytes() as u32)
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        let bytes = self.width.bytes();
        for _ in 0..operations {
            let place = self.place();
            debug_assert_eq!(place, self.place_of(self.at.done));
            sink(match self.temporal {
                Temporal::Cached => Access::store(place, bytes as u32),
                Temporal::NonTemporal => Access::non_temporal_store(place, bytes as u32),
            });
            let pass = self.at.pass;
            let (words, half) = self.matrix.bytes_mut()[place..place + bytes].as_chunks_mut::<8>();
            words.iter_mut().for_each(|word| *word = pass.to_le_bytes());
            if let Some(half) = half.first_chunk_mut() {
                *half = (pass as u32).to_le_bytes();
            }
            self.advance(1);
        }
        self.at.done
    }
}

family! {
    /// The function type of all stores: returns `at` advanced by all stores.
    ///
    /// # Safety
    /// All `stores` stores at `at`, `at + stride`, ... lie in memory valid for writes; `at` and
    /// `stride` are multiples of the width; `stores` is not 0; the CPU has the instruction.
    /// Non-temporal stores are followed by `sfence` before any code relies on them.
    pub type Stores =
        unsafe extern "sysv64" fn(at: *mut u8, stride: usize, stores: u64, value: u64) -> usize;

    /// Returns the kernel of `asm/stores/store.S`. Stores of 4 bytes write the low half of the value.
    fn assembled(temporal: Temporal, width: Width) {
        (Temporal::Cached, Width::W4) => linefill_store4,
        (Temporal::Cached, Width::W8) => linefill_store8,
        (Temporal::Cached, Width::W16) => linefill_store16,
        (Temporal::Cached, Width::W32(_)) => linefill_store32,
        (Temporal::Cached, Width::W64(_)) => linefill_store64,
        (Temporal::NonTemporal, Width::W4) => linefill_stream4,
        (Temporal::NonTemporal, Width::W8) => linefill_stream8,
        (Temporal::NonTemporal, Width::W16) => linefill_stream16,
        (Temporal::NonTemporal, Width::W32(_)) => linefill_stream32,
        (Temporal::NonTemporal, Width::W64(_)) => linefill_stream64,
    }
}

impl Oracle<'_, '_> {
    pub(crate) fn stores(&mut self, features: Features) {
        let widths = Width::BYTES.into_iter();
        for width in widths.filter_map(|bytes| Width::of(bytes, features)) {
            self.store(width, Temporal::Cached);
            self.store(width, Temporal::NonTemporal);
        }
    }

    fn store(&mut self, width: Width, temporal: Temporal) {
        let matrices = [(1, 1), (1, 40), (40, 1), (7, 3), (23, 61)];
        let forms = match width {
            Width::W4 | Width::W8 => &Form::ALL,
            _ => Form::on_vectors(),
        };
        let sweeps = [Sweep::Row, Sweep::Column];
        let cases = forms.iter().flat_map(|form| sweeps.map(|sweep| (form, sweep)));
        let cases = cases.flat_map(|case| matrices.map(|matrix| (case, matrix)));
        self.check(
            assembled(temporal, width).name,
            cases,
            |&((form, sweep), (rows, columns)), memory, then| {
                let matrix = Matrix::new(memory, rows, columns * width.bytes()).ok()?;
                let store = Store::new(matrix, sweep, width, temporal).ok()?;
                then(&mut store.by(*form).ok()?)
            },
        );
    }
}
