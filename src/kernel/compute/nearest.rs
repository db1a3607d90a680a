//! The inner loops of k-means (Sestoft, section 1) on vectors: find the nearest mean of each point, and
//! add the point to the sums of that mean.
//!
//! A soft-float target (`x86_64-unknown-none`, `x86_64-unknown-uefi`) has only the plain loop: its
//! compiler keeps no vector in a register, not even in a function with a `target_feature`.

// Calls code with instructions that a token proves, which loads and stores vectors inside slices.
#![allow(unsafe_code)]

use crate::cpu::Features;
#[cfg(target_feature = "sse2")]
use crate::cpu::{Avx2, Avx512};

/// Means, as arrays of their coordinates.
#[derive(Clone, Copy, Debug)]
pub struct Means<'m> {
    /// The first coordinates.
    pub x: &'m [f64],
    /// The second coordinates, as many as the first.
    pub y: &'m [f64],
}

/// The sums over a cluster's points.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sum {
    /// Sum of the first coordinates.
    pub x: f64,
    /// Sum of the second coordinates.
    pub y: f64,
    /// Number of points.
    pub count: u64,
}

impl Sum {
    /// Adds a point.
    #[inline]
    pub fn add(&mut self, x: f64, y: f64) {
        self.x += x;
        self.y += y;
        self.count += 1;
    }

    /// Adds the points of another sum.
    pub fn merge(&mut self, other: &Sum) {
        self.x += other.x;
        self.y += other.y;
        self.count += other.count;
    }
}

/// The instructions of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NearestWay {
    /// Instructions that every CPU has.
    Plain,
    /// Four points per vector.
    #[cfg(target_feature = "sse2")]
    Avx2(Avx2),
    /// Eight points per vector.
    #[cfg(target_feature = "sse2")]
    Avx512(Avx512),
}

impl NearestWay {
    /// Returns the widest way that this CPU supports.
    #[cfg(target_feature = "sse2")]
    pub fn widest(features: &Features) -> Self {
        let avx512 = features.avx512().map(NearestWay::Avx512);
        let avx2 = || features.avx2().map(NearestWay::Avx2);
        avx512.or_else(avx2).unwrap_or(NearestWay::Plain)
    }

    /// Returns the widest way that this target supports: the plain loop, whatever the CPU has.
    #[cfg(not(target_feature = "sse2"))]
    pub fn widest(_features: &Features) -> Self {
        NearestWay::Plain
    }
}

/// Adds each point to the sums of its nearest mean; of several equally near means, to the first. All ways
/// find the same means. The points' coordinates are in `xs` and `ys`.
///
/// # Panics
/// If `xs` and `ys`, the coordinates of the means, or `means` and `sums` differ in length, or if there are points
/// and no means.
pub fn add_to_nearest(way: NearestWay, xs: &[f64], ys: &[f64], means: Means<'_>, sums: &mut [Sum]) {
    assert_eq!(xs.len(), ys.len(), "points have two coordinates");
    assert_eq!(means.x.len(), means.y.len(), "means have two coordinates");
    assert_eq!(means.x.len(), sums.len(), "every mean has its sums");
    let done = match way {
        NearestWay::Plain => 0,
        #[cfg(target_feature = "sse2")]
        // SAFETY: the token proves that the CPU has the instructions.
        NearestWay::Avx2(_) => unsafe { vectors::avx2(xs, ys, means, sums) },
        #[cfg(target_feature = "sse2")]
        // SAFETY: the token proves that the CPU has the instructions.
        NearestWay::Avx512(_) => unsafe { vectors::avx512(xs, ys, means, sums) },
    };
    reference::add_to_nearest(&xs[done..], &ys[done..], means, sums);
}

pub(crate) mod reference {
    use crate::kernel::{Means, Sum};

    /// Adds each point to the sums of its nearest mean; of several equally near means, to the first. The
    /// points' coordinates are in `xs` and `ys`, which have the same length.
    pub fn add_to_nearest(xs: &[f64], ys: &[f64], means: Means<'_>, sums: &mut [Sum]) {
        for (&x, &y) in xs.iter().zip(ys) {
            let mut best = 0;
            let mut least = f64::INFINITY;
            for (index, (mean_x, mean_y)) in means.x.iter().zip(means.y).enumerate() {
                let (dx, dy) = (x - mean_x, y - mean_y);
                let distance = dx * dx + dy * dy;
                if distance < least {
                    least = distance;
                    best = index;
                }
            }
            sums[best].add(x, y);
        }
    }
}

/// The loops on vectors of doubles.
///
/// Points are stored as arrays of coordinates. A block of points stays in registers while the loop goes
/// through all means, each broadcast once per block. Products and sums are rounded separately, without
/// multiply-add, so that these loops and the plain loop find the same means.
#[cfg(target_feature = "sse2")]
mod vectors {
    use crate::kernel::compute::nearest::{Means, Sum};
    use core::arch::x86_64::{
        _CMP_LT_OQ, _mm256_add_pd, _mm256_blendv_pd, _mm256_castsi256_pd, _mm256_cmp_pd,
        _mm256_loadu_pd, _mm256_mul_pd, _mm256_set1_epi64x, _mm256_set1_pd, _mm256_storeu_pd,
        _mm256_sub_pd, _mm512_add_pd, _mm512_cmp_pd_mask, _mm512_loadu_pd, _mm512_mask_mov_epi64,
        _mm512_mask_mov_pd, _mm512_mul_pd, _mm512_set1_epi64, _mm512_set1_pd, _mm512_storeu_epi64,
        _mm512_sub_pd,
    };

