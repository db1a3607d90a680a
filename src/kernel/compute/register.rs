//! Work that never leaves a register: the foot of the memory hierarchy.

// Calls assembly.
#![allow(unsafe_code)]

use crate::kernel::{Access, Kernel, Work};

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

    fn work(&self) -> Work {
        Work::default()
    }

    fn trace(&mut self, operations: u64, _: &mut dyn FnMut(Access)) {
        if operations % 2 == 1 {
            self.value = !self.value;
        }
    }
}

unsafe extern "sysv64" {
    /// Inverts `value` `steps` times.
    ///
    /// # Safety
    /// `steps` is not 0.
    pub fn linefill_register(value: u64, steps: u64) -> u64;
}

/// The reference implementation.
pub(crate) mod reference {
    /// Inverts `value` `operations` times.
    pub fn register(value: u64, operations: u64) -> u64 {
        (0..operations).fold(value, |value, _| !value)
    }
}

/// The patterns on which the kernels are checked against the reference.
mod checks {
    use crate::kernel::Register;
    use crate::kernel::verify::check::{Built, Case, WithKernel, WithTwin};
    use crate::kernel::verify::run::Oracle;
    use crate::mem::Region;

    struct RegisterCase;

    impl Case for RegisterCase {
        fn kernel(&self, _: Region<'_>, then: WithKernel<'_>) -> Built {
            then(&mut Register::default());
            Some(())
        }

        fn twin(&self, _: Region<'_>, then: WithTwin<'_>) -> Built {
            let mut value = 0;
            then(&mut |operations| {
                value = super::reference::register(value, operations);
                value
            });
            Some(())
        }
    }

    impl Oracle<'_, '_> {
        pub(crate) fn register(&mut self) {
            self.check("linefill_register", [RegisterCase]);
        }
    }
}
