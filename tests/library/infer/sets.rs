//! Sets, ways and replacement, from lists that use few sets.

use linefill::infer::{Curve, lost, policy, sets, sets_within};

use super::{Noise, errors};

/// Times of lists of 1 to 32 elements at this distance in bytes, in a cache with `sets` sets.
fn conflicts(ways: u32, sets: u32, distance: u32) -> impl Iterator<Item = (f64, f64)> {
    (1..=32).map(move |length: u32| {
        let mut filled = std::collections::BTreeMap::<u32, u32>::new();
        for element in 0..length {
            *filled.entry(element * distance / 64 % sets).or_default() += 1;
        }
        let lost = filled.values().filter(|lines| **lines > ways).sum::<u32>();
        let share = f64::from(lost) / f64::from(length);
        (f64::from(length), 5.0 + 10.0 * share)
    })
}

#[test]
fn ways_and_sets_come_out_of_conflicts() {
    for (ways, sets_of) in [(8, 64), (12, 64), (8, 128), (4, 32)] {
        for (share, allowed) in [(0.0, 0.0), (0.02, 0.0), (0.05, 0.05)] {
            let truth = (f64::from(sets_of) * 64.0, ways);
            let wrong = errors(share, &truth, |noise| {
                let distances = [512, 1024, 2048, 3072, 4096, 6144, 8192];
                let curves = distances.map(|distance| {
                    (f64::from(distance), noise.curve(conflicts(ways, sets_of, distance)))
                });
                let borrowed: Vec<(f64, &Curve)> =
                    curves.iter().map(|(distance, of)| (*distance, of.as_slice())).collect();
                let found = sets(&borrowed)?;
                Some((found.value.period, found.value.ways))
            });
            assert!(wrong <= allowed, "{ways} ways at {share}: {wrong} wrong");
        }
    }
    let flat = Noise::new(1, 0.0).curve(conflicts(40, 64, 4096));
    assert_eq!(sets(&[(4096.0, &flat)]), None);
}

#[test]
fn a_list_that_was_disturbed_ends_no_set() {
    let disturbed = |distance: u32| {
        let points = conflicts(8, 64, distance).map(|(length, time)| match (distance, length) {
            (1280, 5.0) => (length, 2.0 * time),
            _ => (length, time),
        });
        Noise::new(1, 0.0).curve(points)
    };
    let curves = [1280, 2048, 4096].map(|distance| (f64::from(distance), disturbed(distance)));
    let borrowed = curves.each_ref().map(|(distance, of)| (*distance, of.as_slice()));
    let found = sets(&borrowed).unwrap().value;
    assert_eq!((found.period, found.ways), (4096.0, 8));
}

/// The simulated share of misses for lists of `ways + 1` elements and more, by policy.
fn simulated(ways: u32) -> Vec<(&'static str, Vec<(u32, f64)>)> {
    use linefill::sim::{Cache, Design, Geometry, Reference, Replacement};
    let policies = [
        ("LRU", Replacement::Lru),
        ("bit-PLRU", Replacement::BitPlru),
        ("random", Replacement::Random { seed: 1 }),
    ];
    let share = |policy, length: u32| {
        let geometry = Geometry::new(4096 * u64::from(ways), ways.into(), 64).unwrap();
        let mut cache = Cache::new(Design::lru(geometry).replacing(policy));
        let mut period = |laps: u64| {
            for _ in 0..laps {
                for element in 0..u64::from(length) {
                    cache.reference(Reference::load(element * 4096, 8));
                }
            }
            cache.counters().reads.misses
        };
        let warm = period(50);
        (period(200) - warm) as f64 / f64::from(200 * length)
    };
    policies
        .map(|(name, policy)| {
            let lengths = ways + 1..=4 * ways;
            (name, lengths.map(|length| (length, share(policy, length))).collect())
        })
        .to_vec()
}

#[test]
fn the_policy_comes_out_of_lists_that_are_too_long() {
    let known = simulated(8);
    for (name, shares) in &known {
        for (share, allowed) in [(0.0, 0.0), (0.03, 0.02)] {
            let wrong = errors(share, name, |noise| {
                let hits = (1..=8).map(|length| (f64::from(length), 5.0));
                let longer =
                    shares.iter().map(|(length, lost)| (f64::from(*length), 5.0 + 10.0 * lost));
                let curve = noise.curve(hits.chain(longer));
                Some(policy(&curve, 8, &known)?.value)
            });
            assert!(wrong <= allowed, "{name} at {share}: {wrong} wrong");
        }
    }
    assert!(lost(&[(1.0, 5.0), (9.0, 15.0)], 8).is_empty(), "the longest must be long");
}

/// L2 is behind an L1d with 8 ways, and has no fewer. A miss in L2 takes four times as long.
#[test]
fn ways_and_sets_of_the_second_level_come_out_of_lists_far_apart() {
    for (ways, sets_of) in [(8, 2048), (16, 2048), (20, 1024)] {
        let truth = (f64::from(sets_of) * 64.0, ways);
        let wrong = errors(0.05, &truth, |noise| {
            let distances = [16, 32, 64, 128, 256].map(|kib| kib * 1024);
            let curves = distances.map(|distance: u32| {
                let times = [4, 6, 8, 9, 10, 12, 16, 17, 20, 24].map(|length: u32| {
                    let sets = (sets_of * 64 / distance).max(1);
                    let lost = length.div_ceil(sets) > ways;
                    let time = match (length > 8, lost) {
                        (_, true) => 60.0,
                        (true, false) => 15.0,
                        (false, false) => 4.0,
                    };
                    (f64::from(length), time)
                });
                (f64::from(distance), noise.curve(times))
            });
            let borrowed: Vec<(f64, &Curve)> =
                curves.iter().map(|(distance, of)| (*distance, of.as_slice())).collect();
            let found = sets_within(&borrowed, 37.0)?;
            Some((found.value.period, found.value.ways))
        });
        assert_eq!(wrong, 0.0, "{ways} ways");
    }
}
