//! Misses in flight: Startin's shuffles and parallel chains.

use crate::experiment::machine::predict::{Places, in_flight, random};
use crate::experiment::prelude::*;
use crate::kernel::{Chains, Op, Passes, Shuffle};
use crate::pattern::{Deck, Indices};

pub mod lanes;
pub mod mlp;
pub mod perfasm;
pub mod shuffle;

families![shuffle, mlp, lanes, eventlist in perfasm::EVENT_LIST, perfasm,];

/// 32-bit integers in a line.
const A_LINE: usize = LINE / size_of::<u32>();

/// Set-up of a shuffle of an array. An operation is an exchange, or a whole pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ShuffleSetup {
    /// Number of integers in the array.
    pub count: usize,
    /// Where the indices come from.
    pub indices: Indices,
    /// Indices per stage: a parameter of the post that the simple shuffle ignores.
    pub stage: usize,
    /// Whether indices are drawn and buffered a stage at a time.
    pub buffered: bool,
    /// Whether an operation is a pass over the array.
    pub whole: bool,
    /// How the code that yields an index is reached.
    pub op: Op,
    pub seed: u64,
}

impl Setup for ShuffleSetup {
    fn bytes(&self) -> usize {
        Deck::span(self.count, self.indices)
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Testable<Workload<'m>> {
        let deck = Deck::new(region, self.count, self.indices, self.seed)?;
        let mut shuffle = Shuffle::new(deck).with_op(self.op);
        if self.buffered {
            shuffle = shuffle.staged(self.stage)?;
        }
        if self.whole {
            let passes = Passes::new(shuffle)?;
            return Ok(Workload::steady(passes, 1));
        }
        Ok(Workload::steady(shuffle, period(self.count)))
    }
}

/// Set-up of a shuffle by chains of dependent exchanges. An operation is an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChainsSetup {
    /// Number of integers in the array.
    pub count: usize,
    /// Number of chains, which are independent of each other: 1, 2, 4 or 8.
    pub chains: u32,
    pub seed: u64,
}

impl Setup for ChainsSetup {
    fn bytes(&self) -> usize {
        Deck::span(self.count, Indices::Precomputed)
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Testable<Workload<'m>> {
        let deck = Deck::new(region, self.count, Indices::Precomputed, self.seed)?;
        let chains = Chains::new(deck, self.chains)?;
        Ok(Workload::steady(chains, period(self.count)))
    }

    fn predict(&self, parameters: &Parameters<'_>) -> Option<Forecast> {
        let places = Places { count: self.count, stride: size_of::<u32>(), rotating: false };
        let step = random(parameters, places, None)?;
        let in_flight = in_flight(parameters, self.chains as usize)?;
        Some(step.then(step.cycles / in_flight, &CHAINS))
    }
}

/// Returns the exchanges after which the content of the caches is steady: the number of lines in
/// the array. A pass has sixteen times as many, and continues where the warm-up stopped.
fn period(count: usize) -> u64 {
    (count / A_LINE) as u64
}

static CHAINS: Model = Model {
    name: "a random step over the number of chains",
    basis: Basis::Published,
    bar: 0.25,
    leaves_out: "the instructions of an exchange, and memory that is slower for a single chain",
};
