//! What is inferred from made-up curves of machines that are known, with noise, and from the
//! record of a real one.
#![cfg(feature = "std")]

use linefill::infer::{
    Curve, decide, entries, in_parallel, last_abreast, last_before_rise, levels, line, lost,
    policy, sets, sets_within, settled, size,
};
use linefill::model::{Level, Placement, Walk};
use linefill::pattern::Rng;
use linefill::stats::Interval;

const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * KIB;

/// How many noisy curves each error rate is taken over.
const CURVES: u64 = 60;

/// Noise: a factor within `share` of 1, triangular about it.
struct Noise {
    rng: Rng,
    share: f64,
}

impl Noise {
    fn new(seed: u64, share: f64) -> Self {
        Noise {
            rng: Rng::new(seed),
            share,
        }
    }

    fn uniform(&mut self) -> f64 {
        self.rng.below(1 << 20) as f64 / f64::from(1 << 20)
    }

    /// A value as it is measured: off by the noise, in an interval as wide as that.
    fn measured(&mut self, value: f64) -> Interval {
        let off = (self.uniform() + self.uniform() - 1.0) * self.share;
        Interval::exact(value * (1.0 + off)).widened(self.share)
    }

    fn curve(&mut self, points: impl IntoIterator<Item = (f64, f64)>) -> Vec<(f64, Interval)> {
        let points = points.into_iter();
        points.map(|(x, y)| (x, self.measured(y))).collect()
    }
}

/// The share of noisy curves whose answer is not `truth`.
fn errors<T: PartialEq>(share: f64, truth: &T, answer: impl Fn(&mut Noise) -> Option<T>) -> f64 {
    let wrong =
        (0..CURVES).filter(|seed| answer(&mut Noise::new(*seed, share)).as_ref() != Some(truth));
    wrong.count() as f64 / CURVES as f64
}

/// A machine as the model of a walk has it.
fn machine(l1: (f64, f64), l2: (f64, f64), llc: f64) -> Walk {
    let level = |bytes, ways, placement, cost| Level {
        bytes,
        ways,
        placement,
        cost,
    };
    Walk {
        levels: vec![
            level(l1.0, l1.1, Placement::Even, 5.0),
            level(l2.0, l2.1, Placement::ByChance, 15.0),
            level(llc, 16.0, Placement::ByChance, 60.0),
        ],
        memory: 400.0,
        line: 64.0,
        translation: None,
    }
}

/// Its ladder in half octaves from 4 KiB to 1 GiB.
fn ladder(machine: &Walk) -> impl Iterator<Item = (f64, f64)> {
    let bytes = (24..=60).map(|half| 2f64.powf(f64::from(half) / 2.0));
    bytes.map(|bytes| (bytes, machine.step(bytes, 64.0)))
}

/// L1d and L2 of a Nehalem, a Zen 4, a Skylake, a Golden Cove and an Ice Lake, of servers
/// (the L1d of the latter three is that of Golden Cove).
fn machines() -> [(Walk, f64); 5] {
    [
        (
            machine((32.0 * KIB, 8.0), (256.0 * KIB, 8.0), 8.0 * MIB),
            256.0 * KIB,
        ),
        (
            machine((32.0 * KIB, 8.0), (1.0 * MIB, 8.0), 32.0 * MIB),
            1.0 * MIB,
        ),
        (
            machine((48.0 * KIB, 12.0), (1.0 * MIB, 16.0), 24.0 * MIB),
            1.0 * MIB,
        ),
        (
            machine((48.0 * KIB, 12.0), (2.0 * MIB, 16.0), 30.0 * MIB),
            2.0 * MIB,
        ),
        (
            machine((48.0 * KIB, 12.0), (1.25 * MIB, 20.0), 30.0 * MIB),
            1.25 * MIB,
        ),
    ]
}

#[test]
fn levels_and_their_latencies_come_out_of_a_ladder() {
    for (machine, _) in machines() {
        for share in [0.0, 0.01, 0.03] {
            let wrong = errors(share, &true, |noise| {
                let found = levels(&noise.curve(ladder(&machine)));
                let truth = [5.0, 15.0, 60.0, 400.0];
                let near = |(level, truth): (&linefill::infer::Level, f64)| {
                    (level.latency.value / truth - 1.0).abs() < 0.1
                };
                Some(found.len() == 4 && found.iter().zip(truth).all(near))
            });
            assert!(wrong <= 0.02, "{share}: {wrong} wrong");
        }
    }
}

