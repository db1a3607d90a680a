//! Elements that are picked.

use super::check::{Built, Case, WithKernel, WithTwin};
use super::run::Oracle;
use crate::kernel::{Pick, all};
use crate::mem::Region;
use crate::pattern::{Order, Picks};

struct PickCase {
    element: usize,
    count: usize,
    order: Order,
}

impl PickCase {
    fn build<'m>(&self, memory: Region<'m>) -> Option<Picks<'m>> {
        Picks::new(memory, self.element, self.count, self.order).ok()
    }
}

impl Case for PickCase {
    fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
        then(&mut Pick::new(self.build(memory)?));
        Some(())
    }

    fn twin(&self, memory: Region<'_>, then: WithTwin<'_>) -> Built {
        let picks = self.build(memory)?;
        let mut done = 0;
        then(&mut |operations| {
            let sum = all::pick::pick(&picks, done, operations);
            done += operations;
            sum
        });
        Some(())
    }
}

impl Oracle<'_, '_> {
    pub(super) fn picks(&mut self) {
        let shapes = [(8, 1), (16, 7), (64, 300), (72, 300)];
        let orders = [Order::Sequential, Order::Random { seed: 9 }];
        let cases = shapes.into_iter().flat_map(|(element, count)| {
            orders.map(|order| PickCase {
                element,
                count,
                order,
            })
        });
        self.check("linefill_pick", cases);
    }
}
