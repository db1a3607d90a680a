//! The tensor series: reads through references against reads from one contiguous array, and the cost of an
//! index.

use crate::common::cases::Bench;

pub fn main(bench: &mut Bench) {
    let layouts = bench.cases("C10");
    let flat = bench.time(&layouts, "flat, strides", 0.0);
    let nested = bench.time(&layouts, "nested boxes", 0.0);
    let shuffled = bench.time(&layouts, "nested boxes, shuffled", 0.0);
    let vectors = bench.time(&layouts, "vectors of vectors", 0.0);
    let huge = bench.time(&layouts, "nested boxes, pages of 2 MiB", 0.0);
    bench.ratio("nested boxes over flat", &nested, &flat);
    bench.ratio("shuffled boxes over flat", &shuffled, &flat);
    bench.ratio("vectors of vectors over flat", &vectors, &flat);
    bench.ratio("nested boxes in 4 KiB over 2 MiB pages", &nested, &huge);

    let lines = bench.cases("C6");
    let shared = bench.time(&lines, "nested boxes, shared", 0.0);
    bench.ratio("nested boxes over shared ones, which all hit", &nested, &shared);

    let indices = bench.cases("C7");
    for (series, what) in [
        ("flat, masks", "masks over remainders"),
        ("flat, an array type", "constant strides and no check over strides"),
        ("flat, prime dimensions", "prime dimensions over powers of two and 28"),
        ("flat, not inlined", "not inlined over inlined"),
        ("flat, dimensions unknown", "divisions over constants"),
    ] {
        let index = bench.time(&indices, series, 0.0);
        bench.ratio(what, &index, &flat);
    }
}
