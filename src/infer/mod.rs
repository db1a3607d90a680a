//! Inference of machine properties from measured curves: sizes, ways, lines, entries, buffers and
//! latencies, each with a confidence.
//!
//! Nothing here measures, and nothing uses what the machine reports about itself: a disagreement with
//! CPUID is a finding. A [`Curve`] is a list of x values with intervals, in ascending x.

mod capacity;
mod cluster;
mod count;
mod sets;

use alloc::vec::Vec;

pub use capacity::{Level, levels, size, size_of_both, sizes};
pub use cluster::{Groups, clusters};
pub use count::{
    entries, in_parallel, last_abreast, last_before_rise, line, remembered, saturation, window,
};
pub use sets::{Conflicts, Known, Sets, lost, policy, replacement, sets, sets_within};

use crate::pattern::Rng;
use crate::stats::{Interval, median};

/// A measured curve: x in ascending order, with the interval of the value at each x.
pub type Curve = [(f64, Interval)];

/// An answer inferred from a curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Found<T> {
    /// The answer from the middles of the intervals.
    pub value: T,
    /// The share of curves drawn at random within the intervals that give the same answer.
    pub confidence: f64,
}

impl<T> Found<T> {
    /// Applies `of` to the answer and keeps the confidence.
    pub fn map<U>(self, of: impl FnOnce(T) -> U) -> Found<U> {
        Found { value: of(self.value), confidence: self.confidence }
    }
}

/// The number of drawn curves.
const DRAWN: u32 = 200;

/// Returns the answer of `estimate` for `curve`, with its confidence. Returns `None` if the middles give
/// no answer.
pub fn decide<T: PartialEq>(
    curve: &Curve,
    estimate: impl Fn(&[(f64, f64)]) -> Option<T>,
) -> Option<Found<T>> {
    let value = estimate(&middles(curve))?;
    let same = drawn(curve).filter(|points| estimate(points).as_ref() == Some(&value));
    let confidence = same.count() as f64 / f64::from(DRAWN);
    Some(Found { value, confidence })
}

/// Returns the middles of a curve's intervals.
fn middles(curve: &Curve) -> Vec<(f64, f64)> {
    curve.iter().map(|(x, y)| (*x, y.middle())).collect()
}

/// The share of drawn curves whose answers may lie outside the range that [`decide_range`] returns, at either
/// end.
const OUTSIDE: f64 = 0.025;

/// Returns the range that `estimate` finds in `curve`, extended so that it contains the ranges of at least
/// 95 % of the drawn curves that give one. The confidence is the share of drawn curves whose range lies within.
/// Returns `None` if the middles give no range.
fn decide_range(
    curve: &Curve,
    estimate: impl Fn(&[(f64, f64)]) -> Option<[u32; 2]>,
) -> Option<Found<[u32; 2]>> {
    let [least, most] = estimate(&middles(curve))?;
    let ranges: Vec<[u32; 2]> = drawn(curve).filter_map(|points| estimate(&points)).collect();
    let end = |side: usize| {
        let mut ends: Vec<u32> = ranges.iter().map(|range| range[side]).collect();
        ends.sort_unstable();
        ends
    };
    let left_out = (ranges.len() as f64 * OUTSIDE) as usize;
    let [least, most] = match ranges.is_empty() {
        true => [least, most],
        false => [least.min(end(0)[left_out]), most.max(end(1)[ranges.len() - 1 - left_out])],
    };
    let within = ranges.iter().filter(|range| least <= range[0] && range[1] <= most);
    Some(Found { value: [least, most], confidence: within.count() as f64 / f64::from(DRAWN) })
}

/// Returns curves drawn at random, the same for the same curve. Every point lies anywhere in its
/// interval, independently of its neighbours, as noise does.
fn drawn(curve: &Curve) -> impl Iterator<Item = Vec<(f64, f64)>> {
    let mut rng = Rng::new(1);
    (0..DRAWN).map(move |_| {
        let points = curve.iter();
        points.map(|(x, y)| (*x, y.lo + (y.hi - y.lo) * share(&mut rng))).collect()
    })
}

/// Returns a random number from 0 to 1.
fn share(rng: &mut Rng) -> f64 {
    const STEPS: usize = 1 << 24;
    rng.below(STEPS) as f64 / (STEPS - 1) as f64
}

/// Returns the median of values that should be one number, such as the ratio of two clocks. The
/// confidence is the share of values that differ from the median by at most the fraction `within`.
/// Returns `None` without values.
pub fn settled(values: impl IntoIterator<Item = f64>, within: f64) -> Option<Found<f64>> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let value = median(&values)?;
    let near = values.iter().filter(|other| (*other - value).abs() <= within * value.abs());
    Some(Found { value, confidence: near.count() as f64 / values.len() as f64 })
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    #[test]
    fn an_exact_curve_leaves_no_doubt_and_a_wide_one_does() {
        let first_above =
            |points: &[(f64, f64)]| points.iter().find(|(_, y)| *y > 5.0).map(|(x, _)| *x as u32);
        let curve = |reach: f64| {
            [(1.0, 1.0), (2.0, 6.0), (3.0, 9.0)]
                .map(|(x, y)| (x, Interval::new(y - reach, y + reach)))
        };
        let sure = decide(&curve(0.5), first_above).unwrap();
        assert_eq!((sure.value, sure.confidence), (2, 1.0));
        let open = decide(&curve(2.0), first_above).unwrap();
        assert_eq!(open.value, 2);
        assert!((0.6..0.9).contains(&open.confidence), "{open:?}");
        assert_eq!(decide(&[], first_above), None);
    }

    #[test]
    fn a_settled_number_is_where_most_values_are() {
        let found = settled([1.4, 1.41, 1.4, 2.8], 0.02).unwrap();
        assert!((found.value - 1.405).abs() < 1e-9);
        assert_eq!(found.confidence, 0.75);
        assert_eq!(settled([], 0.02), None);
    }
}
