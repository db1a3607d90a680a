//! Matrices, tensors and points: kernels that compute.

use linefill::kernel::{
    Get, Matmul, MatmulWay, Means, NearestWay, ReadTensor, Sum, TileMatmul, TileWay, add_to_nearest,
};
use linefill::mem::Region;
use linefill::pattern::{Allocation, Heap, Product, Shape, Storage, Tensor};

use super::Case;

/// The maximum side of a matrix, so that no multiplication takes long.
const SIDE: usize = 64;

fn product<'m>(case: &mut Case<'_, '_>, region: Region<'m>) -> Option<Product<'m>> {
    let source = &mut *case.source;
    let side = source.size(SIDE);
    let side = if source.flag() { side / 8 * 8 } else { side };
    let seed = source.word();
    (case.note)(format_args!("Product::new(_, {side}, {seed})"));
    Product::new(region, side, seed).ok()
}

pub(super) fn matmul(case: &mut Case<'_, '_>, region: Region<'_>) -> bool {
    let room = region.len();
    let way = *case.source.among(&MatmulWay::ALL);
    way.bytes(case.source.size(room));
    let Some(product) = product(case, region) else {
        return false;
    };
    (case.note)(format_args!("Matmul::new(_, {way:?})"));
    case.built(Matmul::new(product, way), room)
}

pub(super) fn tile_matmul(case: &mut Case<'_, '_>, region: Region<'_>) -> bool {
    let room = region.len();
    let avx2 = case.features.fma().map(TileWay::Avx2);
    let avx512 = case.features.avx512().map(TileWay::Avx512);
    let (first, other) = if case.source.flag() { (avx2, avx512) } else { (avx512, avx2) };
    let Some(way) = first.or(other) else {
        return false;
    };
    way.bytes(case.source.size(room));
    let Some(product) = product(case, region) else {
        return false;
    };
    (case.note)(format_args!("TileMatmul::new(_, {way:?})"));
    case.built(TileMatmul::new(product, way), room)
}

pub(super) fn read_tensor(case: &mut Case<'_, '_>, region: Region<'_>) -> bool {
    let room = region.len();
    let source = &mut *case.source;
    let mut dimension = || match source.byte() % 8 {
        0 => source.number() as u16,
        _ => 1 + u16::from(source.byte() % 9),
    };
    let dimensions = [dimension(), dimension(), dimension(), dimension()];
    let shape = match source.byte() % 4 {
        0 => Ok(Shape::SERIES),
        1 => Ok(Shape::PRIMES),
        _ => Shape::new(dimensions),
    };
    let Ok(shape) = shape else { return false };
    let seed = source.word();
    let allocation =
        *source.among(&[Allocation::Natural, Allocation::Shuffled { seed }, Allocation::Shared]);
    let storage =
        *source.among(&[Storage::Flat, Storage::Boxes(allocation), Storage::Vectors(allocation)]);
    let get = *source.among(&Get::ALL);
    any_heap(case, shape, room);
    (case.note)(format_args!("ReadTensor::new(Tensor::new(_, {shape:?}, {storage:?}), {get:?})"));
    let Ok(tensor) = Tensor::new(region, shape, storage) else {
        return false;
    };
    case.built(ReadTensor::new(tensor, get), room)
}

/// Computes the bytes of any heap; this accesses no memory.
fn any_heap(case: &mut Case<'_, '_>, shape: Shape, room: usize) {
    let mut size = || case.source.size(room);
    let heap = Heap { reference: size(), header: size(), granule: size(), first: size() };
    let (number, at) = (size(), [size(), size(), size(), size()]);
    (case.note)(format_args!("{heap:?}: natural(_, 3, {number}), path(_, {at:?})"));
    heap.span(shape);
    heap.natural(shape, 3, number);
    heap.path(shape, at);
    shape.place(at);
    shape.period();
}

pub(super) fn nearest(case: &mut Case<'_, '_>, region: Region<'_>) -> bool {
    let numbers = region.into_f64s();
    // The means first, then the points, up to the end of the region.
    let clusters = 1 + case.source.below(16).min(numbers.len() / 4);
    let (means, points) = numbers.split_at(2 * clusters);
    let (mean_xs, mean_ys) = means.split_at(clusters);
    let (xs, rest) = points.split_at(points.len() / 2);
    let ys = &rest[rest.len() - xs.len()..];
    let ways = [
        Some(NearestWay::Plain),
        case.features.avx2().map(NearestWay::Avx2),
        case.features.avx512().map(NearestWay::Avx512),
    ];
    let way = case.source.among(&ways).unwrap_or(NearestWay::Plain);
    (case.note)(format_args!("add_to_nearest({way:?}, {} points, {clusters} means)", xs.len()));
    let mut sums = vec![Sum::default(); clusters];
    let means = Means { x: mean_xs, y: mean_ys };
    add_to_nearest(way, xs, ys, means, &mut sums);
    assert_eq!(sums.iter().map(|sum| sum.count).sum::<u64>(), xs.len() as u64);
    true
}
