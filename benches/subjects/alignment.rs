//! Alignment: elements and accesses that straddle two lines, or two pages.

use crate::common::cases::Bench;

pub fn main(bench: &mut Bench) {
    let ranges = &bench.machine.ranges;
    let sizes = [ranges.l1.hi, ranges.l2.hi, bench.machine.in_memory() as f64];

    let cases = bench.cases("E15");
    for order in ["sequential", "random"] {
        for x in sizes {
            let aligned = bench.time(&cases, &format!("{order}, aligned"), x);
            let split = bench.time(&cases, &format!("{order}, misaligned"), x);
            let what = format!("{order}, misaligned over aligned");
            bench.ratio(&what, &split, &aligned);
        }
    }
    let line = bench.time(&cases, "one per page, split line", 0.0);
    let page = bench.time(&cases, "one per page, split page", 0.0);
    bench.ratio("split page over split line", &page, &line);

    let cases = bench.cases("X6");
    for verb in ["loads", "stores"] {
        let bytes = format!("{verb} of 8 bytes");
        let inside = bench.time(&cases, &bytes, 0.0);
        let line = bench.time(&cases, &bytes, 63.0);
        let page = bench.time(&cases, &format!("{bytes}, the line a page's last"), 63.0);
        bench.ratio(&format!("independent {verb}, split line over aligned"), &line, &inside);
        bench.ratio(&format!("independent {verb}, split page over split line"), &page, &line);
    }
}
