//! Ranges from the ladders of machines with known properties.

use linefill::experiment::Ranges;
use linefill::pattern::Rng;

use super::machines::{KIB, Level, MIB, Model, half_octaves, server, zen};

fn model<const N: usize>(levels: [(f64, f64); N], memory: f64) -> Model {
    Model {
        levels: levels.into_iter().map(|(bytes, cost)| Level { bytes, ways: 8, cost }).collect(),
        memory,
        load_to_use: None,
        ports: None,
        locations: Vec::new(),
    }
}

/// A Coffee Lake desktop.
fn client() -> Model {
    model([(32.0 * KIB, 4.0), (256.0 * KIB, 12.0), (12.0 * MIB, 42.0)], 250.0)
}

/// A Core 2, which has two levels.
fn core_2() -> Model {
    model([(32.0 * KIB, 3.0), (6.0 * MIB, 15.0)], 200.0)
}

fn exact(_: usize) -> f64 {
    1.0
}

/// The usable capacities, in KiB.
fn capacities(ranges: &Ranges) -> Vec<f64> {
    let capacities = ranges.capacities.iter();
    capacities.map(|capacity| capacity.usable() / KIB).collect()
}

/// Every working set in a range must fit its level, and each range must contain a measured working set.
#[track_caller]
fn check(model: &Model, ranges: &Ranges, largest: f64) {
    let mut costs: Vec<f64> = model.levels.iter().map(|level| level.cost).collect();
    costs.push(model.memory);
    let all = [ranges.l1, ranges.l2, ranges.llc, ranges.memory];
    let last = all.len() - 1;
    let caches = model.levels.last().map_or(0.0, |level| level.bytes);
    assert!(ranges.memory.lo >= 2.8 * caches, "{}", ranges.memory);
    for (index, range) in all.into_iter().enumerate() {
        let inside: Vec<f64> = half_octaves(largest).filter(|bytes| range.holds(*bytes)).collect();
        if index == 2 && model.levels.len() == 2 {
            assert!(inside.is_empty(), "a level that there is not: {range}");
            continue;
        }
        assert!(!inside.is_empty(), "nothing in the {range}");
        let level = if index == last { costs.len() - 1 } else { index };
        for bytes in inside {
            assert_eq!(model.cost(bytes), costs[level], "{bytes} in the {range}");
        }
    }
}

#[test]
fn reported_sizes_that_are_true_are_kept() {
    let all = [
        (client(), [32.0, 256.0, 12.0 * 1024.0]),
        (server(), [48.0, 2048.0, 30.0 * 1024.0]),
        (zen(), [32.0, 1024.0, 32.0 * 1024.0]),
    ];
    for (model, wanted) in all {
        let ladder = model.ladder(1024.0 * MIB, exact);
        let ranges = Ranges::from_ladder(&ladder, model.reported());
        for (usable, wanted) in capacities(&ranges).into_iter().zip(wanted) {
            // With two points per octave, a step is found within a factor of the square root of 2.
            assert!(usable <= wanted && wanted <= 1.42 * usable, "{usable} for {wanted} KiB");
        }
        check(&model, &ranges, 1024.0 * MIB);
    }
}

#[test]
fn a_guest_gets_the_slice_it_has_and_not_what_cpuid_claims() {
    for slice in [8.0, 12.0, 16.0, 24.0, 48.0, 64.0] {
        let mut guest = server();
        guest.levels[2].bytes = slice * MIB;
        let ladder = guest.ladder(1024.0 * MIB, exact);
        let reported = [Some(48.0 * KIB), Some(2.0 * MIB), Some(260.0 * MIB)];
        let ranges = Ranges::from_ladder(&ladder, reported);
        let found = ranges.capacities[2].usable() / MIB;
        assert!((slice..=1.5 * slice).contains(&found), "{found} for {slice} MiB");
        assert!(ranges.memory.lo > slice * MIB);
        check(&guest, &ranges, 1024.0 * MIB);
    }
}

