//! Chases by addressing mode.

use super::check::{Built, Case, WithKernel, WithTwin};
use super::ring::{RANDOM, RingCase, ring};
use super::run::Oracle;
use crate::cpu::Features;
use crate::kernel::{Chase, Mode, all};
use crate::mem::Region;
use crate::pattern::{Layout, Links, Order};

struct ChaseCase {
    ring: RingCase,
    mode: Mode,
    features: Features,
}

impl Case for ChaseCase {
    fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
        let ring = self.ring.build(memory)?;
        then(&mut Chase::new(ring, self.mode, &self.features).ok()?);
        Some(())
    }

    fn twin(&self, memory: Region<'_>, then: WithTwin<'_>) -> Built {
        let mut links = Links::new(self.ring.build(memory)?, self.mode.link()).ok()?;
        then(&mut |operations| all::chase::chase(&mut links, operations));
        Some(())
    }
}

impl Oracle<'_, '_> {
    pub(super) fn chases(&mut self, features: Features) {
        // As many lines as 2-byte offsets reach, one, and some at a distance.
        let rings = [
            ring(Layout::npad(7), 512, RANDOM),
            ring(Layout::npad(7), 1, Order::Sequential),
            ring(Layout::npad(7).spaced(192), 100, RANDOM),
        ];
        for mode in Mode::ALL {
            let missing = match mode {
                Mode::Ymm32 => features.avx2().is_none(),
                Mode::Zmm64 => features.avx512().is_none(),
                _ => false,
            };
            if missing {
                continue;
            }
            let case = |ring| ChaseCase {
                ring,
                mode,
                features,
            };
            self.check(symbol(mode), rings.map(case));
        }
    }
}

const fn symbol(mode: Mode) -> &'static str {
    match mode {
        Mode::Base => "linefill_chase_base",
        Mode::Disp8 => "linefill_chase_disp8",
        Mode::Disp32 => "linefill_chase_disp32",
        Mode::Index => "linefill_chase_index",
        Mode::Scaled => "linefill_chase_scaled",
        Mode::Load32 => "linefill_chase_load32",
        Mode::Movsxd => "linefill_chase_movsxd",
        Mode::Movzx16 => "linefill_chase_movzx16",
        Mode::Movsx16 => "linefill_chase_movsx16",
        Mode::Xmm8 => "linefill_chase_xmm8",
        Mode::Xmm16 => "linefill_chase_xmm16",
        Mode::Ymm32 => "linefill_chase_ymm32",
        Mode::Zmm64 => "linefill_chase_zmm64",
    }
}
