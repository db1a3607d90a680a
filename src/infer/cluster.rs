//! Groups of CPUs that are near each other, from the round trips between every two CPUs.

use alloc::vec;
use alloc::vec::Vec;

use super::{Found, decide};
use crate::stats::Interval;

/// Groups of CPUs: each CPU is in one group. CPUs ascend within a group, and groups by their first CPU.
pub type Groups = Vec<Vec<usize>>;

/// The factor by which the groups of a level must lie farther apart than the CPUs within them.
const STEP: f64 = 1.25;

/// Returns the groups that CPUs form by their distances, from the smallest groups to the largest: cores,
/// last levels, packages. Each element of `trips` is two CPUs and the time of a round trip between them.
///
/// Repeatedly joins the two groups with the shortest mean round trip. The groups count as a level where
/// the next two groups lie farther apart than the previous two by a quarter or more. All CPUs together,
/// and single CPUs, are no level. Returns `None` with fewer than three CPUs, if a pair was not measured,
/// or if a time is not positive.
pub fn clusters(trips: &[(usize, usize, Interval)]) -> Option<Found<Vec<Groups>>> {
    let mut cpus: Vec<usize> = trips.iter().flat_map(|trip| [trip.0, trip.1]).collect();
    cpus.sort_unstable();
    cpus.dedup();
    let place = |cpu: usize| cpus.binary_search(&cpu).ok();
    let mut measured = vec![false; cpus.len() * cpus.len()];
    let mut pairs = Vec::with_capacity(trips.len());
    for (one, other, time) in trips {
        let pair = [place(*one)?, place(*other)?];
        for [a, b] in [pair, [pair[1], pair[0]]] {
            measured[a * cpus.len() + b] = true;
        }
        pairs.push(pair);
        if time.lo <= 0.0 {
            return None;
        }
    }
    let all = cpus.len() * cpus.len() - cpus.len();
    if cpus.len() < 3 || measured.iter().filter(|known| **known).count() < all {
        return None;
    }
    let curve: Vec<(f64, Interval)> = trips.iter().map(|trip| (0.0, trip.2)).collect();
    decide(&curve, |points| {
        let mut times = vec![0.0; cpus.len() * cpus.len()];
        for ([a, b], (_, time)) in pairs.iter().zip(points) {
            times[a * cpus.len() + b] = *time;
            times[b * cpus.len() + a] = *time;
        }
        Some(levels(&cpus, times))
    })
}

/// Returns the groups of each level, from the times between all CPUs, row by row.
fn levels(cpus: &[usize], mut times: Vec<f64>) -> Vec<Groups> {
    let count = cpus.len();
    let mut groups: Vec<Vec<usize>> = cpus.iter().map(|cpu| vec![*cpu]).collect();
    let mut found = Vec::new();
    let mut before: Option<f64> = None;
    loop {
        let alive = |group: &usize| !groups[*group].is_empty();
        let alive: Vec<usize> = (0..count).filter(alive).collect();
        let pairs = alive.iter().enumerate().flat_map(|(at, a)| {
            let behind = alive[at + 1..].iter();
            behind.map(move |b| [*a, *b])
        });
        let time = |[a, b]: [usize; 2]| times[a * count + b];
        let nearest = pairs.min_by(|one, other| time(*one).total_cmp(&time(*other)));
        let Some([a, b]) = nearest else { return found };
        let nearest = time([a, b]);
        if before.is_some_and(|before| nearest >= STEP * before) {
            let mut level: Groups = alive.iter().map(|group| groups[*group].clone()).collect();
            level.sort_unstable();
            found.push(level);
        }
        before = Some(nearest);
        // The mean over all pairs of CPUs, one from each group.
        let [of_a, of_b] = [a, b].map(|group| groups[group].len() as f64);
        for other in alive.into_iter().filter(|other| ![a, b].contains(other)) {
            let [to_a, to_b] = [a, b].map(|group| times[group * count + other]);
            let mean = (of_a * to_a + of_b * to_b) / (of_a + of_b);
            times[a * count + other] = mean;
            times[other * count + a] = mean;
        }
        let joined = core::mem::take(&mut groups[b]);
        groups[a].extend(joined);
        groups[a].sort_unstable();
    }
}
