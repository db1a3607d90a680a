//! Stores over a matrix, by row or by column, through the cache or past it (Drepper, section 6.1,
//! Figure 6.1 and Table 6.1).

// Calls kernels with addresses inside the matrix.
#![allow(unsafe_code)]

use crate::cpu::sfence;
use crate::kernel::intrinsics::store as intrinsics;
use crate::kernel::{Access, Assembled, Form, Kernel, NoIntrinsics, Width, Work};
use crate::pattern::Matrix;

/// The direction of the inner loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Sweep {
    /// Row after row: addresses follow each other.
    Row,
    /// Column after column: each store is a row further than the one before.
    Column,
}

/// Whether a store goes through the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Temporal {
    /// Through the cache, which first fetches the line for ownership.
    Cached,
    /// Past the cache, collected in write-combining buffers.
    NonTemporal,
}

/// Why a matrix cannot be swept by stores of some width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreError {
    /// A row is no whole number of stores.
    PartOfRow {
        /// Bytes of a row.
        row_bytes: usize,
        /// Bytes of a store.
        width: usize,
    },
}

messages! { StoreError:
    StoreError::PartOfRow { row_bytes, width } => (
        "rows of {row_bytes} bytes are no whole number of {width}-byte stores; the next such row has {} bytes",
        row_bytes.next_multiple_of(*width)
    );
}

/// A sweep of stores over a matrix, again and again. An operation is one store.
///
/// What is stored is the number of the pass, from 1 on, repeated every 8 bytes (4-byte stores
/// hold its low half). Each column is a call of its own, which a column of few rows feels: half a
/// cycle a store at 16 rows on Zen 4.
#[derive(Debug)]
pub struct Store<'m> {
    matrix: Matrix<'m>,
    width: Width,
    temporal: Temporal,
    stores: Stores,
    lane: Lane,
    at: Position,
}

/// Stores at a constant distance: a column, or all rows, which follow each other without a gap.
#[derive(Clone, Copy, Debug)]
struct Lane {
    /// Bytes from a store to the next.
    stride: usize,
    /// Stores of a lane.
    stores: u64,
    /// Lanes of a pass, each a width further than the one before.
    lanes: u64,
}

/// Where the next store goes. Kept instead of worked out from `done`, because divisions would
/// cost as much as a short column.
#[derive(Clone, Copy, Debug)]
struct Position {
    /// Stores since the kernel was made.
    done: u64,
    /// Stores done in this lane.
    store: u64,
    /// Lanes done in this pass.
    lane: u64,
    /// The pass, from 1.
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
        let rows = matrix.rows() as u64;
        let columns = (row_bytes / width.bytes()) as u64;
        let lane = match sweep {
            Sweep::Row => Lane {
                stride: width.bytes(),
                stores: rows * columns,
                lanes: 1,
            },
            Sweep::Column => Lane {
                stride: row_bytes,
                stores: rows,
                lanes: columns,
            },
        };
        Ok(Store {
            matrix,
            width,
            temporal,
            stores: assembled(temporal, width).call,
            lane,
            at: Position {
                done: 0,
                store: 0,
                lane: 0,
                pass: 1,
            },
        })
    }

    /// The same sweep in another form.
    ///
    /// Both store at the same rate. On a Zen 5 a call of the compiled loop of 4- or 8-byte stores
    /// ends some 80 core cycles later, which a lap of 16 KiB in the L1d shows as 2 to 4 %.
    ///
    /// # Errors
    /// If the stores are by intrinsics on vectors, and the target is soft-float.
    pub fn by(mut self, form: Form) -> Result<Self, NoIntrinsics> {
        self.stores = match form {
            Form::Assembly => assembled(self.temporal, self.width).call,
            Form::Intrinsics => compiled(self.temporal, self.width).ok_or(NoIntrinsics)?,
        };
        Ok(self)
    }

    /// Stores of one pass over the matrix.
    pub fn pass(&self) -> u64 {
        self.lane.stores * self.lane.lanes
    }

    /// The matrix.
    pub fn into_matrix(self) -> Matrix<'m> {
        self.matrix
    }

    /// Byte offset of the next store.
    fn place(&self) -> usize {
        self.at.lane as usize * self.width.bytes() + self.at.store as usize * self.lane.stride
    }

    /// Byte offset of store `number` since the kernel was made.
    fn place_of(&self, number: u64) -> usize {
        let index = number % self.pass();
        let (lane, store) = (index / self.lane.stores, index % self.lane.stores);
        lane as usize * self.width.bytes() + store as usize * self.lane.stride
    }

    /// Goes `stores` stores on, at most to the end of the lane.
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

/// The kernel of `asm/store.S`.
fn assembled(temporal: Temporal, width: Width) -> Assembled<Stores> {
    assembled!(match (temporal, width) {
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
    })
}

/// The kernel by intrinsics, if the target has it.
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
    /// Returns the number of stores since the kernel was made, the last of them counted by the
    /// address at which they ended. Non-temporal stores have left the core when it returns.
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
            // width, so they are aligned; the width's token proves the instruction; `sfence`
            // follows.
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
    /// The shape of all stores.
    ///
    /// Returns `at` advanced by all stores.
    ///
    /// # Safety
    /// All `stores` stores at `at`, `at + stride`, ... lie in memory valid for writes; `at` and
    /// `stride` are multiples of the width; `stores` is not 0; the CPU has the instruction.
    /// Non-temporal stores are followed by `sfence` before anybody relies on them.
    pub type Stores =
        unsafe extern "sysv64" fn(at: *mut u8, stride: usize, stores: u64, value: u64) -> usize;

    /// `mov`, 4 bytes: the low half of `value`.
    linefill_store4
    /// `mov`, 8 bytes.
    linefill_store8
    /// `movdqa`, 16 bytes.
    linefill_store16
    /// `vmovdqa`, 32 bytes: needs AVX2.
    linefill_store32
    /// `vmovdqa64`, 64 bytes: needs AVX-512.
    linefill_store64
    /// `movnti`, 4 bytes: the low half of `value`.
    linefill_stream4
    /// `movnti`, 8 bytes.
    linefill_stream8
    /// `movntdq`, 16 bytes.
    linefill_stream16
    /// `vmovntdq`, 32 bytes: needs AVX2.
    linefill_stream32
    /// `vmovntdq`, 64 bytes: needs AVX-512.
    linefill_stream64
}

/// The patterns on which the kernels are checked against their model.
mod checks {
    use super::assembled;
    use crate::cpu::Features;
    use crate::kernel::verify::Oracle;
    use crate::kernel::{Form, Store, Sweep, Temporal, Width};
    use crate::pattern::Matrix;

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
            let cases = forms
                .iter()
                .flat_map(|form| sweeps.map(|sweep| (form, sweep)));
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
}
