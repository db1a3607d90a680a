//! Every matrix multiplication must give the result of the plain loops, for any elements and any size, and
//! declare its work.

use crate::common::untested;
use linefill::cpu::Features;
use linefill::kernel::{
    Kernel, Matmul, MatmulError, MatmulWay, TileMatmul, TileWay, Work, reference,
};
use linefill::mem::Region;
use linefill::pattern::{Product, Rng};

/// The maximum difference of a result, relative to the side: an element is a sum of as many products of numbers below
/// 1. Rounding alone gives far less.
const MOST: f64 = 1e-13;

/// Memory with room for a region that starts on a line.
fn memory(bytes: usize) -> Vec<u8> {
    vec![0; bytes + 64]
}

/// Factors whose elements use all bits of a double.
fn random(region: Region<'_>, side: usize) -> Product<'_> {
    let mut product = Product::new(region, side, 1).unwrap();
    let mut rng = Rng::new(side as u64);
    for factor in product.factors_mut() {
        factor.fill_with(|| (rng.bits() >> 11) as f64 / (1_u64 << 52) as f64 - 1.0);
    }
    product
}

/// The result of the plain loops.
fn plain(side: usize) -> Vec<f64> {
    let mut bytes = memory(Product::bytes(side));
    let mut product = random(Region::new(&mut bytes).unwrap(), side);
    reference::matmul(&mut product, [side; 2], 0, 1);
    product.matrices()[2].to_vec()
}

/// Fails if one multiplication of factors of `side` by `run` differs from the `result` of the plain loops.
#[track_caller]
fn compare(
    what: &str,
    (side, result): (usize, &[f64]),
    bytes: usize,
    run: impl FnOnce(Product<'_>) -> Vec<f64>,
) {
    let mut bytes = memory(bytes);
    let found = run(random(Region::new(&mut bytes).unwrap(), side));
    for (index, (found, wanted)) in found.iter().zip(result).enumerate() {
        let difference = (found - wanted).abs() / side as f64;
        assert!(difference <= MOST, "{what}, side {side}, element {index}: {difference}");
    }
    assert_eq!(found.len(), side * side);
}

fn paper(product: Product<'_>, way: MatmulWay) -> Vec<f64> {
    let mut matmul = Matmul::new(product, way).unwrap();
    matmul.run(matmul.pass());
    matmul.into_product().matrices()[2].to_vec()
}

fn tiled(product: Product<'_>, way: TileWay) -> Vec<f64> {
    let mut matmul = TileMatmul::new(product, way).unwrap();
    matmul.run(matmul.pass());
    matmul.into_product().matrices()[2].to_vec()
}

#[track_caller]
fn tile_ways() -> Vec<TileWay> {
    let features = Features::detect();
    let narrow = features.fma().map(TileWay::Avx2);
    let wide = features.avx512().map(TileWay::Avx512);
    let mut ways = Vec::new();
    for (way, needed) in [(narrow, "FMA"), (wide, "AVX-512")] {
        if way.is_none() {
            untested::machine(&format!("the CPU has no {needed}"));
        }
        ways.extend(way);
    }
    ways
}

#[test]
fn the_papers_ways_give_what_the_plain_loops_give() {
    for side in [8, 40, 104] {
        let result = plain(side);
        for way in MatmulWay::ALL {
            let (what, bytes) = (format!("{way:?}"), way.bytes(side));
            compare(&what, (side, &result), bytes, |product| paper(product, way));
        }
    }
}

/// Sides smaller than a tile, near its multiples, with several bands, and with more k than are packed at
/// once.
#[test]
fn tiles_give_what_the_plain_loops_give_for_any_side() {
    for side in [1, 2, 7, 8, 11, 12, 13, 24, 25, 31, 48, 97, 136, 257, 264] {
        let result = plain(side);
        for way in tile_ways() {
            let (what, bytes) = (format!("{way:?}"), way.bytes(side));
            compare(&what, (side, &result), bytes, |product| tiled(product, way));
        }
    }
}

#[test]
fn a_second_multiplication_adds_the_same_again() {
    let side = 48;
    for way in tile_ways() {
        let mut bytes = memory(way.bytes(side));
        let product = Product::new(Region::new(&mut bytes).unwrap(), side, 3).unwrap();
        let mut matmul = TileMatmul::new(product, way).unwrap();
        matmul.run(2 * matmul.pass());
        let product = matmul.into_product();
        let twice = product.matrices()[2].to_vec();
        let mut bytes = memory(Product::bytes(side));
        let mut once = Product::new(Region::new(&mut bytes).unwrap(), side, 3).unwrap();
        reference::matmul(&mut once, [side; 2], 0, 1);
        let doubled: Vec<f64> = once.matrices()[2].iter().map(|e| 2.0 * e).collect();
        assert_eq!(twice, doubled, "{way:?}");
    }
}

#[test]
fn what_cannot_be_multiplied_is_refused_by_value() {
    // Room for one line more than the matrices, at any alignment of the heap.
    let mut bytes = memory(Product::bytes(16) + 128);
    let region = Region::new(&mut bytes).unwrap();
    let (mut region, _) = region.split(Product::bytes(16) + 64).unwrap();
    let product = Product::new(region.reborrow(), 12, 1).unwrap();
    let error = Matmul::new(product, MatmulWay::SubMatrix).unwrap_err();
    assert_eq!(error, MatmulError::PartOfLine { side: 12 });
    assert_eq!(
        error.to_string(),
        "a row of 12 doubles is not a multiple of a line; the next valid number is 16"
    );
    let product = Product::new(region.reborrow(), 16, 1).unwrap();
    let error = Matmul::new(product, MatmulWay::Transposed).unwrap_err();
    assert_eq!(error, MatmulError::NoRoom { needed: 2048, spare: 64 });
    for way in tile_ways() {
        let product = Product::new(region.reborrow(), 16, 1).unwrap();
        let error = TileMatmul::new(product, way).unwrap_err();
        assert!(matches!(error, MatmulError::NoRoom { spare: 64, .. }));
    }
}

fn work(loads: u32, stores: u32, bytes_read: u32, bytes_written: u32) -> Work {
    Work { loads, stores, bytes_read, bytes_written, ..Work::default() }
}

/// The work that a multiplication declares, if `build` makes it from factors of `side`.
fn declared(side: usize, build: impl FnOnce(Product<'_>) -> Work) -> Work {
    let mut bytes = memory(8 * Product::bytes(side));
    build(Product::new(Region::new(&mut bytes).unwrap(), side, 1).unwrap())
}

/// An operation on matrices of 40 x 40 is a line of the result, or a sub-matrix of 8 x 8.
#[test]
fn multiplications_of_the_paper() {
    let of = |way| declared(40, |product| Matmul::new(product, way).unwrap().work());
    let with = |work: Work, flops| Work { flops, ..work };
    // 8 elements: each is loaded and stored once, and needs 40 pairs of factors.
    let original = with(work(8 * 81, 8, 8 * 81 * 8, 64), 2 * 8 * 40);
    assert_eq!(of(MatmulWay::Original), original);
    // In addition, 8 elements are copied.
    let transposed = with(work(8 * 82, 16, 8 * 82 * 8, 128), 2 * 8 * 40);
    assert_eq!(of(MatmulWay::Transposed), transposed);
    // 64 elements: for each of 40 factors, the factor and the element are loaded and the element is stored.
    // The other factor is loaded once per 8 elements.
    let flops = 2 * 64 * 40;
    let (pairs, alone) = (64 * 40, 8 * 40);
    let sub_matrix = work(2 * pairs + alone, pairs, (2 * pairs + alone) * 8, pairs * 8);
    assert_eq!(of(MatmulWay::SubMatrix), with(sub_matrix, flops));
    let vectorised = work(pairs + alone, pairs / 2, (2 * pairs + alone) * 8, pairs * 8);
    assert_eq!(of(MatmulWay::Vectorised), with(vectorised, flops));
}

/// An operation on matrices of 24 x 24 is the whole product: only whole tiles, no edges.
#[test]
fn multiplications_in_tiles() {
    let of = |way| declared(24, |product| TileMatmul::new(product, way).unwrap().work());
    let features = Features::detect();
    let packed = 2 * 24 * 24;
    let flops = 2 * 24 * 24 * 24;
    // Tiles, rows of a tile, bytes of a register.
    let mut ways = Vec::new();
    ways.extend(features.fma().map(|token| (TileWay::Avx2(token), 12, 4, 32)));
    ways.extend(features.avx512().map(|token| (TileWay::Avx512(token), 3, 8, 64)));
    for (way, tiles, rows, register) in ways {
        let wide = tiles * (24 * 3 + 3 * rows);
        let single = packed + tiles * 24 * rows;
        let stored = tiles * 3 * rows;
        let expected = Work {
            flops,
            ..work(
                wide + single,
                stored + packed,
                wide * register + single * 8,
                stored * register + packed * 8,
            )
        };
        assert_eq!(of(way), expected, "{way:?}");
    }
}
