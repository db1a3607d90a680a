//! Stores with aliases.

use super::check::{Built, Case, WithKernel, WithTwin};
use super::run::Oracle;
use crate::kernel::{Alias, all};
use crate::mem::Region;

struct AliasCase {
    store: usize,
    load: usize,
}

impl Case for AliasCase {
    fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
        then(&mut Alias::new(memory, self.store, self.load).ok()?);
        Some(())
    }

    fn twin(&self, mut memory: Region<'_>, then: WithTwin<'_>) -> Built {
        let own = (memory.address() + self.load) as u64;
        memory.set_word(self.load, own);
        then(&mut |operations| all::alias::alias(&mut memory, self.store, self.load, operations));
        Some(())
    }
}

impl Oracle<'_, '_> {
    pub(super) fn aliases(&mut self) {
        let places = [(0, 4096), (4096, 0), (64, 72), (72, 64), (4099, 8195)];
        let case = |(store, load)| AliasCase { store, load };
        self.check("linefill_alias", places.map(case));
    }
}
