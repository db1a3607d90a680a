//! Associativity: lists in one set of L1d, with as many lines as L1d has ways, and with more.

use crate::common::cases::Bench;

/// Ways assumed if CPUID reports none: those of most CPUs with 32 KiB of L1d.
const WAYS: u32 = 8;

/// The stride, in lines, after which the sets of such a cache repeat.
const PERIOD: f64 = 64.0;

pub fn main(bench: &mut Bench) {
    let l1 = bench.machine.data_cache(1);
    let ways = l1.and_then(|cache| cache.ways).unwrap_or(WAYS);
    let period = l1.and_then(|cache| cache.sets()).map_or(PERIOD, |sets| sets as f64);

    let cases = bench.cases("E18");
    // The experiment has lists of at most 32 lines.
    let list = |lines: u32| lines.min(32).to_string();
    let one = bench.time(&cases, "1", period);
    let full = bench.time(&cases, &list(ways), period);
    let over = bench.time(&cases, &list(ways + 1), period);
    let twice = bench.time(&cases, &list(2 * ways), period);
    bench.ratio("as many lines as ways over 1 line", &full, &one);
    bench.ratio("1 line more than ways over as many", &over, &full);
    bench.ratio("twice as many lines as ways over as many", &twice, &full);

    // With one more line of stride, every line of the list is in a different set.
    let full = bench.time(&cases, &list(ways), period + 1.0);
    let twice = bench.time(&cases, &list(2 * ways), period + 1.0);
    bench.ratio("twice as many lines as ways over as many", &twice, &full);
}
