//! Values that go through memory.

use super::check::{Built, Case, WithKernel, WithTwin};
use super::run::Oracle;
use crate::cpu::Features;
use crate::kernel::forward::{FIRST, ROUTES};
use crate::kernel::{Forward, Passing, Trip, all};
use crate::mem::Region;

struct ForwardCase {
    trip: Trip,
    store: usize,
    load: isize,
    features: Features,
}

impl Case for ForwardCase {
    fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
        let forward = Forward::new(memory, self.trip, self.store, self.load, self.features);
        then(&mut forward.ok()?);
        Some(())
    }

    fn twin(&self, mut memory: Region<'_>, then: WithTwin<'_>) -> Built {
        let mut value = FIRST;
        then(&mut |operations| {
            value = all::forward::forward(
                &mut memory,
                self.trip,
                self.store,
                self.load,
                value,
                operations,
            );
            value
        });
        Some(())
    }
}

impl Oracle<'_, '_> {
    pub(super) fn forwards(&mut self, features: Features) {
        for route in &ROUTES {
            let Trip { store, load, .. } = route.trip;
            let widest = store.max(load);
            if (widest == 64 && features.avx512().is_none())
                || (widest == 32 && features.avx2().is_none())
            {
                continue;
            }
            // The same place, one that shares a byte at either end, the upper part, none at all;
            // within a line, across two, and across two pages.
            let (store, load) = (store as isize, load as isize);
            let distances = [0, 1 - load, store - 1, store - load, 200];
            let apart: &[isize] = match route.trip.passing {
                Passing::Renamed => &distances[..1],
                _ => &distances,
            };
            let cases = [256, 256 + 63, 2 * 4096 - 1].into_iter().flat_map(|store| {
                apart.iter().map(move |&load| ForwardCase {
                    trip: route.trip,
                    store,
                    load,
                    features,
                })
            });
            self.check(route.name, cases);
        }
    }
}
