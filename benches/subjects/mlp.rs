//! Misses in flight: what a shuffle gains by drawing its indices in stages, and how many interleaved walks
//! pay off.

use crate::common::cases::Bench;

const LOOKED_UP: &str = "shuffle, index looked up";
const DRAWN: &str = "shuffle, index drawn";
const BUFFERED: &str = "shuffleBuffered, index drawn";
const CHAINS: &str = "exchanges in n chains";
const LANES: &str = "a step of one of n walks";

pub fn main(bench: &mut Bench) {
    let shuffles = bench.cases("A3");
    let looked_up = bench.time(&shuffles, LOOKED_UP, 64.0);
    let drawn = bench.time(&shuffles, DRAWN, 64.0);
    bench.ratio("exchange, index drawn over looked up", &drawn, &looked_up);
    let mut longest = None;
    for stage in [8.0, 16.0, 32.0, 64.0] {
        let staged = bench.time(&shuffles, BUFFERED, stage);
        let what = format!("exchange, simple over stages of {stage}");
        bench.ratio(&what, &drawn, &staged);
        longest = Some(staged);
    }

    let chained = bench.cases("A7");
    let alone = bench.time(&chained, CHAINS, 1.0);
    let four = bench.time(&chained, CHAINS, 4.0);
    bench.ratio("exchange, one chain over four", &alone, &four);
    // A chain keeps one miss in flight, so four chains keep four (Little's law).
    bench.ratio("a fourth of the misses in flight, simple shuffle", &four, &drawn);
    if let Some(staged) = longest {
        let what = "a fourth of the misses in flight, stages of 64";
        bench.ratio(what, &four, &staged);
    }

    let walks = bench.cases("X10");
    let one = bench.time(&walks, LANES, 1.0);
    for lanes in [8.0, 16.0, 24.0, 32.0] {
        let several = bench.time(&walks, LANES, lanes);
        bench.ratio(&format!("step, one walk over {lanes}"), &one, &several);
    }
}
