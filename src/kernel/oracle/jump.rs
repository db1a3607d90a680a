//! Jumps through an array.

use super::check::{Built, Case, WithKernel, WithTwin};
use super::run::Oracle;
use crate::kernel::{Jump, all};
use crate::mem::Region;
use crate::pattern::{Chain, Fill};

struct JumpCase {
    size: usize,
    fill: Fill,
    checked: bool,
}

impl Case for JumpCase {
    fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
        let jump = Jump::new(Chain::new(memory, self.size, self.fill).ok()?);
        then(&mut if self.checked { jump.checked() } else { jump });
        Some(())
    }

    fn twin(&self, memory: Region<'_>, then: WithTwin<'_>) -> Built {
        let mut chain = Chain::new(memory, self.size, self.fill).ok()?;
        then(&mut |operations| {
            all::jump::jump(&mut chain, operations);
            u64::from(chain.cursor())
        });
        Some(())
    }
}

impl Oracle<'_, '_> {
    pub(super) fn jumps(&mut self) {
        let chains = [
            (1, Fill::Sequential),
            (1000, Fill::Sequential),
            (1000, Fill::Stride(33)),
            (1000, Fill::RandomFunction { seed: 7 }),
            (1000, Fill::Permutation { seed: 8 }),
            (30_000, Fill::Cycle { seed: 9 }),
        ];
        for (name, checked) in [("linefill_jump", false), ("linefill_jump_checked", true)] {
            let case = |(size, fill)| JumpCase {
                size,
                fill,
                checked,
            };
            self.check(name, chains.map(case));
        }
    }
}
