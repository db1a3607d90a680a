//! The TLBs: the cost of a step within the reach of each level and beyond, by page size, and the cost of a
//! page walk.

use crate::common::cases::Bench;

pub fn main(bench: &mut Bench) {
    let entries = bench.cases("X9");
    let pages = "a line of each page";
    let few = bench.time(&entries, pages, 16.0);
    let first = bench.time(&entries, pages, 384.0);
    let in_a_row = bench.time(&entries, pages, 512.0);
    let apart = bench.time(&entries, "a line of each page, 16 pages apart", 512.0);
    let lines = bench.time(&entries, "as many lines side by side", 8192.0);
    let beyond = bench.time(&entries, pages, 8192.0);
    bench.ratio("beyond the L1 dTLB over inside", &first, &few);
    bench.ratio("16 pages apart over in a row", &apart, &in_a_row);
    bench.ratio("beyond the second level over as many lines", &beyond, &lines);

    let far = bench.machine.in_memory() as f64;
    let random = bench.cases("F4");
    let small = bench.time(&random, "4 KiB pages", far);
    let large = bench.time(&random, "2 MiB pages", far);
    bench.time(&random, "1 GiB pages", far);
    bench.ratio("4 KiB over 2 MiB pages", &small, &large);

    let walks = bench.cases("E26");
    let tables = "page tables in the caches";
    let together = bench.time(&walks, tables, 64.0);
    let row = bench.time(&walks, tables, 4096.0);
    let sparse = bench.time(&walks, tables, (1 << 30) as f64);
    bench.ratio("64 pages over one", &row, &together);
    bench.ratio("1 GiB apart over in a row", &sparse, &row);
}
