//! Matrix multiplication: Drepper's four versions, two tiled versions, and the crate `matrixmultiply`. The
//! elements of the throughput are floating-point operations.

use crate::common::cases::{Bench, Sampled};
use crate::common::driver::around;
use criterion::Throughput;
use matrixmultiply::dgemm;

/// The number of rows and columns in the paper.
const PAPER: usize = 1000;

/// A power of two, so that the elements of a column fall into few sets.
const POWER: usize = 1024;

pub fn main(bench: &mut Bench) {
    let cases = bench.cases("E9");
    let mut way = |series, side| bench.time(&cases, series, side as f64);

    let original = way("original", PAPER);
    let transposed = way("transposed", PAPER);
    let sub_matrix = way("sub-matrix", PAPER);
    let vectorised = way("vectorised", PAPER);
    let power = [way("original", POWER), way("transposed", POWER)];
    let tiles = [PAPER, POWER].map(|side| {
        let widths = ["tiles, AVX2", "tiles, AVX-512"];
        (side, widths.map(|series| way(series, side)))
    });
    bench.ratio("transposed over original", &transposed, &original);
    bench.ratio("sub-matrix over original", &sub_matrix, &original);
    bench.ratio("vectorised over original", &vectorised, &original);
    bench.ratio("transposed over original", &power[1], &power[0]);
    for (side, [avx2, avx512]) in tiles {
        let theirs = matrixmultiply(bench, side);
        let what = |way| format!("matrixmultiply over tiles by {way}, N {side}");
        bench.ratio(&what("AVX2"), &theirs, &avx2);
        bench.ratio(&what("AVX-512"), &theirs, &avx512);
    }
}

/// Times whole multiplications by the crate, which selects its instructions itself.
fn matrixmultiply(bench: &mut Bench, side: usize) -> Sampled {
    let elements = |first: usize| -> Vec<f64> {
        let numbers = first..first + side * side;
        numbers.map(|number| (number * 7919 % 2048) as f64 / 1024.0 - 1.0).collect()
    };
    let (mul1, mul2) = (elements(0), elements(1));
    let mut res = vec![0.0; side * side];
    let name = format!("matrixmultiply, rows and columns, N {side}");
    let flops = 2 * (side * side * side) as u64;
    let work = Some(Throughput::Elements(flops));
    let mut multiply = || {
        let (a, b, c, along) = (mul1.as_ptr(), mul2.as_ptr(), res.as_mut_ptr(), side as isize);
        // SAFETY: all three have `side` rows of `side` elements without gaps, and the result
        // is borrowed mutably.
        unsafe { dgemm(side, side, side, 1.0, a, along, 1, b, along, 1, 1.0, c, along, 1) };
    };
    let run = &mut |operations| around(operations, &mut multiply);
    let timed = bench.driver.time(&name, work, run);
    Sampled::of(String::new(), timed, flops as f64)
}
