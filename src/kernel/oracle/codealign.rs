//! Code at every offset of a line.

use super::check::{Built, Case, WithKernel, WithTwin};
use super::run::Oracle;
use crate::kernel::{CodeAlign, Placed, all};
use crate::mem::{LINE, Region};

struct CodeAlignCase {
    placed: Placed,
    offset: usize,
}

impl Case for CodeAlignCase {
    fn bytes(&self) -> usize {
        LINE
    }

    fn kernel(&self, _: Region<'_>, then: WithKernel<'_>) -> Built {
        then(&mut CodeAlign::new(self.placed, self.offset).ok()?);
        Some(())
    }

    fn twin(&self, _: Region<'_>, then: WithTwin<'_>) -> Built {
        then(&mut all::codealign::rounds);
        Some(())
    }
}

impl Oracle<'_, '_> {
    pub(super) fn codealigns(&mut self) {
        for placed in Placed::ALL {
            let name = match placed {
                Placed::Loop24 => "linefill_codealign_loop24",
                Placed::Loop48 => "linefill_codealign_loop48",
                Placed::Target => "linefill_codealign_target",
            };
            let case = |offset| CodeAlignCase { placed, offset };
            self.check(name, (0..LINE).map(case));
        }
    }
}
