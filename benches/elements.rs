//! Elements: what lies beside the bytes that are used.

mod common;

use common::cases::Bench;

fn main() {
    let Some(mut bench) = Bench::new("elements") else {
        return;
    };
    let l2 = bench.machine.ranges.l2.hi;
    let far = bench.machine.in_memory() as f64;

    let spread = bench.cases("E11");
    for (curve, x) in [
        ("sequential, 4 lines", l2),
        ("sequential, 4 lines", far),
        ("sequential, 2 lines", far),
        ("random, 4 lines", l2),
        ("random, 4 lines", far),
    ] {
        let one = bench.time(&spread, &format!("{curve}, both words in the first"), x);
        let two = bench.time(&spread, &format!("{curve}, first and last"), x);
        bench.ratio(&format!("{curve}, two lines over one"), &two, &one);
    }
}
