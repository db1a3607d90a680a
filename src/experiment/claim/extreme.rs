//! The extreme of several values, and its place.

use crate::experiment::Untestable;
use crate::prelude::*;
use crate::stats::Interval;

/// A value and its place.
#[derive(Clone, Debug)]
pub(crate) struct Extreme<P> {
    /// The place.
    pub(crate) at: P,
    /// The value, with the uncertainty of all values together.
    pub(crate) value: Interval,
}

/// The reason why there is no extreme.
pub(crate) fn none() -> Untestable {
    Untestable("no point that the claim needs was measured".to_owned())
}

impl<P> Extreme<P> {
    /// The larger of what was `seen` and `value` at `at`.
    pub(crate) fn most(seen: Option<Self>, at: P, value: Interval) -> Self {
        match seen {
            Some(seen) if seen.value.hi >= value.hi => Extreme {
                value: seen.value.most(value),
                at: seen.at,
            },
            Some(seen) => Extreme {
                value: seen.value.most(value),
                at,
            },
            None => Extreme { at, value },
        }
    }

    /// The smaller of what was `seen` and `value` at `at`.
    pub(crate) fn least(seen: Option<Self>, at: P, value: Interval) -> Self {
        match seen {
            Some(seen) if seen.value.lo <= value.lo => Extreme {
                value: seen.value.least(value),
                at: seen.at,
            },
            Some(seen) => Extreme {
                value: seen.value.least(value),
                at,
            },
            None => Extreme { at, value },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_that_of_the_value_and_the_doubt_that_of_all() {
        let values = [(1, 2.0, 3.0), (2, 1.0, 5.0), (3, 2.5, 2.6)];
        let mut most = None;
        let mut least = None;
        for (at, lo, hi) in values {
            most = Some(Extreme::most(most, at, Interval::new(lo, hi)));
            least = Some(Extreme::least(least, at, Interval::new(lo, hi)));
        }
        let (most, least) = (most.unwrap(), least.unwrap());
        assert_eq!((most.at, most.value), (2, Interval::new(2.5, 5.0)));
        assert_eq!((least.at, least.value), (2, Interval::new(1.0, 2.6)));
    }
}