#[test]
fn a_cache_larger_than_every_rung_leaves_no_memory_to_measure() {
    let mut huge = server();
    huge.levels[2].bytes = 768.0 * MIB;
    let ladder = huge.ladder(512.0 * MIB, exact);
    let ranges = Ranges::from_ladder(&ladder, huge.reported());
    assert_eq!(ranges.capacities[2].measured, None);
    assert_eq!(ranges.memory.lo, 4.0 * 768.0 * MIB);
}

#[test]
fn without_cpuid_the_ladder_suffices() {
    for model in [client(), server(), zen(), core_2()] {
        let ladder = model.ladder(1024.0 * MIB, exact);
        let ranges = Ranges::from_ladder(&ladder, [None; 3]);
        check(&model, &ranges, 1024.0 * MIB);
    }
}

#[test]
fn memory_begins_behind_the_second_level_where_there_is_no_third() {
    let model = core_2();
    let ladder = model.ladder(1024.0 * MIB, exact);
    let ranges = Ranges::from_ladder(&ladder, model.reported());
    assert_eq!(ranges.capacities[2].measured, None);
    check(&model, &ranges, 1024.0 * MIB);
}

#[test]
fn a_last_level_that_cpuid_conceals_is_found_by_its_step() {
    let model = client();
    let ladder = model.ladder(1024.0 * MIB, exact);
    let reported = [Some(32.0 * KIB), Some(256.0 * KIB), None];
    check(&model, &Ranges::from_ladder(&ladder, reported), 1024.0 * MIB);
}

#[test]
fn noise_of_three_percent_moves_no_range_off_its_level() {
    for model in [client(), server(), zen()] {
        for seed in 0..200 {
            let mut rng = Rng::new(seed);
            let ladder = model.ladder(1024.0 * MIB, |_| 0.97 + rng.below(61) as f64 / 1000.0);
            for reported in [model.reported(), [None; 3]] {
                let ranges = Ranges::from_ladder(&ladder, reported);
                check(&model, &ranges, 1024.0 * MIB);
            }
        }
    }
}

/// A TLB or a row buffer that misses slightly more at every point: 3 % per point counts as a plateau.
#[test]
fn a_slope_of_three_percent_a_rung_is_no_step() {
    for model in [client(), server(), zen()] {
        let ladder = model.ladder(1024.0 * MIB, |rung| 1.03_f64.powi(rung as i32));
        for reported in [model.reported(), [None; 3]] {
            check(&model, &Ranges::from_ladder(&ladder, reported), 1024.0 * MIB);
        }
    }
}

/// A physically indexed cache with randomly placed pages loses lines before it is full.
#[test]
fn a_step_spread_over_an_octave_leaves_the_ranges_on_their_levels() {
    for model in [client(), server(), zen()] {
        let mut ladder = model.ladder(1024.0 * MIB, exact);
        let hard: Vec<f64> = ladder.iter().map(|rung| rung.cost.middle()).collect();
        for index in 1..hard.len() - 1 {
            // The first point after a step has half of the step.
            if hard[index] > hard[index - 1] {
                let soft = (hard[index - 1] * hard[index]).sqrt();
                ladder[index].cost = linefill::stats::Interval::exact(soft);
            }
        }
        let ranges = Ranges::from_ladder(&ladder, model.reported());
        check(&model, &ranges, 1024.0 * MIB);
    }
}

#[test]
fn hostile_ladders_give_ranges_that_are_in_order() {
    let empty = Ranges::from_ladder(&[], [None; 3]);
    assert!(empty.l1.lo < empty.l1.hi && empty.memory.lo >= 4.0 * empty.llc.hi);
    let model = client();
    for value in [0.0, -5.0, 1e300, 1e-300] {
        for at in 0..20 {
            let ladder = model.ladder(64.0 * MIB, |rung| if rung == at { value } else { 1.0 });
            for reported in [model.reported(), [None; 3]] {
                let ranges = Ranges::from_ladder(&ladder, reported);
                for range in [ranges.l1, ranges.l2, ranges.llc, ranges.memory] {
                    assert!(range.lo > 0.0 && range.hi > 0.0, "{range}");
                }
            }
        }
    }
}
