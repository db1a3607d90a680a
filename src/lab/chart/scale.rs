//! From values to places in a picture.

use super::number::ticks;
use super::{AxisView, Value};

/// Values beyond cannot be drawn: their differences would not be numbers.
const LARGEST: f64 = 1e30;

/// The least value on a logarithmic scale.
const LEAST: f64 = 1e-30;

/// A scale, linear or logarithmic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    log: bool,
    /// The least and the greatest value,
    lo: f64,
    hi: f64,
    /// and where they lie.
    from: f64,
    to: f64,
}

/// Whether a value can be drawn.
fn drawable(value: f64, log: bool) -> bool {
    value.abs() <= LARGEST && (!log || value >= LEAST)
}

impl Scale {
    /// Over places on the horizontal axis, between `from` and `to`.
    pub(super) fn across(axis: &AxisView, places: &[f64], from: f64, to: f64) -> Self {
        let (lo, hi) = ends(places.iter().copied(), axis.log);
        Scale {
            log: axis.log,
            lo,
            hi,
            from,
            to,
        }
        .padded(0.015)
    }

    /// Over values with their intervals, between `from` and `to`. It begins at zero if it is linear and
    /// they are not all far from it.
    pub(super) fn of_values<'a>(
        axis: &AxisView,
        values: impl Iterator<Item = &'a Value> + Clone,
        from: f64,
        to: f64,
    ) -> Self {
        let log = axis.log;
        let (least, most) = ends(values.clone().map(|value| value.mid), log);
        let (lo, hi) = ends(
            values.flat_map(|value| [value.lo, value.mid, value.hi]),
            log,
        );
        // An interval that reaches far out is cut off rather than the curves pressed flat.
        let scale = |lo, hi| Scale {
            log,
            lo,
            hi,
            from,
            to,
        };
        if log {
            return scale(lo.max(least / 2.0), hi.min(most * 2.0)).padded(0.04);
        }
        let room = (most - least).max(most.abs() / 4.0) / 2.0;
        let (lo, hi) = (lo.max(least - room), hi.min(most + room));
        match (0.0..0.75 * hi).contains(&lo) {
            true => scale(0.0, hi + 0.04 * hi),
            false => scale(lo, hi).padded(0.04),
        }
    }

    /// With room at both ends, a share of the whole.
    fn padded(self, share: f64) -> Self {
        if self.log {
            let by = (self.hi / self.lo).powf(share);
            return Scale {
                lo: self.lo / by,
                hi: self.hi * by,
                ..self
            };
        }
        let by = (self.hi - self.lo) * share;
        Scale {
            lo: self.lo - by,
            hi: self.hi + by,
            ..self
        }
    }

    /// Where the scale begins.
    pub(super) fn start(&self) -> f64 {
        self.from
    }

    /// Where a value lies; nowhere if it cannot be drawn.
    pub(super) fn place(&self, value: f64) -> Option<f64> {
        let share = self.share(value)?;
        Some(self.from + share * (self.to - self.from))
    }

    /// The same, but at the nearer end if it lies beyond.
    pub(super) fn within(&self, value: f64) -> f64 {
        let share = match self.share(value) {
            Some(share) => share.clamp(0.0, 1.0),
            None if value > LARGEST => 1.0,
            None => 0.0,
        };
        self.from + share * (self.to - self.from)
    }

    /// Where a value lies between the least, 0, and the greatest, 1.
    pub(super) fn share(&self, value: f64) -> Option<f64> {
        if !drawable(value, self.log) {
            return None;
        }
        Some(match self.log {
            true => (value / self.lo).ln() / (self.hi / self.lo).ln(),
            false => (value - self.lo) / (self.hi - self.lo),
        })
    }

    /// The value at a share.
    pub(super) fn value(&self, share: f64) -> f64 {
        match self.log {
            true => self.lo * (self.hi / self.lo).powf(share),
            false => self.lo + share * (self.hi - self.lo),
        }
    }

    /// Ticks with their places.
    pub(super) fn ticks(&self, axis: &AxisView) -> Vec<(f64, String)> {
        let within = |(value, text): (f64, String)| {
            let share = self.share(value)?;
            let there = (-1e-9..=1.0 + 1e-9).contains(&share);
            there.then_some((self.from + share * (self.to - self.from), text))
        };
        ticks(axis, self.lo, self.hi)
            .into_iter()
            .filter_map(within)
            .collect()
    }

    /// What a script needs to know: `log lo hi from to`.
    pub(super) fn told(&self) -> String {
        let kind = if self.log { "log" } else { "lin" };
        let Scale {
            lo, hi, from, to, ..
        } = self;
        format!("{kind} {lo:.6e} {hi:.6e} {from:.1} {to:.1}")
    }
}

/// The least and the greatest value that can be drawn; never the same number twice.
fn ends(values: impl Iterator<Item = f64>, log: bool) -> (f64, f64) {
    let (lo, hi) = values
        .filter(|value| drawable(*value, log))
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), value| {
            (lo.min(value), hi.max(value))
        });
    if lo > hi {
        return (1.0, 10.0);
    }
    let far = match log {
        true => hi / lo > 1.0 + 1e-9,
        false => hi - lo > 1e-9 * hi.abs().max(lo.abs()).max(LEAST),
    };
    match (far, log) {
        (true, _) => (lo, hi),
        (false, true) => (lo / 1.5, hi * 1.5),
        (false, false) if hi.abs() < LEAST => (0.0, 1.0),
        (false, false) => (lo - 0.25 * lo.abs(), hi + 0.25 * hi.abs()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: AxisView = AxisView {
        label: String::new(),
        log: true,
        bytes: false,
    };

    #[test]
    fn what_cannot_be_drawn_has_no_place() {
        let values = [Value::exact(1.0, 1.0), Value::exact(2.0, 100.0)];
        let scale = Scale::of_values(&LOG, values.iter(), 100.0, 0.0);
        assert!((scale.place(10.0).unwrap() - 50.0).abs() < 1e-9);
        for odd in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(scale.place(odd), None, "{odd}");
        }
        assert_eq!(
            (scale.within(0.0), scale.within(f64::INFINITY)),
            (100.0, 0.0)
        );
    }

    #[test]
    fn a_linear_scale_begins_at_zero_unless_the_values_are_far_from_it() {
        let axis = AxisView::default();
        let over = |lo: f64, hi: f64| {
            let values = [Value::exact(1.0, lo), Value::exact(2.0, hi)];
            Scale::of_values(&axis, values.iter(), 0.0, 1.0).value(0.0)
        };
        assert_eq!(over(2.0, 10.0), 0.0);
        assert!(over(9.0, 10.0) > 8.0);
        assert!(over(-3.0, 10.0) < -3.0);
    }
}
