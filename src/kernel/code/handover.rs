//! A number from one core to another, found by executing code: as part of that code, or as data
//! that it reads (Drepper, section 3.4.1, on code that others modify).

// Calls code that another thread modifies.
#![allow(unsafe_code)]

use crate::kernel::{Access, Function, Kernel, Work};
use core::sync::atomic::{AtomicU32, Ordering};

/// Asks for a number, and calls a function until it returns that number. An operation is one
/// number.
#[derive(Debug)]
pub struct Handover<M> {
    /// Keeps the function executable, and whoever changes what it returns alive.
    memory: M,
    asked: fn(&M) -> &AtomicU32,
    function: fn(&M) -> Function,
    /// The last number.
    number: u32,
}

impl<M> Handover<M> {
    /// Numbers that are asked for by storing them in `asked`, and returned by `function`. The
    /// last one was 0.
    ///
    /// # Safety
    /// For as long as `memory` lives, `function` returns a function that may be called at any
    /// time, whatever another thread does meanwhile, and which returns what was asked for some
    /// time after it was.
    pub unsafe fn new(
        memory: M,
        asked: fn(&M) -> &AtomicU32,
        function: fn(&M) -> Function,
    ) -> Self {
        Handover {
            memory,
            asked,
            function,
            number: 0,
        }
    }
}

impl<M> Kernel for Handover<M> {
    /// Returns the last number that arrived.
    fn run(&mut self, operations: u64) -> u64 {
        let asked = (self.asked)(&self.memory);
        let function = (self.function)(&self.memory);
        for _ in 0..operations {
            self.number = self.number.wrapping_add(1);
            asked.store(self.number, Ordering::Release);
            // SAFETY: `new`'s caller vouches for the function.
            while unsafe { function(0) } != u64::from(self.number) {}
        }
        u64::from(self.number)
    }

    /// The store that asks. How often the function is called until it answers is not known.
    fn work(&self) -> Work {
        Work::default().store(1, 4)
    }

    /// Reports the stores that ask, to the place 0, and runs.
    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        (0..operations).for_each(|_| sink(Access::store(0, 4)));
        self.run(operations)
    }
}
