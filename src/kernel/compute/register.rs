//! Work that never leaves a register: the foot of the memory hierarchy.

// Calls assembly.
#![allow(unsafe_code)]

use crate::kernel::{Access, Kernel};

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

/// The patterns on which the kernels are checked against their model.
mod checks {
    use crate::kernel::Register;
    use crate::kernel::verify::Oracle;

    impl Oracle<'_, '_> {
        pub(crate) fn register(&mut self) {
            self.check("linefill_register", [()], |(), _, then| {
                then(&mut Register::default())
            });
        }
    }
}