#[test]
fn the_size_of_l2_is_found_as_it_is_built() {
    for (machine, l2) in machines() {
        for (share, allowed) in [(0.0, 0.0), (0.01, 0.0), (0.03, 0.05)] {
            let wrong = errors(share, &l2, |noise| {
                Some(size(&noise.curve(ladder(&machine)), 1)?.value)
            });
            assert!(wrong <= allowed, "{l2} at {share}: {wrong} wrong");
        }
    }
}

/// A share of the last level of four times L2 has no plateau in half octaves, but a shelf.
#[test]
fn the_size_of_l2_is_found_before_a_small_share_of_the_last_level() {
    for (share, allowed) in [(4.0, 0.0), (5.0, 0.0), (6.0, 0.0)] {
        let machine = machine((32.0 * KIB, 8.0), (1.0 * MIB, 8.0), share * MIB);
        let wrong = errors(0.03, &MIB, |noise| {
            Some(size(&noise.curve(ladder(&machine)), 1)?.value)
        });
        assert!(wrong <= allowed, "{share} MiB: {wrong} wrong");
    }
}

#[test]
fn ends_hold_the_size_of_every_level() {
    for (machine, _) in machines() {
        let found = levels(&Noise::new(1, 0.01).curve(ladder(&machine)));
        for (level, truth) in found.iter().zip(&machine.levels) {
            let ends = level.ends.expect("an end");
            assert!(
                ends.lo * 0.9 <= truth.bytes && truth.bytes < ends.hi * 1.1,
                "{ends}"
            );
        }
        assert_eq!(found.last().map(|memory| memory.ends), Some(None));
    }
}

#[test]
fn a_level_that_ends_within_a_rung_leaves_a_choice() {
    // Even sets, as in 2 MiB pages: 1 MiB and 1.25 MiB end between the same two rungs.
    let mut machine = machine((32.0 * KIB, 8.0), (1.0 * MIB, 8.0), 32.0 * MIB);
    machine.levels[1].placement = Placement::Even;
    let found = size(&Noise::new(1, 0.001).curve(ladder(&machine)), 1).expect("an end");
    assert_eq!((found.value, found.confidence), (1.0 * MIB, 0.5));
    machine.levels[1].bytes = 1.25 * MIB;
    machine.levels[1].ways = 20.0;
    let found = size(&Noise::new(1, 0.001).curve(ladder(&machine)), 1).expect("an end");
    assert!(found.confidence <= 0.5, "{found:?}");
}

#[test]
fn a_flat_ladder_is_one_level_and_nonsense_is_none() {
    let flat: Vec<(f64, Interval)> = (0..20)
        .map(|at| (f64::from(4096 << at), Interval::exact(5.0)))
        .collect();
    let found = levels(&flat);
    assert_eq!((found.len(), found[0].ends), (1, None));
    assert_eq!(size(&flat, 0), None);
    assert!(levels(&[]).is_empty());
    let negative: Vec<(f64, Interval)> = flat
        .iter()
        .map(|(x, _)| (*x, Interval::new(-2.0, 1.0)))
        .collect();
    assert!(levels(&negative).is_empty());
}

/// Times of lists of 1 to 32 elements so many bytes apart, in a cache of `sets` sets.
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
                    (
                        f64::from(distance),
                        noise.curve(conflicts(ways, sets_of, distance)),
                    )
                });
                let borrowed: Vec<(f64, &Curve)> = curves
                    .iter()
                    .map(|(distance, of)| (*distance, of.as_slice()))
                    .collect();
                let found = sets(&borrowed)?;
                Some((found.value.period, found.value.ways))
            });
            assert!(wrong <= allowed, "{ways} ways at {share}: {wrong} wrong");
        }
    }
    let flat = Noise::new(1, 0.0).curve(conflicts(40, 64, 4096));
    assert_eq!(sets(&[(4096.0, &flat)]), None);
}

