//! Walks by loads of other widths.

use super::check::{Built, Case, WithKernel, WithTwin};
use super::ring::{RANDOM, RingCase, ring};
use super::run::Oracle;
use crate::cpu::Features;
use crate::kernel::{Straddle, Width, all};
use crate::mem::Region;
use crate::pattern::{Layout, Order};

struct StraddleCase {
    ring: RingCase,
    width: Width,
}

impl Case for StraddleCase {
    fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
        then(&mut Straddle::new(self.ring.build(memory)?, self.width).ok()?);
        Some(())
    }

    fn twin(&self, memory: Region<'_>, then: WithTwin<'_>) -> Built {
        let mut ring = self.ring.build(memory)?;
        then(&mut |operations| {
            all::straddle::straddle(&mut ring, operations);
            ring.offset(ring.cursor()) as u64
        });
        Some(())
    }
}

/// Elements of a line or more, at places that loads of every width straddle.
const RINGS: [RingCase; 5] = [
    ring(Layout::npad(7), 100, Order::Sequential),
    ring(Layout::npad(7), 1, RANDOM),
    ring(Layout::npad(7).spaced(128).skewed(61), 300, RANDOM),
    ring(Layout::npad(15).pointer_in_word(8), 300, RANDOM),
    ring(
        Layout::npad(7).one_a_page().skewed(4093),
        30,
        Order::Sequential,
    ),
];

impl Oracle<'_, '_> {
    pub(super) fn straddles(&mut self, features: Features) {
        for (bytes, name) in [
            (4, "linefill_straddle4"),
            (16, "linefill_straddle16"),
            (32, "linefill_straddle32"),
            (64, "linefill_straddle64"),
        ] {
            if let Some(width) = Width::of(bytes, features) {
                self.check(name, RINGS.map(|ring| StraddleCase { ring, width }));
            }
        }
    }
}