    /// Vectors per block. A comparison and a selection take six cycles per mean, one after the other, which
    /// four vectors fill.
    const VECTORS: usize = 4;

    /// Adds the points of a block to the sums of the means found for them.
    #[inline]
    fn add_all(xs: &[f64], ys: &[f64], found: &[u64], sums: &mut [Sum]) {
        for ((&x, &y), &index) in xs.iter().zip(ys).zip(found) {
            sums[index as usize].add(x, y);
        }
    }

    /// Processes all whole blocks, and returns the number of their points.
    ///
    /// A mean costs 2 broadcasts per block of 32 points, and per vector 2 subtractions, 2 products, a sum, a
    /// comparison and 2 selections.
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
                // SAFETY: the block holds eight numbers from there on.
                x[vector] = unsafe { _mm512_loadu_pd(block[vector * LANES..][..LANES].as_ptr()) };
                // SAFETY: the block holds eight numbers from there on.
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

    /// Processes all whole blocks, and returns the number of their points.
    #[inline(never)]
    #[target_feature(enable = "avx2")]
    pub(crate) fn avx2(xs: &[f64], ys: &[f64], means: Means<'_>, sums: &mut [Sum]) -> usize {
        const LANES: usize = 4;
        // Sixteen registers hold two vectors of points with their nearest means.
        const VECTORS: usize = 2;
        const BLOCK: usize = VECTORS * LANES;
        let mut found = [0u64; BLOCK];
        let (blocks, _) = xs.as_chunks::<BLOCK>();
        for (block, ys) in blocks.iter().zip(ys.as_chunks::<BLOCK>().0) {
            let mut x = [_mm256_set1_pd(0.0); VECTORS];
            let mut y = x;
            for vector in 0..VECTORS {
                // SAFETY: the block holds four numbers from there on.
                x[vector] = unsafe { _mm256_loadu_pd(block[vector * LANES..][..LANES].as_ptr()) };
                // SAFETY: the block holds four numbers from there on.
                y[vector] = unsafe { _mm256_loadu_pd(ys[vector * LANES..][..LANES].as_ptr()) };
            }
            let mut least = [_mm256_set1_pd(f64::INFINITY); VECTORS];
            let mut best = [_mm256_set1_pd(0.0); VECTORS];
            for (index, (&mean_x, &mean_y)) in means.x.iter().zip(means.y).enumerate() {
                // The bits of an integer, which are only selected, never used in arithmetic.
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
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers<const N: usize>(from: usize) -> [f64; N] {
        // Few distinct numbers, so that some distances are equal.
        core::array::from_fn(|n| ((n * 7 + from) * 2_654_435_761 % 37) as f64)
    }

    #[test]
    fn every_way_finds_the_same_means() {
        let features = Features::detect();
        let ways = [
            features.avx2().map(NearestWay::Avx2),
            features.avx512().map(NearestWay::Avx512),
            Some(NearestWay::widest(&features)),
        ];
        let means: [[f64; 81]; 2] = [5, 11].map(numbers);
        let [xs, ys]: [[f64; 200]; 2] = [1, 2].map(numbers);
        for way in ways.into_iter().flatten() {
            for count in [0, 1, 7, 8, 9, 31, 32, 33, 64, 200] {
                for clusters in [1, 2, 81] {
                    let run = |way| {
                        let mut sums = [Sum::default(); 81];
                        let means = Means { x: &means[0][..clusters], y: &means[1][..clusters] };
                        let sums_of = &mut sums[..clusters];
                        add_to_nearest(way, &xs[..count], &ys[..count], means, sums_of);
                        sums
                    };
                    assert_eq!(run(way), run(NearestWay::Plain), "{way:?}, {count}, {clusters}");
                }
            }
        }
    }

    #[test]
    fn of_equal_distances_the_first_counts() {
        let means = Means { x: &[1.0, -1.0, 1.0], y: &[0.0; 3] };
        let mut sums = [Sum::default(); 3];
        let way = NearestWay::widest(&Features::detect());
        add_to_nearest(way, &[0.0; 33], &[2.0; 33], means, &mut sums);
        assert_eq!(sums.map(|sum| sum.count), [33, 0, 0]);
        assert_eq!((sums[0].x, sums[0].y), (0.0, 66.0));
    }

    #[test]
    #[should_panic(expected = "every mean has its sums")]
    fn missing_sums_are_noticed() {
        let means = Means { x: &[1.0, 2.0], y: &[0.0; 2] };
        add_to_nearest(NearestWay::Plain, &[], &[], means, &mut [Sum::default()]);
    }

    #[test]
    fn sums_merge() {
        let mut sum = Sum::default();
        sum.add(1.0, 2.0);
        let mut both = sum;
        both.merge(&sum);
        let wanted = Sum { x: 2.0, y: 4.0, count: 2 };
        assert_eq!(both, wanted);
    }
}
