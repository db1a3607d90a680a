//! Sestoft's memory latency loop (note A.1): `k = a[k]`.

// Calls assembly with an array that the chain vouches for.
#![allow(unsafe_code)]

use crate::kernel::{Access, Kernel, Work};
use crate::pattern::Chain;

/// A walk along an array of indices. An operation is one `k = a[k]`.
#[derive(Debug)]
pub struct IndexChase<'m> {
    chain: Chain<'m>,
    checked: bool,
}

impl<'m> IndexChase<'m> {
    /// A walk that begins at the chain's cursor and trusts its indices.
    pub fn new(chain: Chain<'m>) -> Self {
        IndexChase {
            chain,
            checked: false,
        }
    }

    /// The same with the index checked against the array's length at every step, as Java and safe
    /// Rust do.
    pub fn checked(self) -> Self {
        IndexChase {
            checked: true,
            ..self
        }
    }

    /// The chain, at the index where the walk stopped.
    pub fn into_chain(self) -> Chain<'m> {
        self.chain
    }
}

impl Kernel for IndexChase<'_> {
    /// Returns the index at which the walk stopped.
    fn run(&mut self, operations: u64) -> u64 {
        if operations == 0 {
            return u64::from(self.chain.cursor());
        }
        let slots = self.chain.slots();
        let base = slots.as_ptr();
        let from = u64::from(self.chain.cursor());
        // SAFETY: `base` points to the chain's slots, each of which holds an index inside them,
        // as does the cursor.
        let stopped = unsafe {
            if self.checked {
                linefill_jump_checked(base, from, operations, slots.len() as u64)
            } else {
                linefill_jump(base, from, operations)
            }
        };
        self.chain.set_cursor(stopped as u32);
        stopped
    }

    fn work(&self) -> Work {
        Work::default().load(1, 4)
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        for _ in 0..operations {
            let at = self.chain.cursor() as usize;
            sink(Access::load(at * 4, 4));
            self.chain.set_cursor(self.chain.slots()[at]);
        }
        self.chain.cursor().into()
    }
}

unsafe extern "sysv64" {
    /// `index = slots[index]`, `steps` times; returns the last index.
    ///
    /// # Safety
    /// `index` and all indices reached from it lie inside the slots; `steps` is not 0.
    pub fn linefill_jump(slots: *const u32, index: u64, steps: u64) -> u64;

    /// The same, each index compared with `len` before it is used.
    ///
    /// # Safety
    /// As for [`linefill_jump`]; an index of `len` or more ends in `ud2`.
    pub fn linefill_jump_checked(slots: *const u32, index: u64, steps: u64, len: u64) -> u64;
}

/// The patterns on which the kernels are checked against their model.
mod checks {
    use crate::kernel::IndexChase;
    use crate::kernel::verify::Oracle;
    use crate::pattern::{Chain, Fill};

    impl Oracle<'_, '_> {
        pub(crate) fn jumps(&mut self) {
            let chains = [
                (1, Fill::Sequential),
                (1000, Fill::Sequential),
                (1000, Fill::Stride(33)),
                (1000, Fill::RandomFunction { seed: 7 }),
                (1000, Fill::Permutation { seed: 8 }),
                (30_000, Fill::Cycle { seed: 9 }),
            ];
            self.check("linefill_jump", chains, |&(size, fill), memory, then| {
                then(&mut IndexChase::new(Chain::new(memory, size, fill).ok()?))
            });
            self.check(
                "linefill_jump_checked",
                chains,
                |&(size, fill), memory, then| {
                    then(&mut IndexChase::new(Chain::new(memory, size, fill).ok()?).checked())
                },
            );
        }
    }
}
