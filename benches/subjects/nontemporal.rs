//! Non-temporal stores and loads against cached ones.

use crate::common::cases::Bench;

pub fn main(bench: &mut Bench) {
    let near = bench.machine.ranges.l1.hi;
    let far = bench.machine.in_memory() as f64;

    let widths = bench.cases("E1");
    for width in [16.0, 64.0] {
        let cached = bench.time(&widths, "cached stores", width);
        let past = bench.time(&widths, "non-temporal stores", width);
        bench.ratio("non-temporal over cached", &past, &cached);
    }

    let fills = bench.cases("E2");
    let interleaved = "non-temporal, one store to each of n lines in turn";
    let cached = bench.time(&fills, "through the cache", 1.0);
    let whole = bench.time(&fills, "non-temporal, a line at a time", 1.0);
    let string = bench.time(&fills, "rep stosb", 1.0);
    bench.time(&fills, interleaved, 8.0);
    let open = bench.time(&fills, interleaved, 64.0);
    bench.ratio("fill, non-temporal over cached", &whole, &cached);
    bench.ratio("fill, rep stosb over cached", &string, &cached);
    bench.ratio("fill, 64 lines open over one", &open, &whole);
    for (series, share) in [
        ("non-temporal, a quarter of each line", "a quarter"),
        ("non-temporal, three quarters of each line", "three quarters"),
    ] {
        let part = bench.time(&fills, series, 1.0);
        bench.ratio(&format!("fill, {share} of a line over a whole one"), &part, &whole);
    }
    let hot = bench.machine.ranges.l2.hi;
    let alone = bench.time(&fills, "lap after nothing", hot);
    for series in ["lap after cached stores", "lap after non-temporal stores"] {
        let period = bench.time(&fills, series, hot);
        bench.ratio(&format!("hot set, {series} over undisturbed"), &period, &alone);
    }

    // The paper's matrix, 3000 x 3000 elements of 4 bytes.
    let matrix = bench.cases("E4");
    let paper = 3000.0 * 3000.0 * 4.0;
    let row = bench.time(&matrix, "normal, by row", paper);
    let column = bench.time(&matrix, "normal, by column", paper);
    let past_row = bench.time(&matrix, "non-temporal, by row", paper);
    let past_column = bench.time(&matrix, "non-temporal, by column", paper);
    bench.ratio("by row, non-temporal over normal", &past_row, &row);
    bench.ratio("by column, non-temporal over normal", &past_column, &column);
    bench.ratio("normal, by column over by row", &column, &row);
    bench.ratio("non-temporal, by column over by row", &past_column, &past_row);

    let loads = bench.cases("E5");
    for x in [near, far] {
        let plain = bench.time(&loads, "movdqa", x);
        let hinted = bench.time(&loads, "movntdqa", x);
        bench.ratio("movntdqa over movdqa", &hinted, &plain);
    }
    let plain = bench.time(&loads, "vmovdqa64, 64 bytes", far);
    let hinted = bench.time(&loads, "vmovntdqa, 64 bytes", far);
    bench.ratio("vmovntdqa over vmovdqa64, 64 bytes", &hinted, &plain);
}