/// The share of misses in lists of `ways + 1` elements and more, by policy, simulated.
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
        let mut lap = |laps: u64| {
            for _ in 0..laps {
                for element in 0..u64::from(length) {
                    cache.reference(Reference::load(element * 4096, 8));
                }
            }
            cache.counters().reads.misses
        };
        let warm = lap(50);
        (lap(200) - warm) as f64 / f64::from(200 * length)
    };
    policies
        .map(|(name, policy)| {
            let lengths = ways + 1..=4 * ways;
            (
                name,
                lengths
                    .map(|length| (length, share(policy, length)))
                    .collect(),
            )
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
                let longer = shares
                    .iter()
                    .map(|(length, lost)| (f64::from(*length), 5.0 + 10.0 * lost));
                let curve = noise.curve(hits.chain(longer));
                Some(policy(&curve, 8, &known)?.value)
            });
            assert!(wrong <= allowed, "{name} at {share}: {wrong} wrong");
        }
    }
    assert!(
        lost(&[(1.0, 5.0), (9.0, 15.0)], 8).is_empty(),
        "the longest must be long"
    );
}

#[test]
fn the_line_comes_out_of_offsets() {
    for truth in [32, 64, 128] {
        let times = move || {
            (0..truth).map(move |offset| {
                let crosses = offset + 8 > truth;
                (f64::from(offset), if crosses { 5.0 } else { 4.0 })
            })
        };
        for (share, allowed) in [(0.0, 0.0), (0.02, 0.0), (0.04, 0.1)] {
            let wrong = errors(share, &truth, |noise| {
                Some(line(&noise.curve(times()), 8.0)?.value)
            });
            assert!(wrong <= allowed, "{truth} at {share}: {wrong} wrong");
        }
    }
    let flat: Vec<(f64, Interval)> = (0..64)
        .map(|at| (f64::from(at), Interval::exact(4.0)))
        .collect();
    assert_eq!(line(&flat, 8.0), None);
}

#[test]
fn entries_and_buffers_come_out_of_their_knees() {
    let pages = |truth: f64| {
        let some = [
            16.0, 32.0, 48.0, 56.0, 64.0, 72.0, 80.0, 96.0, 104.0, 128.0, 256.0, 384.0,
        ];
        some.map(|pages| (pages, if pages <= truth { 4.0 } else { 11.0 }))
    };
    for truth in [64.0, 72.0, 96.0] {
        let wrong = errors(0.03, &true, |noise| {
            let found = entries(&noise.curve(pages(truth)), 16.0, 384.0)?;
            Some(found.lo <= truth && truth <= found.hi)
        });
        assert_eq!(wrong, 0.0, "{truth}");
    }
    assert_eq!(
        entries(&Noise::new(1, 0.0).curve(pages(1000.0)), 16.0, 384.0),
        None
    );

    let streams = |truth: u32| {
        (1..=24).map(move |n: u32| (f64::from(n), if n <= truth { 8.0 } else { 160.0 }))
    };
    for truth in [8, 10, 12] {
        let wrong = errors(0.05, &truth, |noise| {
            Some(last_before_rise(&noise.curve(streams(truth)))?.value)
        });
        assert_eq!(wrong, 0.0, "{truth}");
    }

    // A number that is 5 % short of the truth takes hardly longer.
    let walks = |truth: u32| {
        let numbers = (1..=32).map(f64::from);
        numbers.map(move |n| (n, 400.0 / n.min(f64::from(truth))))
    };
    for truth in [10, 12, 16, 24] {
        for (share, width) in [(0.0, 2.0), (0.02, 12.0)] {
            let wrong = errors(share, &true, |noise| {
                let found = in_parallel(&noise.curve(walks(truth)))?;
                let truth = f64::from(truth);
                Some(found.lo <= truth && truth <= found.hi + 2.0 && found.hi - found.lo <= width)
            });
            assert!(wrong <= 0.05, "{truth} at {share}: {wrong} wrong");
        }
    }
}

