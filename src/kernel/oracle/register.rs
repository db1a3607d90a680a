//! The chain in a register.

use super::check::{Built, Case, WithKernel, WithTwin};
use super::run::Oracle;
use crate::kernel::{Register, all};
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
            value = all::register::register(value, operations);
            value
        });
        Some(())
    }
}

impl Oracle<'_, '_> {
    pub(super) fn register(&mut self) {
        self.check("linefill_register", [RegisterCase]);
    }
}
