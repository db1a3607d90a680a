//! Cache levels and their sizes, from ladders.

use linefill::infer::{levels, size, sizes};
use linefill::model::{Level, Placement, Translation, Walk};
use linefill::stats::Interval;

use super::{KIB, MIB, Noise, errors};

/// A machine for the model of a walk.
fn machine(l1: (f64, f64), l2: (f64, f64), llc: f64) -> Walk {
    let level = |bytes, ways, placement, cost| Level { bytes, ways, placement, cost };
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

/// The machine's ladder in half octaves from 4 KiB to 1 GiB.
fn ladder(machine: &Walk) -> Vec<(f64, f64)> {
    let bytes = (24..=60).map(|half| 2f64.powf(f64::from(half) / 2.0));
    bytes.map(|bytes| (bytes, machine.step(bytes, 64.0))).collect()
}

/// L1d and L2 of a Nehalem, a Zen 4, a Skylake, a Golden Cove and an Ice Lake server. (The last three have
/// Golden Cove's L1d.)
fn machines() -> [(Walk, f64); 5] {
    [
        (machine((32.0 * KIB, 8.0), (256.0 * KIB, 8.0), 8.0 * MIB), 256.0 * KIB),
        (machine((32.0 * KIB, 8.0), (1.0 * MIB, 8.0), 32.0 * MIB), 1.0 * MIB),
        (machine((48.0 * KIB, 12.0), (1.0 * MIB, 16.0), 24.0 * MIB), 1.0 * MIB),
        (machine((48.0 * KIB, 12.0), (2.0 * MIB, 16.0), 30.0 * MIB), 2.0 * MIB),
        (machine((48.0 * KIB, 12.0), (1.25 * MIB, 20.0), 30.0 * MIB), 1.25 * MIB),
    ]
}

#[test]
fn levels_and_their_latencies_come_out_of_a_ladder() {
    for (machine, _) in machines() {
        let ladder = ladder(&machine);
        for share in [0.0, 0.01, 0.03] {
            let wrong = errors(share, &true, |noise| {
                let found = levels(&noise.curve(ladder.clone()));
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
        let ladder = ladder(&machine);
        for (share, allowed) in [(0.0, 0.0), (0.01, 0.0), (0.03, 0.05)] {
            let wrong =
                errors(share, &l2, |noise| Some(size(&noise.curve(ladder.clone()), 1)?.value));
            assert!(wrong <= allowed, "{l2} at {share}: {wrong} wrong");
        }
    }
}

/// If the share of the last level is only four times L2, it shows no plateau in half octaves, but only a
/// shelf.
#[test]
fn the_size_of_l2_is_found_before_a_small_share_of_the_last_level() {
    for (share, allowed) in [(4.0, 0.0), (5.0, 0.0), (6.0, 0.0)] {
        let machine = machine((32.0 * KIB, 8.0), (1.0 * MIB, 8.0), share * MIB);
        let ladder = ladder(&machine);
        let wrong = errors(0.03, &MIB, |noise| Some(size(&noise.curve(ladder.clone()), 1)?.value));
        assert!(wrong <= allowed, "{share} MiB: {wrong} wrong");
    }
}

/// Address translation raises the times in both levels. The search does not model it, but must still find the
/// common size, not an unusual one.
#[test]
fn the_size_of_l2_is_found_behind_a_small_tlb() {
    for (mut machine, l2) in machines() {
        let tlb = |entries: f64, cost| Level {
            bytes: entries * 4096.0,
            ways: entries,
            placement: Placement::Even,
            cost,
        };
        machine.translation = Some(Translation {
            page: 4096.0,
            tlbs: vec![tlb(64.0, 0.0), tlb(2048.0, 4.0)],
            loads: 2.0,
        });
        let ladder = ladder(&machine);
        let wrong = errors(0.03, &l2, |noise| Some(size(&noise.curve(ladder.clone()), 1)?.value));
        assert!(wrong <= 0.05, "{l2}: {wrong} wrong");
    }
}

#[test]
fn ends_hold_the_size_of_every_level() {
    for (machine, _) in machines() {
        let found = levels(&Noise::new(1, 0.01).curve(ladder(&machine)));
        for (level, truth) in found.iter().zip(&machine.levels) {
            let ends = level.ends.expect("an end");
            assert!(ends.lo * 0.9 <= truth.bytes && truth.bytes < ends.hi * 1.1, "{ends}");
        }
        assert_eq!(found.last().map(|memory| memory.ends), Some(None));
    }
}

#[test]
fn a_level_that_ends_within_a_rung_leaves_a_choice() {
    // With an even distribution over the sets, as in 2 MiB pages, 1 MiB and 1.25 MiB end between the same two
    // points.
    let mut machine = machine((32.0 * KIB, 8.0), (1.0 * MIB, 8.0), 32.0 * MIB);
    machine.levels[1].placement = Placement::Even;
    let noisy = |machine: &Walk| Noise::new(1, 0.001).curve(ladder(machine));
    let found = size(&noisy(&machine), 1).expect("an end");
    assert_eq!((found.value, found.confidence), (1.0 * MIB, 0.5));
    machine.levels[1].bytes = 1.25 * MIB;
    machine.levels[1].ways = 20.0;
    let ladder = noisy(&machine);
    let found = size(&ladder, 1).expect("an end");
    assert!(found.confidence <= 0.5, "{found:?}");
    assert_eq!(sizes(&ladder, 1), [1.0 * MIB, 1.25 * MIB]);
}

#[test]
fn a_flat_ladder_is_one_level_and_nonsense_is_none() {
    let flat: Vec<(f64, Interval)> =
        (0..20).map(|at| (f64::from(4096 << at), Interval::exact(5.0))).collect();
    let found = levels(&flat);
    assert_eq!((found.len(), found[0].ends), (1, None));
    assert_eq!(size(&flat, 0), None);
    assert!(levels(&[]).is_empty());
    let negative: Vec<(f64, Interval)> =
        flat.iter().map(|(x, _)| (*x, Interval::new(-2.0, 1.0))).collect();
    assert!(levels(&negative).is_empty());
}