/// Rounds run side by side in threes, then in twos, then alone, each with its stores behind it.
#[test]
fn stores_that_wait_come_out_of_rounds_that_run_abreast() {
    let rounds = |truth: u32| {
        (8..=128).step_by(4).map(move |stores: u32| {
            // So many chains of divisions are under way as the stores between them find room.
            let abreast = f64::from((truth / stores + 1).min(3));
            let stores = f64::from(stores);
            (stores, (156.0 + stores / 2.0) / abreast)
        })
    };
    for truth in [20, 32, 42, 56, 64, 72, 114] {
        for (share, allowed) in [(0.0, 0.0), (0.03, 0.0), (0.08, 0.05)] {
            let wrong = errors(share, &true, |noise| {
                let [least, most] = last_abreast(&noise.curve(rounds(truth)))?.value;
                Some(least <= truth && truth <= most)
            });
            assert!(wrong <= allowed, "{truth} at {share}: {wrong} wrong");
        }
    }
    let flat = Noise::new(1, 0.0).curve((8..=128).map(|n: u32| (f64::from(n), 100.0)));
    assert_eq!(last_abreast(&flat), None);
}

/// Behind an L1d of 8 ways: what leaves L2 goes to a level that takes four times as long.
#[test]
fn ways_and_sets_of_the_second_level_come_out_of_lists_far_apart() {
    for (ways, sets_of) in [(8, 2048), (16, 2048), (4, 1024), (20, 1024)] {
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
            let borrowed: Vec<(f64, &Curve)> = curves
                .iter()
                .map(|(distance, of)| (*distance, of.as_slice()))
                .collect();
            let found = sets_within(&borrowed, 37.0)?;
            Some((found.value.period, found.value.ways))
        });
        assert_eq!(wrong, 0.0, "{ways} ways");
    }
}

/// What is said to be sure is right more often than what is not.
#[test]
fn confidence_means_something() {
    let truth = 64;
    let (mut sure, mut wrong_and_sure) = (0, 0);
    for seed in 0..CURVES {
        let mut noise = Noise::new(seed, 0.06);
        let times = (0..64).map(|offset| (f64::from(offset), if offset > 56 { 5.0 } else { 4.0 }));
        let Some(found) = line(&noise.curve(times), 8.0) else {
            continue;
        };
        if found.confidence > 0.9 {
            sure += 1;
            wrong_and_sure += u32::from(found.value != truth);
        }
    }
    assert!(wrong_and_sure * 20 <= sure, "{wrong_and_sure} of {sure}");
}

#[test]
fn nothing_comes_of_nothing() {
    assert_eq!(
        decide(&[], |points| points.first().map(|p| p.0 as u32)),
        None
    );
    assert_eq!(line(&[], 8.0), None);
    assert_eq!(sets(&[]), None);
    assert_eq!(entries(&[], 16.0, 384.0), None);
    assert_eq!(last_before_rise(&[]), None);
    assert_eq!(in_parallel(&[]), None);
    assert_eq!(settled([], 0.01), None);
    assert_eq!(size(&[], 0), None);
}

/// The record of a Zen 4 guest: what CPUID says of it, found without asking.
#[cfg(feature = "lab")]
#[test]
fn the_recorded_machine_is_found_as_it_is() {
    use linefill::lab::convert::{ladder_of, machine_of, points_of};
    use linefill::lab::inferred::Inferred;

    let records = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("records");
    let mut seen = 0;
    for entry in std::fs::read_dir(records).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "jsonl") {
            continue;
        }
        let reading = linefill::lab::read::read(&path).unwrap();
        let (header, lines) = (reading.header(), &reading.lines);
        let ladder = ladder_of(lines);
        let machine = machine_of(header, &ladder);
        let found = Inferred::of(&machine, &ladder, |id| points_of(lines, id));
        let stated = |level| machine.data_cache(level).expect("a cache by CPUID");
        let (l1, l2) = (stated(1), stated(2));
        let name = path.display();
        assert_eq!(
            found.line.as_ref().map(|of| of.value),
            Some(l1.line),
            "{name}"
        );
        assert_eq!(found.l1_size(), Some(l1.size as f64), "{name}");
        assert_eq!(found.l1.as_ref().map(|of| of.value.ways), l1.ways, "{name}");
        assert_eq!(
            found.l2.as_ref().map(|of| of.value),
            Some(l2.size as f64),
            "{name}"
        );
        assert!(found.levels.len() >= 4, "{name}");
        assert!(
            found.clock.is_some_and(|clock| clock.confidence > 0.5),
            "{name}"
        );
        seen += 1;
    }
    assert!(seen > 0);
}
