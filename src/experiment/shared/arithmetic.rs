//! Chains of dependent instructions, and arithmetic on few bytes.

use crate::experiment::machine::predict::{Basis, Flow, moved};
use crate::experiment::prelude::*;
use crate::kernel::{Addition, Outstanding, Register, StoreBufferFill};
use crate::pattern::{Arrangement, Orders};

/// A chain of dependent one-cycle instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RegisterSetup;

impl Setup for RegisterSetup {
    fn prepare<'m>(&self, _: Region<'m>, _: &Context) -> Testable<Workload<'m>> {
        Ok(Workload::steady(Register::default(), 0))
    }
}

/// A chain of additions of two `f64`. One operation is one addition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AdditionSetup;

impl Setup for AdditionSetup {
    fn prepare<'m>(&self, _: Region<'m>, _: &Context) -> Testable<Workload<'m>> {
        Ok(Workload::steady(Addition::default(), 0))
    }
}

/// Rounds of a chain of divisions followed by stores. One operation is one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PendingSetup {
    /// Stores per round.
    pub stores: u32,
}

impl Setup for PendingSetup {
    fn bytes(&self) -> usize {
        LINE
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Testable<Workload<'m>> {
        Ok(Workload::steady(StoreBufferFill::new(region, self.stores)?, 1))
    }
}

/// Orders, and the sum of the unpaid orders. One operation is a batch of 16 orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OrdersSetup {
    pub batches: usize,
    pub arrangement: Arrangement,
    /// Seed for the prices, and for which orders are paid.
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

    fn prepare<'m>(&self, region: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        let orders = Orders::new(region, self.arrangement, self.count(), self.seed)?;
        let sum = Outstanding::new(orders, &context.features)?;
        let period = sum.pass();
        Ok(Workload::steady(sum, period))
    }

    /// Predicts the lower of two roofs: the arithmetic, which takes as long as in L1d, and the lines.
    fn predict(&self, parameters: &Parameters<'_>) -> Option<Forecast> {
        let arithmetic = parameters.calibration().orders(self.arrangement == Arrangement::Apart)?;
        let flow = Flow { loaded: self.arrangement.bytes(Orders::BATCH), ..Flow::default() };
        let lines = moved(parameters, self.bytes(), flow, &ROOFS)?;
        let in_l1 = parameters.machine.ranges.l1.holds(self.bytes() as f64);
        Some(Forecast { own_quantity: in_l1, ..ROOFS.forecast(lines.cycles.max(arithmetic)) })
    }
}

static ROOFS: Model = Model {
    name: "the lower of two roofs: the arithmetic as in L1d, or lines at the rate of a stream",
    basis: Basis::Calibration,
    bar: 0.25,
    leaves_out: "that a wait for a line delays its arithmetic, where both take about as long",
};
