//! Ways and sets of a cache from lists whose elements lie a fixed distance apart: Drepper's Figure
//! 6.5.

use alloc::vec::Vec;

use super::found::{Curve, Found, decide};

/// Times of short lists: for each distance between two elements in bytes, the time of a step over
/// the number of elements.
pub type Conflicts<'a> = &'a [(f64, &'a Curve)];

/// Sets and ways of a cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sets {
    /// Bytes after which an address falls into the same set: sets x line.
    pub period: f64,
    /// Lines of a set.
    pub ways: u32,
}

impl Sets {
    /// Bytes of the cache.
    pub fn size(&self) -> f64 {
        self.period * f64::from(self.ways)
    }
}

/// What a step costs more before elements count as in conflict.
const DEARER: f64 = 1.25;

/// The longest list, up to which all are as fast as the shortest. `None` if none is slower.
fn fits(points: &[(f64, f64)]) -> Option<u32> {
    let first = points.first()?.1;
    let at = points.iter().position(|(_, time)| *time > first * DEARER)?;
    let (length, _) = points.get(at.checked_sub(1)?)?;
    Some(*length as u32)
}

/// The longest list, up to which all cost less than `limit` a step. `None` if none costs more.
fn fits_below(points: &[(f64, f64)], limit: f64) -> Option<u32> {
    let at = points.iter().position(|(_, time)| *time > limit)?;
    let (length, _) = points.get(at.checked_sub(1)?)?;
    Some(*length as u32)
}

/// The sets of the nearest cache: the shortest lists that no longer fit are those whose elements
/// all fall into one set, and the smallest distance at which that is so is how far sets repeat.
/// `None` if no list is in conflict.
pub fn sets(conflicts: Conflicts<'_>) -> Option<Found<Sets>> {
    sets_by(conflicts, fits)
}

/// The sets of a cache behind the nearest, likewise: lists fit in it as long as a step costs less
/// than `limit`, between its own latency and that of what lies behind. Where lists of some lengths
/// only were measured, the ways are the longest of these that fits.
pub fn sets_within(conflicts: Conflicts<'_>, limit: f64) -> Option<Found<Sets>> {
    sets_by(conflicts, |points| fits_below(points, limit))
}

fn sets_by(
    conflicts: Conflicts<'_>,
    fits: impl Fn(&[(f64, f64)]) -> Option<u32>,
) -> Option<Found<Sets>> {
    let each: Vec<(f64, Found<u32>)> = conflicts
        .iter()
        .filter_map(|(distance, times)| Some((*distance, decide(times, &fits)?)))
        .collect();
    let ways = each.iter().map(|(_, longest)| longest.value).min()?;
    let shortest = each.iter().filter(|(_, longest)| longest.value == ways);
    let (period, found) = shortest.min_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(Found {
        value: Sets {
            period: *period,
            ways,
        },
        confidence: found.confidence,
    })
}
