//! The largest or smallest of several values of a claim.

use crate::experiment::{Testable, Untestable};
use crate::prelude::*;
use crate::stats::Interval;

/// The extreme of several values, and its place.
#[derive(Clone, Debug)]
pub(crate) struct Extreme<P> {
    /// The place.
    pub(crate) at: P,
    /// The extreme, with the uncertainty of all values together.
    pub(crate) value: Interval,
}

/// Returns the reason why there is no extreme.
pub(crate) fn none() -> Untestable {
    Untestable("no point that the claim needs was measured".to_owned())
}

impl<P> Extreme<P> {
    /// Returns the largest of several values, each given with its place.
    ///
    /// # Errors
    /// If there is no value, or the reason of the first missing value.
    pub(crate) fn most(
        values: impl IntoIterator<Item = Testable<(P, Interval)>>,
    ) -> Testable<Self> {
        Extreme::of(values, |seen, value| (value.hi > seen.hi, seen.most(value)))
    }

    /// Returns the smallest of several values, each given with its place.
    ///
    /// # Errors
    /// If there is no value, or the reason of the first missing value.
    pub(crate) fn least(
        values: impl IntoIterator<Item = Testable<(P, Interval)>>,
    ) -> Testable<Self> {
        Extreme::of(values, |seen, value| {
            (value.lo < seen.lo, seen.least(value))
        })
    }

    /// Returns the extreme by `further`, which returns whether a value exceeds the extreme so far, and
    /// the new extreme.
    fn of(
        values: impl IntoIterator<Item = Testable<(P, Interval)>>,
        further: fn(Interval, Interval) -> (bool, Interval),
    ) -> Testable<Self> {
        let mut values = values.into_iter();
        let (mut at, mut all) = values.next().ok_or_else(none)??;
        for value in values {
            let (place, value) = value?;
            let (is_further, both) = further(all, value);
            all = both;
            if is_further {
                at = place;
            }
        }
        Ok(Extreme { at, value: all })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_that_of_the_value_and_the_doubt_that_of_all() {
        let values = [(1, 2.0, 3.0), (2, 1.0, 5.0), (3, 2.5, 2.6)];
        let values = || values.map(|(at, lo, hi)| Ok((at, Interval::new(lo, hi))));
        let (most, least) = (Extreme::most(values()), Extreme::least(values()));
        let (most, least) = (most.unwrap(), least.unwrap());
        assert_eq!((most.at, most.value), (2, Interval::new(2.5, 5.0)));
        assert_eq!((least.at, least.value), (2, Interval::new(1.0, 2.6)));
    }
}
