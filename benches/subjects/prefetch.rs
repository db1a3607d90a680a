//! Software prefetches: the effect of each hint, the distance that pays off, and the cost without a
//! translation; loads that pass a store.

use crate::common::cases::Bench;

/// Loads that are compared with a hit. All times, also those of hits, include the start/stop pair; the bench
/// `overhead` shows its cost.
const LOADS: [&str; 6] = [
    "flushed",
    "after prefetcht0",
    "after prefetcht1",
    "after prefetcht2",
    "after prefetchnta",
    "after prefetchw",
];

pub fn main(bench: &mut Bench) {
    let ranges = bench.machine.ranges.clone();
    let far = bench.machine.in_memory() as f64;

    let hints = bench.cases("E36");
    // Only after a sequential sweep: what the CPU learns from a random walk before the loads may not survive
    // Criterion's warm-up. The lab measures that case.
    let swept = 0.0;
    let hit = bench.time(&hints, "flushed, then loaded", swept);
    for series in LOADS {
        let load = bench.time(&hints, series, swept);
        bench.ratio(&format!("first load, {series}, over a hit"), &load, &hit);
    }
    let alone = bench.time(&hints, "lap after nothing", ranges.l2.hi);
    for series in ["lap after prefetcht0 and loads", "lap after prefetchnta and loads"] {
        let period = bench.time(&hints, series, ranges.l2.hi);
        bench.ratio(&format!("hot set, {series} over undisturbed"), &period, &alone);
    }

    let walk = bench.cases("E37");
    for x in [ranges.l1.hi, ranges.l2.hi] {
        let plain = bench.time(&walk, "no prefetch", x);
        let ahead = bench.time(&walk, "5 ahead", x);
        bench.ratio("5 ahead over no prefetch", &ahead, &plain);
    }
    let plain = bench.time(&walk, "no prefetch", far);
    for series in ["1 ahead", "5 ahead", "16 ahead", "128 ahead"] {
        let ahead = bench.time(&walk, series, far);
        bench.ratio(&format!("{series} over no prefetch"), &ahead, &plain);
    }
    for hint in ["prefetcht1", "prefetcht2", "prefetchnta", "prefetchw"] {
        let ahead = bench.time(&walk, &format!("5 ahead by {hint}"), far);
        bench.ratio(&format!("5 ahead by {hint} over no prefetch"), &ahead, &plain);
    }
    let overlapped = bench.time(&walk, "no prefetch, work overlaps the miss", far);
    let ahead = bench.time(&walk, "5 ahead, work overlaps the miss", far);
    bench.ratio("work overlaps, 5 ahead over no prefetch", &ahead, &overlapped);

    let pages = bench.cases("X11");
    let near = bench.time(&pages, "prefetcht0, one line per page", 16.0);
    for (series, x) in [
        ("prefetcht0, one line per page", 16384.0),
        ("load, one line per page", 16384.0),
        ("prefetcht0 of null and the pages behind it", 1.0),
    ] {
        let far = bench.time(&pages, series, x);
        bench.ratio(&format!("{series} ({x}) over a prefetch in 16"), &far, &near);
    }

    let speculation = bench.cases("E41");
    let (free, ordered) = ("address known early", "address waits for the store's");
    let sum = bench.time(&speculation, ordered, 0.0);
    for percent in [0.0, 6.25, 100.0] {
        let early = bench.time(&speculation, free, percent);
        bench.ratio(
            &format!("load behind a late store, {percent} % of its place, over both waits"),
            &early,
            &sum,
        );
    }
}
