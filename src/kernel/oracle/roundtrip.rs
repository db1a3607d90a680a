//! A token that a thread hands to itself. With others it takes threads.

use super::check::{Built, Case, WithKernel, WithTwin};
use super::run::Oracle;
use crate::kernel::{RoundTrip, RoundTripWay, all};
use crate::mem::Region;

struct RoundTripCase {
    word: usize,
    way: RoundTripWay,
}

impl Case for RoundTripCase {
    fn kernel(&self, mut memory: Region<'_>, then: WithKernel<'_>) -> Built {
        memory.set_word(8 * self.word, 0);
        then(&mut RoundTrip::new(
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
        then(&mut |operations| all::roundtrip::roundtrip(&mut memory, at, operations));
        Some(())
    }
}

impl Oracle<'_, '_> {
    pub(super) fn roundtrips(&mut self) {
        for (name, way) in [
            ("linefill_roundtrip_store", RoundTripWay::Store),
            ("linefill_roundtrip_compare", RoundTripWay::CompareExchange),
        ] {
            let case = |word| RoundTripCase { word, way };
            self.check(name, [0, 9, 511].map(case));
        }
    }
}
