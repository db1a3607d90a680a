//! Elements: the cost of unused bytes next to the used ones.

use crate::common::cases::Bench;

pub fn main(bench: &mut Bench) {
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

    let structures = bench.cases("E12");
    for (order, x) in [("at random", l2), ("at random", far), ("in order", far)] {
        let two = bench.time(&structures, &format!("as defined, {order}"), x);
        let one = bench.time(&structures, &format!("reorganised, {order}"), x);
        bench.ratio(&format!("{order}, 72 bytes over 64"), &two, &one);
    }

    let orders = bench.cases("E17");
    for x in [bench.machine.ranges.l1.hi, 4.0 * far] {
        let whole = bench.time(&orders, "whole orders, 64 bytes", x);
        let split = bench.time(&orders, "price and paid, 16 bytes", x);
        let apart = bench.time(&orders, "prices and paid apart, 9 bytes, vectors", x);
        bench.ratio("whole orders over split", &whole, &split);
        bench.ratio("split orders over arrays apart", &split, &apart);
    }
}
