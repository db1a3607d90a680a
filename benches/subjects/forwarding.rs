//! Store-to-load forwarding and 4 KiB aliasing: what a load after a store waits for.
//!
//! Only the lab measures locks across two lines, because it needs few of them: each stalls the memory
//! accesses of all cores.

use crate::common::cases::Bench;

pub fn main(bench: &mut Bench) {
    let cases = bench.cases("X1");
    // Places on the axis of X1: 8 to 8, 16 to 16 and 32 to 32 bytes.
    for (size, place) in [(8, 15.0), (16, 20.0), (32, 25.0)] {
        let forwarded = bench.time(&cases, "load at the store's start", place);
        let older = bench.time(&cases, "load half behind it", place);
        let two = bench.time(&cases, "of two stores", place);
        let what = |which: &str| format!("{size} bytes, {which} over all of one store");
        bench.ratio(&what("half of them older"), &older, &forwarded);
        bench.ratio(&what("of two stores"), &two, &forwarded);
    }

    let cases = bench.cases("E19");
    let free = bench.time(&cases, "a load behind a store", 2048.0);
    let alias = bench.time(&cases, "a load behind a store", 4096.0);
    bench.ratio("4,096 bytes behind a store over 2,048", &alias, &free);
}
