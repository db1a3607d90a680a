//! Threads: the effect of sharing one line, the transfer of a line to another core and back, and the
//! bandwidth when two threads read, write and copy at once.

use crate::common::cases::Bench;

/// The kinds of counters, with their names in the table.
const WAYS: [&str; 4] = ["int++", "fetch_add", "spin lock", "Mutex"];

pub fn main(bench: &mut Bench) {
    let ranges = bench.machine.ranges.clone();
    let far = bench.machine.in_memory() as f64;

    let counts = bench.cases("B8");
    let threads = bench.machine.cpu_order.cores().min(8) as f64;
    for way in WAYS {
        let alone = bench.time(&counts, &format!("{way}, 128 B apart"), 1.0);
        if threads < 2.0 {
            continue;
        }
        let apart = bench.time(&counts, &format!("{way}, 128 B apart"), threads);
        let dense = bench.time(&counts, &format!("{way}, dense"), threads);
        let shared = bench.time(&counts, &format!("{way}, one place"), threads);
        bench.ratio(&format!("{way}, apart over one thread"), &apart, &alone);
        bench.ratio(&format!("{way}, side by side over apart"), &dense, &apart);
        bench.ratio(&format!("{way}, one place over apart"), &shared, &apart);
    }

    let trips = bench.cases("X12");
    let nearest = 0.0;
    let plain = bench.time(&trips, "loads and stores", nearest);
    let locked = bench.time(&trips, "lock cmpxchg", nearest);
    bench.ratio("round trip, lock cmpxchg over loads and stores", &locked, &plain);

    let moves = bench.cases("D39");
    for what in ["read", "write", "copy"] {
        for x in [ranges.l1.hi, ranges.l2.hi, far] {
            let one = bench.time(&moves, &format!("{what}, one thread"), x);
            let own = bench.time(&moves, &format!("{what}, own memory"), x);
            let same = bench.time(&moves, &format!("{what}, same memory"), x);
            bench.ratio(&format!("{what}, two on their own over one"), &own, &one);
            bench.ratio(&format!("{what}, two on the same over their own"), &same, &own);
        }
    }
}
