//! Bursts of accesses.

use crate::cpu::Features;
use crate::kernel::verify::Oracle;
use crate::kernel::{Burst, Places, Transfer, Width};

/// Places that an aligned instruction may go to.
const ALIGNED: [Places; 4] = [
    Places::fixed(0, 16),
    Places::sequential(16, 64, 64),
    Places::sequential(0, 4096, 8),
    Places::scattered(32, 64, 512),
];

/// Places across lines and pages, and some that overlap.
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
        for (bytes, name, transfer) in [
            (4, "linefill_burst_load4", Load),
            (8, "linefill_burst_load8", Load),
            (16, "linefill_burst_load16", Load),
            (16, "linefill_burst_load16_aligned", LoadAligned),
            (32, "linefill_burst_load32", Load),
            (64, "linefill_burst_load64", Load),
            (4, "linefill_burst_store4", Store),
            (8, "linefill_burst_store8", Store),
            (16, "linefill_burst_store16", Store),
            (16, "linefill_burst_store16_aligned", StoreAligned),
            (32, "linefill_burst_store32", Store),
            (64, "linefill_burst_store64", Store),
        ] {
            let Some(width) = Width::of(bytes, features) else {
                continue;
            };
            let any: &[Places] = match transfer {
                Load | Store => &ANY,
                LoadAligned | StoreAligned => &[],
            };
            let places = ALIGNED.into_iter().chain(any.iter().copied());
            self.check(name, places, |&places, memory, then| {
                then(&mut Burst::new(memory, places, transfer, width).ok()?)
            });
        }
    }
}
