//! Maps values to coordinates, places ticks, and formats numbers for readers.

use super::{AxisView, Value};
use crate::lab::size::show;
use crate::stats::Interval;

/// Largest magnitude that can be drawn. Differences of far larger values would overflow.
const LARGEST: f64 = 1e30;

/// Least value on a logarithmic scale.
const LEAST: f64 = 1e-30;

/// A scale, linear or logarithmic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    log: bool,
    /// Least and greatest value.
    lo: f64,
    hi: f64,
    /// Coordinates of these values.
    pub(super) from: f64,
    to: f64,
}

fn drawable(value: f64, log: bool) -> bool {
    value.abs() <= LARGEST && (!log || value >= LEAST)
}

impl Scale {
    /// Creates a scale for places on the horizontal axis, between the coordinates `from` and `to`.
    pub(super) fn across(axis: &AxisView, places: &[f64], from: f64, to: f64) -> Self {
        let (lo, hi) = ends(places.iter().copied(), axis.log);
        Scale { log: axis.log, lo, hi, from, to }.padded(0.015)
    }

    /// Creates a scale for values with their intervals, between the coordinates `from` and `to`. A linear
    /// scale starts at zero unless all values are far from zero.
    pub(super) fn of_values<'a>(
        axis: &AxisView,
        values: impl Iterator<Item = &'a Value> + Clone,
        from: f64,
        to: f64,
    ) -> Self {
        let log = axis.log;
        let (least, most) = ends(values.clone().map(|value| value.mid), log);
        let (lo, hi) = ends(values.flat_map(|value| [value.lo, value.mid, value.hi]), log);
        // An interval that reaches far beyond the values is cut off, because the full interval would flatten
        // the curves.
        let scale = |lo, hi| Scale { log, lo, hi, from, to };
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

    /// Returns the scale with room at both ends, each a share of its length.
    fn padded(self, share: f64) -> Self {
        if self.log {
            let by = (self.hi / self.lo).powf(share);
            return Scale { lo: self.lo / by, hi: self.hi * by, ..self };
        }
        let by = (self.hi - self.lo) * share;
        Scale { lo: self.lo - by, hi: self.hi + by, ..self }
    }

    /// Returns the coordinate of a value; `None` if the value cannot be drawn.
    pub(super) fn place(&self, value: f64) -> Option<f64> {
        let share = self.share(value)?;
        Some(self.from + share * (self.to - self.from))
    }

    /// Returns the coordinate of a value, or of the nearer end if the value lies outside the scale.
    pub(super) fn within(&self, value: f64) -> f64 {
        let share = match self.share(value) {
            Some(share) => share.clamp(0.0, 1.0),
            None if value > LARGEST => 1.0,
            None => 0.0,
        };
        self.from + share * (self.to - self.from)
    }

    /// Returns the position of a value as a share: 0 at the least value, and 1 at the greatest.
    pub(super) fn share(&self, value: f64) -> Option<f64> {
        if !drawable(value, self.log) {
            return None;
        }
        Some(match self.log {
            true => (value / self.lo).ln() / (self.hi / self.lo).ln(),
            false => (value - self.lo) / (self.hi - self.lo),
        })
    }

    pub(super) fn value(&self, share: f64) -> f64 {
        match self.log {
            true => self.lo * (self.hi / self.lo).powf(share),
            false => self.lo + share * (self.hi - self.lo),
        }
    }

    /// Returns the ticks with their coordinates.
    pub(super) fn ticks(&self, axis: &AxisView) -> Vec<(f64, String)> {
        let within = |(value, text): (f64, String)| {
            let share = self.share(value)?;
            let there = (-1e-9..=1.0 + 1e-9).contains(&share);
            there.then_some((self.from + share * (self.to - self.from), text))
        };
        ticks(axis, self.lo, self.hi).into_iter().filter_map(within).collect()
    }

    /// Formats the scale for the script: `log lo hi from to`.
    pub(super) fn for_script(&self) -> String {
        let kind = if self.log { "log" } else { "lin" };
        let Scale { lo, hi, from, to, .. } = self;
        format!("{kind} {lo:.6e} {hi:.6e} {from:.1} {to:.1}")
    }
}

