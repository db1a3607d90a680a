//! A byte written and a function called, in turn: code that changes while it runs, or does not.

// Writes through an address that is given, and calls what lies at another.
#![allow(unsafe_code)]

use crate::kernel::{Access, Function, Kernel, Work};

/// Stores a byte and calls a function, again and again. An operation is one of each.
///
/// What the store does to the function is the experiment: it may hit the function's own bytes,
/// its neighbours in the line or the page, or data far away.
#[derive(Debug)]
pub struct Patch<M> {
    /// Keeps both addresses valid.
    memory: M,
    target: fn(&M) -> *mut u8,
    function: fn(&M) -> Function,
    /// The byte that is stored next.
    next: u8,
}

impl<M> Patch<M> {
    /// A store to `target`, and a call of `function` with 0.
    ///
    /// # Safety
    /// For as long as `memory` lives, `target` returns the address of a byte that may be written
    /// at any time, whatever its value, and `function` a function that may be called before and
    /// after each such write.
    pub unsafe fn new(memory: M, target: fn(&M) -> *mut u8, function: fn(&M) -> Function) -> Self {
        Patch {
            memory,
            target,
            function,
            next: 0,
        }
    }
}

impl<M> Kernel for Patch<M> {
    /// Returns the sum of what the calls returned.
    fn run(&mut self, operations: u64) -> u64 {
        let target = (self.target)(&self.memory);
        let function = (self.function)(&self.memory);
        let mut sum = 0_u64;
        for _ in 0..operations {
            // SAFETY: `new`'s caller vouches for the byte and the function.
            sum = sum.wrapping_add(unsafe {
                target.write_volatile(self.next);
                function(0)
            });
            self.next = self.next.wrapping_add(1);
        }
        sum
    }

    fn work(&self) -> Work {
        Work::default().store(1, 1)
    }

    /// Reports the stores, to the place 0, and runs.
    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        (0..operations).for_each(|_| sink(Access::store(0, 1)));
        self.run(operations)
    }
}
