//! A token that a thread hands to itself. With others it takes threads.

use super::check::{Built, Case, WithKernel, WithTwin};
use super::run::Oracle;
use crate::kernel::{Handoff, HandoffWay, all};
use crate::mem::Region;

struct HandoffCase {
    word: usize,
    way: HandoffWay,
}

impl Case for HandoffCase {
    fn kernel(&self, mut memory: Region<'_>, then: WithKernel<'_>) -> Built {
        memory.set_word(8 * self.word, 0);
        then(&mut Handoff::new(
            memory.into_atomics(),
            self.word,
            0,
            1,
            self.way,
        )?);
        Some(())
    }

    fn twin(&self, mut memory: Region<'_>, then: WithTwin<'_>) -> Built {
        let at = 8 * self.word;
        memory.set_word(at, 0);
        then(&mut |operations| all::handoff::handoff(&mut memory, at, operations));
        Some(())
    }
}

impl Oracle<'_, '_> {
    pub(super) fn handoffs(&mut self) {
        for (name, way) in [
            ("linefill_handoff_store", HandoffWay::Store),
            ("linefill_handoff_compare", HandoffWay::CompareExchange),
        ] {
            let case = |word| HandoffCase { word, way };
            self.check(name, [0, 9, 511].map(case));
        }
    }
}
