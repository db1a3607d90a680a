//! Sums over orders.

use crate::experiment::predict::{Flow, moved};
use crate::experiment::{Context, Forecast, Model, Parameters, Setup, Subject, Untestable};
use crate::kernel::Outstanding;
use crate::mem::Region;
use crate::pattern::{Arrangement, Orders};

/// Orders, and the sum of what is not paid. An operation is a batch of 16 orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OrdersSetup {
    /// Batches of orders.
    pub batches: usize,
    /// How they lie.
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
    ) -> Result<Subject<'m>, Untestable> {
        let orders = Orders::new(region, self.arrangement, self.count(), self.seed)
            .map_err(Untestable::because)?;
        let sum = Outstanding::new(orders, &context.features).map_err(Untestable::because)?;
        let lap = sum.pass();
        Ok(Subject::Steady {
            kernel: Box::new(sum),
            lap,
        })
    }

    fn predict(&self, parameters: &Parameters<'_>) -> Option<Forecast> {
        let flow = Flow {
            loaded: self.arrangement.bytes(Orders::BATCH),
            ..Flow::default()
        };
        Some(Forecast {
            cycles: moved(parameters, self.bytes(), flow)?,
            model: &SUMS,
        })
    }
}

static SUMS: Model = Model {
    name: "lines at the rate of a stream",
    bar: 0.25,
    leaves_out: "the arithmetic, which takes longer than the lines do as long as those come from a cache",
};
