//! Stores: write policies, flushed lines, and the first write to pages.

use crate::common::cases::Bench;

pub fn main(bench: &mut Bench) {
    let policies = bench.cases("D22");
    let (again, run) = (0.0, 2.0);
    let back = "write-back: plain stores";
    let combining = "write-combining: non-temporal stores";
    let through = "write-through: each store followed by clwb";
    let kept = bench.time(&policies, back, again);
    for series in [through, combining] {
        let store = bench.time(&policies, series, again);
        bench.ratio(&format!("{series} over write-back"), &store, &kept);
    }
    let near = bench.time(&policies, back, run);
    let far = bench.time(&policies, combining, run);
    bench.ratio("read back, non-temporal over cached", &far, &near);

    // One line with its fence, then one line of many.
    let flushes = bench.cases("X4");
    let many = 128.0;
    let clean = bench.time(&flushes, "clflush, clean", 1.0);
    for series in ["clflush, in no cache", "clflush, dirty", "clwb, dirty"] {
        let line = bench.time(&flushes, series, 1.0);
        bench.ratio(&format!("{series} over clflush, clean"), &line, &clean);
    }
    let ordered = bench.time(&flushes, "clflush, dirty", many);
    let free = bench.time(&flushes, "clflushopt, dirty", many);
    bench.ratio("clflush over clflushopt", &ordered, &free);

    // A shot here lasts milliseconds, so the cost per page comes from a shot over many pages.
    let pages = bench.cases("X3");
    let (base, huge) = (0.0, 1.0);
    let touched = bench.time(&pages, "first write", base);
    let later = bench.time(&pages, "later write", base);
    bench.ratio("first write over later write", &touched, &later);
    for series in ["madvise(MADV_POPULATE_WRITE)", "mmap(MAP_POPULATE)"] {
        let page = bench.time(&pages, series, base);
        bench.ratio(&format!("{series} over first write"), &page, &touched);
    }
    let large = bench.time(&pages, "first write", huge);
    bench.ratio("first write, 2 MiB page over 4 KiB page", &large, &touched);
}
