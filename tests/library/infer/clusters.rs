//! Groups of CPUs, from planted round trips of machines with known parts.

use linefill::infer::clusters;
use linefill::pattern::Rng;
use linefill::stats::Interval;

/// The number of CPUs in a part, from the smallest part to the whole machine. The time is the round trip in
/// nanoseconds between two CPUs for which this is the smallest common part.
type Parts = &'static [(usize, f64)];

/// The round trips of all pairs, each with an error of up to `share`, in an interval of that width.
fn trips(parts: Parts, share: f64, seed: u64) -> Vec<(usize, usize, Interval)> {
    let (all, _) = parts[parts.len() - 1];
    let mut rng = Rng::new(seed);
    let mut trips = Vec::new();
    for one in 0..all {
        for other in one + 1..all {
            let shared = parts.iter().find(|(of, _)| one / of == other / of);
            let off = 2.0 * rng.below(1 << 20) as f64 / f64::from(1 << 20) - 1.0;
            let time = shared.unwrap().1 * (1.0 + share * off);
            // The numbers of CPUs do not follow the parts.
            let name = |cpu: usize| cpu * 5 % 131;
            trips.push((name(one), name(other), Interval::exact(time).widened(share)));
        }
    }
    trips
}

/// The expected groups of these parts, without single CPUs and the whole machine.
fn groups(parts: Parts) -> Vec<Vec<Vec<usize>>> {
    let (all, _) = parts[parts.len() - 1];
    let of = |size: usize| {
        let group = |first: usize| {
            let mut cpus: Vec<usize> = (first..first + size).map(|cpu| cpu * 5 % 131).collect();
            cpus.sort_unstable();
            cpus
        };
        let mut groups: Vec<_> = (0..all).step_by(size).map(group).collect();
        groups.sort_unstable();
        groups
    };
    parts[..parts.len() - 1].iter().map(|(size, _)| of(*size)).collect()
}

#[test]
fn the_groups_of_ten_machines_come_out_of_their_round_trips() {
    const MACHINES: [(&str, Parts); 10] = [
        ("four alike", &[(4, 60.0)]),
        ("two cores of two threads", &[(2, 15.0), (4, 60.0)]),
        ("two last levels of four", &[(4, 40.0), (8, 110.0)]),
        ("eight cores of two threads", &[(2, 20.0), (16, 75.0)]),
        ("two packages of eight", &[(8, 70.0), (16, 180.0)]),
        ("last levels of four, threads", &[(2, 12.0), (8, 30.0), (32, 100.0)]),
        ("clusters of four that share an L2", &[(4, 35.0), (16, 60.0)]),
        ("chiplets and packages", &[(8, 35.0), (32, 105.0), (64, 220.0)]),
        ("all levels", &[(2, 12.0), (8, 36.0), (32, 110.0), (64, 240.0)]),
        ("a mesh", &[(48, 65.0)]),
    ];
    for (name, parts) in MACHINES {
        // The largest machines take the longest, and differ from the others in nothing but their number.
        let (cpus, _) = parts[parts.len() - 1];
        let noisy = if cpus <= 32 { 2..=3 } else { 2..=2 };
        let noisy = noisy.map(|seed| (0.05, seed));
        for (share, seed) in std::iter::once((0.0, 1)).chain(noisy) {
            let found = clusters(&trips(parts, share, seed)).unwrap();
            assert_eq!(found.value, groups(parts), "{name} at {share}");
            assert!(found.confidence > 0.9, "{name} at {share}: {}", found.confidence);
        }
    }
}

#[test]
fn what_is_no_matrix_of_round_trips_has_no_groups() {
    let trip = |one, other| (one, other, Interval::exact(50.0));
    assert_eq!(clusters(&[]), None);
    assert_eq!(clusters(&[trip(0, 1)]), None);
    // One pair is missing.
    assert_eq!(clusters(&[trip(0, 1), trip(0, 2)]), None);
    assert!(clusters(&[trip(0, 1), trip(0, 2), trip(1, 2)]).is_some());
    let never = (1, 2, Interval::exact(0.0));
    assert_eq!(clusters(&[trip(0, 1), trip(0, 2), never]), None);
}

/// A single group that may be an artefact of noise is uncertain.
#[test]
fn groups_that_hardly_lie_apart_leave_doubt() {
    let unsure = trips(&[(2, 45.0), (6, 60.0)], 0.05, 7);
    let found = clusters(&unsure).unwrap();
    assert!(found.confidence < 0.9, "{}", found.confidence);
}
