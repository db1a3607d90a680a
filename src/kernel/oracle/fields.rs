//! Fields of elements.

use super::check::{Built, Case, WithKernel, WithTwin};
use super::ring::{RingCase, lines};
use super::run::Oracle;
use crate::kernel::{Direction, Fields, all};
use crate::mem::Region;

struct FieldsCase {
    ring: RingCase,
    direction: Direction,
}

impl Case for FieldsCase {
    fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
        then(&mut Fields::new(self.ring.build(memory)?, self.direction).ok()?);
        Some(())
    }

    fn twin(&self, memory: Region<'_>, then: WithTwin<'_>) -> Built {
        let mut ring = self.ring.build(memory)?;
        then(&mut |operations| all::fields::fields(&mut ring, operations));
        Some(())
    }
}

impl Oracle<'_, '_> {
    pub(super) fn fields(&mut self) {
        use Direction::{Ascending, Descending};
        for (name, word, direction) in [
            ("linefill_fields_first_ascending", 0, Ascending),
            ("linefill_fields_first_descending", 0, Descending),
            ("linefill_fields_last_ascending", 7, Ascending),
            ("linefill_fields_last_descending", 7, Descending),
        ] {
            let case = |ring| FieldsCase { ring, direction };
            self.check(name, lines(word).map(case));
        }
    }
}
