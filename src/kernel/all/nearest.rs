//! The twin of [`add_to_nearest`](crate::kernel::add_to_nearest).

use crate::kernel::{Means, Sum};

/// Adds each point to the sums of the mean that is nearest to it, of several the first. The points'
/// coordinates lie in `xs` and `ys`, which are equally long.
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
