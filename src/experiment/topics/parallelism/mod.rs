//! Misses in flight: Startin's shuffles and parallel chains.

pub mod lanes;
pub mod mlp;
pub mod perfasm;
pub mod shuffle;
pub mod shuffled;

families![shuffle, mlp, lanes, eventlist in perfasm::EVENT_LIST, perfasm,];
