//! Which line a full set evicts, from lists that are a little too long for it.

use alloc::vec::Vec;

use super::found::{Curve, Found, decide};

/// The share of steps that miss, list by list, from the times of lists of growing length that all
/// fall into one set of `ways`: the shortest hit always, and the longest, four times the ways or
/// so, miss almost always whatever the policy. Empty without both.
pub fn lost(points: &[(f64, f64)], ways: u32) -> Vec<(u32, f64)> {
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return Vec::new();
    };
    let (hit, miss) = (first.1, last.1);
    if last.0 < 2.0 * f64::from(ways) || miss <= hit {
        return Vec::new();
    }
    let longer = points
        .iter()
        .filter(|(length, _)| *length > f64::from(ways));
    longer
        .map(|(length, time)| {
            // A miss of a short list can cost more than one of a long one, and no more than all
            // can miss.
            let share = (time - hit) / (miss - hit);
            (*length as u32, share.clamp(0.0, 1.0))
        })
        .collect()
}

/// The policy that explains best what lists of growing length lose: the one of `known`, each with
/// the share of misses by length, that lies nearest in the mean square. `None` without curves.
pub fn policy<'a>(
    times: &Curve,
    ways: u32,
    known: &[(&'a str, Vec<(u32, f64)>)],
) -> Option<Found<&'a str>> {
    decide(times, |points| {
        let lost = lost(points, ways);
        let far = |of: &[(u32, f64)]| {
            let common = lost.iter().filter_map(|(length, share)| {
                let (_, other) = of.iter().find(|(other, _)| other == length)?;
                Some((share - other) * (share - other))
            });
            let squares: Vec<f64> = common.collect();
            (!squares.is_empty()).then(|| squares.iter().sum::<f64>() / squares.len() as f64)
        };
        let distances = known
            .iter()
            .filter_map(|(name, of)| Some((*name, far(of)?)));
        let nearest = distances.min_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(nearest.0)
    })
}
