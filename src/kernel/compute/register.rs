//! Work in registers only, the lowest level of the memory hierarchy: integer instructions, and additions of
//! doubles, each of which waits for the one before.

// Calls assembly.
#![allow(unsafe_code)]

use crate::kernel::verify::Oracle;
use crate::kernel::{Access, Kernel};

/// A chain of dependent one-cycle instructions. An operation is one instruction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Register {
    value: u64,
}

impl Kernel for Register {
    /// Returns the value, which each operation inverts.
    fn run(&mut self, operations: u64) -> u64 {
        if operations > 0 {
            // SAFETY: there is at least one step.
            self.value = unsafe { linefill_register(self.value, operations) };
        }
        self.value
    }

    fn trace(&mut self, operations: u64, _: &mut dyn FnMut(Access)) -> u64 {
        if operations % 2 == 1 {
            self.value = !self.value;
        }
        self.value
    }
}

unsafe extern "sysv64" {
    /// Inverts `value` `steps` times.
    ///
    /// # Safety
    /// `steps` is not 0.
    pub fn linefill_register(value: u64, steps: u64) -> u64;
}

/// A chain of dependent additions of two `f64`. An operation is one addition, of 1.
#[derive(Clone, Copy, Debug, Default)]
pub struct Addition {
    /// The bits of the sum.
    sum: u64,
}

impl Kernel for Addition {
    /// Returns the bits of the sum.
    fn run(&mut self, operations: u64) -> u64 {
        if operations > 0 {
            // SAFETY: there is at least one addition.
            self.sum = unsafe { linefill_addition(self.sum, operations) };
        }
        self.sum
    }

    fn trace(&mut self, operations: u64, _: &mut dyn FnMut(Access)) -> u64 {
        for _ in 0..operations {
            self.sum = (f64::from_bits(self.sum) + 1.0).to_bits();
        }
        self.sum
    }
}

unsafe extern "sysv64" {
    /// Adds 1 to the double with the bits `sum`, `additions` times; returns the bits of the result.
    ///
    /// # Safety
    /// `additions` is not 0.
    pub fn linefill_addition(sum: u64, additions: u64) -> u64;
}

impl Oracle<'_, '_> {
    pub(crate) fn register(&mut self) {
        self.check("linefill_register", [()], |(), _, then| then(&mut Register::default()));
    }

    pub(crate) fn addition(&mut self) {
        self.check("linefill_addition", [()], |(), _, then| then(&mut Addition::default()));
    }
}
