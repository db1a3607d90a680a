//! Store-to-load forwarding and 4 KiB aliasing: what a load behind a store waits for.
//!
//! Locks across two lines are left to the lab, which needs few: each stops everybody's memory.

mod common;

use common::cases::Bench;

fn main() {
    let Some(mut bench) = Bench::new("forwarding") else {
        return;
    };
    let cases = bench.cases("X1");
    for size in [8, 16, 32] {
        let plain = format!("{size} to {size} bytes");
        let half = size / 2;
        let forwarded = bench.time(&cases, &plain, 0.0);
        let older = bench.time(&cases, &plain, f64::from(half));
        let two = bench.time(&cases, &format!("two of {half} to {size} bytes"), 0.0);
        let what = |which: &str| format!("{size} bytes, {which} over all of one store");
        bench.ratio(&what("half of them older"), &older, &forwarded);
        bench.ratio(&what("of two stores"), &two, &forwarded);
    }

    let cases = bench.cases("E19");
    let free = bench.time(&cases, "a load behind a store", 2048.0);
    let alias = bench.time(&cases, "a load behind a store", 4096.0);
    bench.ratio("4,096 bytes behind a store over 2,048", &alias, &free);
}
