//! The critical word: the pointer in the first word of a line, or in the last.

use crate::common::cases::Bench;

pub fn main(bench: &mut Bench) {
    let ranges = &bench.machine.ranges;
    let sizes = [ranges.l1.hi, ranges.l2.hi, bench.machine.in_memory() as f64];

    let words = bench.cases("D42");
    for order in ["sequential", "random"] {
        for x in sizes {
            let first = bench.time(&words, &format!("{order}, first word"), x);
            let last = bench.time(&words, &format!("{order}, last word"), x);
            let what = format!("{order}, last over first word");
            bench.ratio(&what, &last, &first);
        }
    }

    let fields = bench.cases("E13");
    for x in sizes {
        let forwards = bench.time(&fields, "in the order of the definition", x);
        let backwards = bench.time(&fields, "in the opposite order", x);
        bench.ratio("all fields, backwards over forwards", &backwards, &forwards);
    }
}
