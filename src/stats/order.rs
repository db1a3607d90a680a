//! Order statistics.

/// The median of sorted values: the middle one, or the mean of the middle two. `None` if empty.
pub fn median(sorted: &[f64]) -> Option<f64> {
    let upper = *sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    Some((sorted[sorted.len() / 2 - 1] + upper) / 2.0)
}

/// The `q`-quantile (0 to 1) of sorted values, by linear interpolation between neighbours.
/// `None` if empty.
pub fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = q.clamp(0.0, 1.0) * last as f64;
    let below = place as usize;
    let above = (below + 1).min(last);
    let share = place - below as f64;
    Some(sorted[below] * (1.0 - share) + sorted[above] * share)
}

/// The median absolute deviation of `values` from `center`. Overwrites `values` with the sorted
/// deviations. `None` if empty.
pub fn mad(values: &mut [f64], center: f64) -> Option<f64> {
    for value in values.iter_mut() {
        *value = (*value - center).abs();
    }
    values.sort_unstable_by(f64::total_cmp);
    median(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_odd_even_and_no_values() {
        assert_eq!(median(&[1.0, 2.0, 9.0]), Some(2.0));
        assert_eq!(median(&[1.0, 2.0, 4.0, 9.0]), Some(3.0));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn quantiles_interpolate() {
        let sorted = [0.0, 10.0, 20.0, 30.0, 40.0];
        assert_eq!(quantile(&sorted, 0.25), Some(10.0));
        assert_eq!(quantile(&sorted, 0.1), Some(4.0));
        assert_eq!(quantile(&sorted, 1.0), Some(40.0));
    }

    #[test]
    fn one_outlier_does_not_move_the_mad() {
        assert_eq!(mad(&mut [1.0, 2.0, 3.0, 4.0, 1000.0], 3.0), Some(1.0));
    }
}
