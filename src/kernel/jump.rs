//! Sestoft's memory latency loop (note A.1): `k = a[k]`.

// Calls assembly with an array that the chain vouches for.
#![allow(unsafe_code)]

use super::x86_64::asm::jump as asm;
use super::{Access, Kernel, Work};
use crate::pattern::Chain;

/// A walk along an array of indices. An operation is one `k = a[k]`.
#[derive(Debug)]
pub struct Jump<'m> {
    chain: Chain<'m>,
    checked: bool,
}

impl<'m> Jump<'m> {
    /// A walk that begins at the chain's cursor and trusts its indices.
    pub fn new(chain: Chain<'m>) -> Self {
        Jump {
            chain,
            checked: false,
        }
    }

    /// The same with the index checked against the array's length at every step, as Java and safe
    /// Rust do.
    pub fn checked(self) -> Self {
        Jump {
            checked: true,
            ..self
        }
    }

    /// The chain, at the index where the walk stopped.
    pub fn into_chain(self) -> Chain<'m> {
        self.chain
    }
}

impl Kernel for Jump<'_> {
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
                asm::linefill_jump_checked(base, from, operations, slots.len() as u64)
            } else {
                asm::linefill_jump(base, from, operations)
            }
        };
        self.chain.set_cursor(stopped as u32);
        stopped
    }

    fn work(&self) -> Work {
        Work {
            loads: 1,
            bytes_read: 4,
            ..Work::default()
        }
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) {
        for _ in 0..operations {
            let at = self.chain.cursor() as usize;
            sink(Access::load(at * 4, 4));
            self.chain.set_cursor(self.chain.slots()[at]);
        }
    }
}
