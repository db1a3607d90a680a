//! Two words of an element.

use super::check::{Built, Case, WithKernel, WithTwin};
use super::ring::{PADDED, RingCase};
use super::run::Oracle;
use crate::kernel::{Pair, all};
use crate::mem::Region;

struct PairCase {
    ring: RingCase,
    words: [usize; 2],
}

impl Case for PairCase {
    fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
        then(&mut Pair::new(self.ring.build(memory)?, self.words).ok()?);
        Some(())
    }

    fn twin(&self, memory: Region<'_>, then: WithTwin<'_>) -> Built {
        let mut ring = self.ring.build(memory)?;
        then(&mut |operations| all::pair::pair(&mut ring, self.words, operations));
        Some(())
    }
}

impl Oracle<'_, '_> {
    pub(super) fn pairs(&mut self) {
        let cases = PADDED.into_iter().flat_map(|ring| {
            let last = ring.layout.padding();
            let words = [[0, last], [last, 1], [last, last]];
            words.map(|words| PairCase { ring, words })
        });
        self.check("linefill_pair", cases);
    }
}