/// Returns the least and the greatest value that can be drawn, moved apart if they are equal.
fn ends(values: impl Iterator<Item = f64>, log: bool) -> (f64, f64) {
    let (lo, hi) = values
        .filter(|value| drawable(*value, log))
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), value| (lo.min(value), hi.max(value)));
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

/// Formats a number with about three digits.
pub(in crate::lab) fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.1 => format!("{value:.2}"),
        size if size >= 0.001 => format!("{value:.4}"),
        _ => format!("{value:.1e}"),
    }
}

/// Formats an interval without the value in it: `2.08 to 4.17`, or one number if both ends look the same.
pub(in crate::lab) fn range(of: Interval) -> String {
    let (lo, hi) = (number(of.lo), number(of.hi));
    if lo == hi { lo } else { format!("{lo} to {hi}") }
}

/// Formats a place on an axis for ticks, tables and hover boxes.
pub(in crate::lab) fn place(axis: &AxisView, value: f64) -> String {
    if let Some(name) = named(axis, value) {
        name.to_owned()
    } else if axis.bytes {
        show(value)
    } else if value.fract() == 0.0 && value.abs() < 1e6 {
        format!("{value:.0}")
    } else {
        number(value)
    }
}

/// Returns the name of a place on an axis whose label names its places: `flat (0), nested (1)`.
fn named(axis: &AxisView, value: f64) -> Option<&str> {
    let mark = format!(" ({value})");
    axis.label.split(", ").find_map(|name| name.strip_suffix(&mark))
}

/// Returns the label of an axis; empty if the label names places instead.
pub(in crate::lab) fn heading(axis: &AxisView) -> &str {
    let numbered = |part: &str| {
        let number = part.strip_suffix(')').and_then(|part| part.rsplit_once(" ("));
        number.is_some_and(|(_, number)| number.parse::<u32>().is_ok())
    };
    if axis.label.split(", ").any(numbered) { "" } else { &axis.label }
}

/// Returns the ticks from `lo` to `hi`. For bytes, these are powers of two or multiples of one. On other
/// logarithmic axes, they are 1, 2 and 5 times powers of ten, or powers of ten. Otherwise, they are round
/// numbers at equal distances.
pub(super) fn ticks(axis: &AxisView, lo: f64, hi: f64) -> Vec<(f64, String)> {
    if !lo.is_finite() || !hi.is_finite() || lo >= hi || (axis.log && lo <= 0.0) {
        return Vec::new();
    }
    let values = match (axis.log, axis.bytes) {
        (true, true) => powers_of_two(lo, hi),
        (true, false) => one_two_five(lo, hi),
        (false, true) => multiples(lo, hi),
        (false, false) => return even(axis, lo, hi),
    };
    values.into_iter().map(|value| (value, place(axis, value))).collect()
}

/// Returns round numbers at equal distances, all with the same number of decimals.
fn even(axis: &AxisView, lo: f64, hi: f64) -> Vec<(f64, String)> {
    let step = round_step((hi - lo) / 8.0);
    let decimals = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
    let text = |value: f64| match named(axis, value) {
        Some(name) => name.to_owned(),
        None if value.abs() >= 1e6 => format!("{value:e}"),
        None => format!("{value:.decimals$}"),
    };
    let first = (lo / step).ceil();
    (0..12)
        .map(|count| (first + f64::from(count)) * step)
        .take_while(|value| *value <= hi + step * 1e-6)
        .map(|value| (value, text(value)))
        .collect()
}

fn powers_of_two(lo: f64, hi: f64) -> Vec<f64> {
    let (first, last) = (lo.log2().floor() as i32, hi.log2().ceil() as i32);
    let step = match last - first {
        0..=6 => 1,
        7..=12 => 2,
        13..=30 => 4,
        span => span / 6,
    };
    (first..=last).filter(|power| power % step == 0).map(|power| 2f64.powi(power)).collect()
}

fn multiples(lo: f64, hi: f64) -> Vec<f64> {
    let step = 2f64.powf(((hi - lo) / 6.0).log2().ceil());
    let (first, last) = ((lo / step).floor() as i64, (hi / step).ceil() as i64);
    (first..=last).map(|count| count as f64 * step).collect()
}

