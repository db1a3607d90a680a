//! Work that never leaves a register: the foot of the memory hierarchy.

// Calls assembly.
#![allow(unsafe_code)]

use super::x86_64::asm::register as asm;
use super::{Access, Kernel, Work};

/// A chain of dependent one-cycle instructions. An operation is one of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Register {
    value: u64,
}

impl Kernel for Register {
    /// Returns the value, inverted once an operation.
    fn run(&mut self, operations: u64) -> u64 {
        if operations > 0 {
            // SAFETY: there is at least one step.
            self.value = unsafe { asm::linefill_register(self.value, operations) };
        }
        self.value
    }

    fn work(&self) -> Work {
        Work::default()
    }

    fn trace(&mut self, operations: u64, _: &mut dyn FnMut(Access)) {
        if operations % 2 == 1 {
            self.value = !self.value;
        }
    }
}
