//! The loops on vectors of doubles.
//!
//! Points lie as arrays of coordinates, and a block of them stays in registers while all means
//! pass by, each broadcast once a block. Products and sums are rounded one by one, as in the plain
//! loop: no multiply-add, so that both find the same means.

// Loads and stores vectors inside of slices.
#![allow(unsafe_code)]

use crate::kernel::compute::nearest::{Means, Sum};
use core::arch::x86_64::{
    _CMP_LT_OQ, _mm256_add_pd, _mm256_blendv_pd, _mm256_castsi256_pd, _mm256_cmp_pd,
    _mm256_loadu_pd, _mm256_mul_pd, _mm256_set1_epi64x, _mm256_set1_pd, _mm256_storeu_pd,
    _mm256_sub_pd, _mm512_add_pd, _mm512_cmp_pd_mask, _mm512_loadu_pd, _mm512_mask_mov_epi64,
    _mm512_mask_mov_pd, _mm512_mul_pd, _mm512_set1_epi64, _mm512_set1_pd, _mm512_storeu_epi64,
    _mm512_sub_pd,
};

/// Vectors of a block: comparing and choosing take six cycles per mean, one after the other, which
/// four vectors fill.
const VECTORS: usize = 4;

/// Adds the points of a block to the sums of the means that were found for them.
#[inline]
fn add_all(xs: &[f64], ys: &[f64], found: &[u64], sums: &mut [Sum]) {
    for ((&x, &y), &index) in xs.iter().zip(ys).zip(found) {
        sums[index as usize].add(x, y);
    }
}

/// Does all whole blocks, and returns the number of their points.
///
/// A mean costs 2 broadcasts a block of 32 points, and 2 subtractions, 2 products, a sum, a
/// comparison and 2 choices a vector.
#[inline(never)]
#[target_feature(enable = "avx512f")]
pub(crate) fn avx512(xs: &[f64], ys: &[f64], means: Means<'_>, sums: &mut [Sum]) -> usize {
    const LANES: usize = 8;
    const BLOCK: usize = VECTORS * LANES;
    let mut found = [0u64; BLOCK];
    let (blocks, _) = xs.as_chunks::<BLOCK>();
    for (block, ys) in blocks.iter().zip(ys.as_chunks::<BLOCK>().0) {
        let mut x = [_mm512_set1_pd(0.0); VECTORS];
        let mut y = x;
        for vector in 0..VECTORS {
            // SAFETY: the block holds the eight numbers.
            x[vector] = unsafe { _mm512_loadu_pd(block[vector * LANES..][..LANES].as_ptr()) };
            // SAFETY: likewise.
            y[vector] = unsafe { _mm512_loadu_pd(ys[vector * LANES..][..LANES].as_ptr()) };
        }
        let mut least = [_mm512_set1_pd(f64::INFINITY); VECTORS];
        let mut best = [_mm512_set1_epi64(0); VECTORS];
        for (index, (&mean_x, &mean_y)) in means.x.iter().zip(means.y).enumerate() {
            let number = _mm512_set1_epi64(index as i64);
            let (mean_x, mean_y) = (_mm512_set1_pd(mean_x), _mm512_set1_pd(mean_y));
            for vector in 0..VECTORS {
                let dx = _mm512_sub_pd(x[vector], mean_x);
                let dy = _mm512_sub_pd(y[vector], mean_y);
                let distance = _mm512_add_pd(_mm512_mul_pd(dx, dx), _mm512_mul_pd(dy, dy));
                let nearer = _mm512_cmp_pd_mask::<_CMP_LT_OQ>(distance, least[vector]);
                least[vector] = _mm512_mask_mov_pd(least[vector], nearer, distance);
                best[vector] = _mm512_mask_mov_epi64(best[vector], nearer, number);
            }
        }
        for (found, best) in found.as_chunks_mut::<LANES>().0.iter_mut().zip(best) {
            // SAFETY: there is room for eight numbers.
            unsafe { _mm512_storeu_epi64(found.as_mut_ptr().cast(), best) };
        }
        add_all(block, ys, &found, sums);
    }
    blocks.len() * BLOCK
}

/// Does all whole blocks, and returns the number of their points.
#[inline(never)]
#[target_feature(enable = "avx2")]
pub(crate) fn avx2(xs: &[f64], ys: &[f64], means: Means<'_>, sums: &mut [Sum]) -> usize {
    const LANES: usize = 4;
    // Sixteen registers hold two vectors of points with what was found for them.
    const VECTORS: usize = 2;
    const BLOCK: usize = VECTORS * LANES;
    let mut found = [0u64; BLOCK];
    let (blocks, _) = xs.as_chunks::<BLOCK>();
    for (block, ys) in blocks.iter().zip(ys.as_chunks::<BLOCK>().0) {
        let mut x = [_mm256_set1_pd(0.0); VECTORS];
        let mut y = x;
        for vector in 0..VECTORS {
            // SAFETY: the block holds the four numbers.
            x[vector] = unsafe { _mm256_loadu_pd(block[vector * LANES..][..LANES].as_ptr()) };
            // SAFETY: likewise.
            y[vector] = unsafe { _mm256_loadu_pd(ys[vector * LANES..][..LANES].as_ptr()) };
        }
        let mut least = [_mm256_set1_pd(f64::INFINITY); VECTORS];
        let mut best = [_mm256_set1_pd(0.0); VECTORS];
        for (index, (&mean_x, &mean_y)) in means.x.iter().zip(means.y).enumerate() {
            // The bits of an integer, which are only chosen, never calculated with.
            let number = _mm256_castsi256_pd(_mm256_set1_epi64x(index as i64));
            let (mean_x, mean_y) = (_mm256_set1_pd(mean_x), _mm256_set1_pd(mean_y));
            for vector in 0..VECTORS {
                let dx = _mm256_sub_pd(x[vector], mean_x);
                let dy = _mm256_sub_pd(y[vector], mean_y);
                let distance = _mm256_add_pd(_mm256_mul_pd(dx, dx), _mm256_mul_pd(dy, dy));
                let nearer = _mm256_cmp_pd::<_CMP_LT_OQ>(distance, least[vector]);
                least[vector] = _mm256_blendv_pd(least[vector], distance, nearer);
                best[vector] = _mm256_blendv_pd(best[vector], number, nearer);
            }
        }
        for (found, best) in found.as_chunks_mut::<LANES>().0.iter_mut().zip(best) {
            // SAFETY: there is room for four numbers.
            unsafe { _mm256_storeu_pd(found.as_mut_ptr().cast(), best) };
        }
        add_all(block, ys, &found, sums);
    }
    blocks.len() * BLOCK
}
