//! Sums over orders.

use super::check::{Built, Case, WithKernel, WithTwin};
use super::run::Oracle;
use crate::cpu::Features;
use crate::kernel::{Outstanding, all};
use crate::mem::Region;
use crate::pattern::{Arrangement, Orders};

struct OrdersCase {
    arrangement: Arrangement,
    count: usize,
    features: Features,
}

impl OrdersCase {
    fn build<'m>(&self, memory: Region<'m>) -> Option<Orders<'m>> {
        Orders::new(memory, self.arrangement, self.count, 11).ok()
    }
}

impl Case for OrdersCase {
    fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
        then(&mut Outstanding::new(self.build(memory)?, &self.features).ok()?);
        Some(())
    }

    fn twin(&self, memory: Region<'_>, then: WithTwin<'_>) -> Built {
        let orders = self.build(memory)?;
        let mut done = 0;
        then(&mut |operations| {
            let cents = all::orders::outstanding(&orders, done, operations);
            done += operations;
            cents
        });
        Some(())
    }
}

impl Oracle<'_, '_> {
    pub(super) fn orders(&mut self, features: Features) {
        for (name, arrangement) in [
            ("linefill_orders_whole", Arrangement::Whole),
            ("linefill_orders_split", Arrangement::Split),
            ("linefill_orders_apart", Arrangement::Apart),
        ] {
            if arrangement == Arrangement::Apart && features.avx2().is_none() {
                continue;
            }
            // One batch, a few, and a number that is no power of two.
            let cases = [16, 64, 1008].map(|count| OrdersCase {
                arrangement,
                count,
                features,
            });
            self.check(name, cases);
        }
    }
}
