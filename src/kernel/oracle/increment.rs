//! Increments, alone. What threads make of each other's is for those who have threads.

use super::check::{Built, Case, WithKernel, WithTwin};
use super::run::Oracle;
use crate::kernel::{Increment, IncrementWay, all};
use crate::mem::Region;

struct IncrementCase {
    index: usize,
    way: IncrementWay,
}

impl Case for IncrementCase {
    fn kernel(&self, mut memory: Region<'_>, then: WithKernel<'_>) -> Built {
        let IncrementCase { index, way } = *self;
        if way == IncrementWay::SpinLock {
            memory.set_word(8 * index, 0);
        }
        then(&mut Increment::new(memory.into_atomics(), index, way)?);
        Some(())
    }

    fn twin(&self, mut memory: Region<'_>, then: WithTwin<'_>) -> Built {
        let at = 8 * self.index;
        if self.way == IncrementWay::SpinLock {
            memory.set_word(at, 0);
            then(&mut |operations| all::increment::spin(&mut memory, at, operations));
        } else {
            then(&mut |operations| all::increment::increment(&mut memory, at, operations));
        }
        Some(())
    }
}

impl Oracle<'_, '_> {
    pub(super) fn increments(&mut self) {
        for (name, way) in [
            ("linefill_increment_plain", IncrementWay::Plain),
            ("linefill_increment_compare", IncrementWay::CompareExchange),
            ("linefill_increment_spin", IncrementWay::SpinLock),
        ] {
            let case = |index| IncrementCase { index, way };
            self.check(name, [0, 7, 8, 515].map(case));
        }
    }
}
