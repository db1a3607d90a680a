//! Drepper's orders, and the sum of the unpaid ones.

use crate::experiment::machine::predict::{Basis, Flow, moved};
use crate::experiment::prelude::*;
use crate::kernel::Outstanding;
use crate::mem::Region;
use crate::pattern::{Arrangement, Orders};

/// Orders, and the sum of the unpaid ones. An operation is a batch of 16 orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OrdersSetup {
    /// Batches of orders.
    pub batches: usize,
    /// Their layout.
    pub arrangement: Arrangement,
    /// Decides the prices, and which are paid.
    pub seed: u64,
}

impl OrdersSetup {
    fn count(&self) -> usize {
        self.batches * Orders::BATCH
    }
}

impl Setup for OrdersSetup {
    fn bytes(&self) -> usize {
        self.arrangement.bytes(self.count())
    }

    fn prepare<'m>(
        &self,
        region: Region<'m>,
        context: &Context,
    ) -> Result<Workload<'m>, Untestable> {
        let orders = Orders::new(region, self.arrangement, self.count(), self.seed)?;
        let sum = Outstanding::new(orders, &context.features)?;
        let period = sum.pass();
        Ok(Workload::steady(sum, period))
    }

    /// The lower of two roofs: the arithmetic, which takes as long as in L1d, and the lines.
    fn predict(&self, parameters: &Parameters<'_>) -> Option<Forecast> {
        let vectors = self.arrangement == Arrangement::Apart;
        let arithmetic = parameters.calibration().orders(vectors)?;
        let flow = Flow {
            loaded: self.arrangement.bytes(Orders::BATCH),
            ..Flow::default()
        };
        let lines = moved(parameters, self.bytes(), flow, &ROOFS)?;
        let in_l1 = parameters.machine.ranges.l1.holds(self.bytes() as f64);
        Some(Forecast {
            own_quantity: in_l1,
            ..ROOFS.forecast(lines.cycles.max(arithmetic))
        })
    }
}

static ROOFS: Model = Model {
    name: "the lower of two roofs: the arithmetic as in L1d, or lines at the rate of a stream",
    basis: Basis::Calibration,
    bar: 0.25,
    leaves_out: "that a wait for a line delays its arithmetic, where both take about as long",
};
