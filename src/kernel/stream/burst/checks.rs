//! Checks of the bursts.

use super::kernel;
use crate::cpu::Features;
use crate::kernel::verify::Oracle;
use crate::kernel::{Burst, Places, Transfer, Width};

/// Places that suit an aligned instruction.
const ALIGNED: [Places; 4] = [
    Places::fixed(0, 16),
    Places::sequential(16, 64, 64),
    Places::sequential(0, 4096, 8),
    Places::scattered(32, 64, 512),
];

/// Places across lines and pages, some of them overlapping.
const ANY: [Places; 5] = [
    Places::fixed(61, 0),
    Places::fixed(3, 7),
    Places::sequential(57, 64, 128),
    Places::sequential(4093, 4096, 16),
    Places::scattered(63, 128, 256),
];

impl Oracle<'_, '_> {
    pub(crate) fn bursts(&mut self, features: Features) {
        use Transfer::{Load, LoadAligned, Store, StoreAligned};
        let any = [Load, Store].map(|transfer| Width::BYTES.map(|bytes| (transfer, bytes)));
        let aligned = [(LoadAligned, 16), (StoreAligned, 16)];
        for (transfer, bytes) in any.into_iter().flatten().chain(aligned) {
            let Some(width) = Width::of(bytes, features) else {
                continue;
            };
            let any: &[Places] = match transfer {
                Load | Store => &ANY,
                LoadAligned | StoreAligned => &[],
            };
            let places = ALIGNED.into_iter().chain(any.iter().copied());
            let name = kernel(transfer, width).name;
            self.check(name, places, |&places, memory, then| {
                then(&mut Burst::new(memory, places, transfer, width).ok()?)
            });
        }
    }
}
