//! Sets and ways, from lists of lines that meet in a set.

use super::curve;
use crate::experiment::shared::walk::WalkSetup;
use crate::experiment::{Case, Machine, Point, State};
use crate::infer::{self, Curve, Found, Level, Sets};
use crate::mem::LINE;
use crate::pattern::{Layout, Order};
use crate::stats::Interval;

/// A series that no experiment has: lists of so many lines over the distance between two.
const FAR_APART: &str = "lines of a list, n bytes apart: ";

/// Figure 6.5 turned round: the lengths of the lists are the labels of its series.
pub(super) fn conflicts(machine: &Machine, points: &[Point]) -> Vec<(f64, Vec<(f64, Interval)>)> {
    let mut lengths: Vec<u32> = points
        .iter()
        .filter_map(|point| point.series.parse().ok())
        .collect();
    lengths.sort_unstable();
    lengths.dedup();
    let mut distances: Vec<(f64, Vec<(f64, Interval)>)> = Vec::new();
    for length in lengths {
        for (lines, time) in curve(machine, points, &length.to_string()) {
            let bytes = lines * LINE as f64;
            let at = (f64::from(length), time);
            match distances
                .iter_mut()
                .find(|(distance, _)| *distance == bytes)
            {
                Some((_, times)) => times.push(at),
                None => distances.push((bytes, vec![at])),
            }
        }
    }
    distances
}

/// Those of L1d.
pub(super) fn of_l1(machine: &Machine, points: &[Point]) -> Option<Found<Sets>> {
    let all = conflicts(machine, points);
    let borrowed: Vec<(f64, &Curve)> = all
        .iter()
        .map(|(distance, times)| (*distance, times.as_slice()))
        .collect();
    infer::sets(&borrowed)
}

/// Lengths of lists whose lines lie far apart: about the ways that an L2 can have, and twice those of most,
/// which no policy keeps much of.
const LENGTHS: [usize; 11] = [4, 6, 8, 9, 10, 12, 16, 17, 20, 24, 32];

/// Distances, in bytes, at which the lines of an L2 meet: of 256 sets to 4,096.
const DISTANCES: [usize; 5] = [16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10];

fn is_large(point: &Point) -> bool {
    matches!(&point.state, State::Measured(measured) if measured.pages.starts_with("2 MiB"))
}

/// Whether any of the lists lay in 2 MiB pages. `None` if none was measured.
pub(super) fn in_large_pages(points: &[Point]) -> Option<bool> {
    let mut lists = points.iter().filter(|point| {
        point.series.starts_with(FAR_APART) && matches!(point.state, State::Measured(_))
    });
    let first = lists.next()?;
    Some(is_large(first) || lists.any(is_large))
}

/// Times of lists by their length, for each distance between two lines in bytes: those in 2 MiB pages.
pub(super) fn far_lists(machine: &Machine, points: &[Point]) -> Vec<(f64, Vec<(f64, Interval)>)> {
    let far = |point: &&Point| point.series.starts_with(FAR_APART) && is_large(point);
    let points: Vec<Point> = points.iter().filter(far).cloned().collect();
    DISTANCES
        .iter()
        .map(|&distance| {
            let times = LENGTHS.iter().filter_map(|&length| {
                let series = format!("{FAR_APART}{length}");
                let times = curve(machine, &points, &series);
                let (_, time) = times.into_iter().find(|(x, _)| *x == distance as f64)?;
                Some((length as f64, time))
            });
            (distance as f64, times.collect())
        })
        .collect()
}

/// Those of L2, from lists that leave it: only where 2 MiB pages let addresses choose the sets.
pub(super) fn of_l2(machine: &Machine, points: &[Point], levels: &[Level]) -> Option<Found<Sets>> {
    let [_, l2, next, ..] = levels else {
        return None;
    };
    // Three quarters of the way to the next level: a line that L1d gave up right before takes twice
    // as long as others of L2, and all of a list miss where it leaves the sets of L2.
    let limit = (l2.latency.value + 3.0 * next.latency.value) / 4.0;
    let all = far_lists(machine, points);
    let borrowed: Vec<(f64, &Curve)> = all
        .iter()
        .map(|(distance, times)| (*distance, times.as_slice()))
        .collect();
    infer::sets_within(&borrowed, limit)
}

/// What of them comes to the size that the ladders found, if they found one: a host may back a guest's
/// large pages with small ones, so that chance chooses the sets, and lists tell nothing.
pub(super) fn of_size(sets: Option<Found<Sets>>, size: Option<&Found<f64>>) -> Option<Found<Sets>> {
    sets.filter(|sets| size.is_none_or(|size| sets.value.size() == size.value))
}

/// The cases of [`of_l2`].
pub(super) fn far_apart(machine: &Machine) -> impl Iterator<Item = Case> {
    let seed = machine.seed;
    DISTANCES.into_iter().flat_map(move |distance| {
        LENGTHS.into_iter().map(move |length| {
            let setup = WalkSetup {
                layout: Layout::npad(7).spaced(distance),
                count: length,
                order: Order::Random { seed },
                step: crate::kernel::Step::Follow,
            };
            Case::new(format!("{FAR_APART}{length}"), distance as f64, setup).in_large_pages()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a guest whose pages of 2 MiB are none, lists of lines 16 KiB apart once came to 12 ways.
    #[test]
    fn sets_that_come_to_another_size_than_the_ladders_are_none() {
        let of = |ways| {
            let period = 131_072.0;
            Some(Found {
                value: Sets { period, ways },
                confidence: 0.9,
            })
        };
        let size = |value| {
            let confidence = 1.0;
            Found { value, confidence }
        };
        let mebibyte = size(1_048_576.0);
        assert_eq!(of_size(of(8), Some(&mebibyte)), of(8));
        assert_eq!(of_size(of(12), Some(&mebibyte)), None);
        assert_eq!(of_size(of(12), None), of(12));
        assert_eq!(of_size(None, Some(&mebibyte)), None);
    }
}