/// Returns 1, 2 and 5 times powers of ten. If `hi` is at least 3,000 times `lo`, these are powers of ten
/// only. If `hi` is less than 6 times `lo`, these are round numbers at equal distances.
fn one_two_five(lo: f64, hi: f64) -> Vec<f64> {
    if hi / lo < 6.0 {
        let step = round_step((hi - lo) / 5.0);
        let (first, last) = ((lo / step).floor() as i64, (hi / step).ceil() as i64);
        let values = (first..=last).map(|count| count as f64 * step);
        return values.filter(|value| *value > 0.0).collect();
    }
    let (first, last) = (lo.log10().floor() as i32, hi.log10().ceil() as i32);
    let mantissas: &[f64] = if hi / lo < 3000.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    (first..=last)
        .flat_map(|power| mantissas.iter().map(move |m| m * 10f64.powi(power)))
        .filter(|value| (lo / 2.0..=hi * 2.0).contains(value))
        .collect()
}

/// Returns the least of 1, 2 and 5 times a power of ten that is not less than `step`.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|mantissa| mantissa * power)
        .find(|round| *round >= step)
        .unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: AxisView = AxisView { label: String::new(), log: true, bytes: false };

    #[test]
    fn what_cannot_be_drawn_has_no_place() {
        let values = [Value::exact(1.0, 1.0), Value::exact(2.0, 100.0)];
        let scale = Scale::of_values(&LOG, values.iter(), 100.0, 0.0);
        assert!((scale.place(10.0).unwrap() - 50.0).abs() < 1e-9);
        for odd in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(scale.place(odd), None, "{odd}");
        }
        assert_eq!((scale.within(0.0), scale.within(f64::INFINITY)), (100.0, 0.0));
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

    #[test]
    fn numbers_keep_three_digits() {
        let texts = [0.0, 0.0042, 0.5, 5.017, 16.04, 412.3].map(number);
        assert_eq!(texts, ["0", "0.0042", "0.50", "5.02", "16.0", "412"]);
    }

    #[test]
    fn places_have_names_where_the_label_gives_them() {
        let axis = |label: &str| AxisView { label: label.to_owned(), ..AxisView::default() };
        let storage = axis("flat (0), nested, shuffled (1)");
        assert_eq!(place(&storage, 0.0), "flat");
        assert_eq!(place(&storage, 1.0), "shuffled");
        assert_eq!(place(&storage, 2.0), "2");
        assert_eq!(heading(&storage), "");
        assert_eq!(heading(&axis("one (1), two (2)")), "");
        let plain = axis("distance (in lines)");
        assert_eq!(place(&plain, 3.0), "3");
        assert_eq!(heading(&plain), "distance (in lines)");
    }

    #[test]
    fn a_logarithmic_axis_has_few_round_ticks() {
        let sizes = AxisView { bytes: true, log: true, ..AxisView::default() };
        let texts: Vec<String> =
            ticks(&sizes, 4096.0, 268435456.0).into_iter().map(|tick| tick.1).collect();
        assert_eq!(texts, ["4 KiB", "64 KiB", "1 MiB", "16 MiB", "256 MiB"]);
        let plain = AxisView { log: true, ..AxisView::default() };
        let values: Vec<f64> = ticks(&plain, 4.0, 90.0).iter().map(|t| t.0).collect();
        assert_eq!(values, [2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        let values: Vec<f64> = ticks(&plain, 85.0, 165.0).iter().map(|t| t.0).collect();
        assert_eq!(values, [80.0, 100.0, 120.0, 140.0, 160.0, 180.0]);
        assert!(ticks(&plain, 0.0, 1.0).is_empty());
    }

    #[test]
    fn a_linear_axis_of_bytes_has_multiples_of_a_power_of_two() {
        let distance = AxisView { bytes: true, ..AxisView::default() };
        let texts: Vec<String> =
            ticks(&distance, 64.0, 8192.0).into_iter().map(|tick| tick.1).collect();
        assert_eq!(texts, ["0 B", "2 KiB", "4 KiB", "6 KiB", "8 KiB"]);
        let texts = |lo, hi| -> Vec<String> {
            ticks(&AxisView::default(), lo, hi).into_iter().map(|tick| tick.1).collect()
        };
        assert_eq!(texts(1.0, 128.0), ["20", "40", "60", "80", "100", "120"]);
        assert_eq!(texts(0.0, 2.4), ["0.0", "0.5", "1.0", "1.5", "2.0"]);
    }
}
