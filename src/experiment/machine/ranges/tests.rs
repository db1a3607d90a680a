use super::*;

const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * KIB;

fn ladder(costs: &[(f64, f64)]) -> Vec<Rung> {
    costs
        .iter()
        .map(|&(working_set, cost)| Rung { working_set, cost: Interval::exact(cost) })
        .collect()
}

#[test]
fn a_ladder_ends_in_memory_though_its_last_level_has_no_plateau() {
    // Core cycles on a crowded guest. Farther on, page walks make steps slower: 40 % at 1 GiB.
    let costs = [
        (16.0 * KIB, 5.0),
        (32.0 * KIB, 5.0),
        (64.0 * KIB, 15.9),
        (128.0 * KIB, 16.4),
        (256.0 * KIB, 15.8),
        (512.0 * KIB, 17.3),
        (1.0 * MIB, 20.1),
        (1.4 * MIB, 25.4),
        (2.0 * MIB, 82.9),
        (2.8 * MIB, 130.9),
        (4.0 * MIB, 142.5),
        (5.7 * MIB, 160.4),
        (8.0 * MIB, 185.9),
        (11.3 * MIB, 262.8),
        (16.0 * MIB, 320.9),
        (22.6 * MIB, 484.2),
        (32.0 * MIB, 562.6),
        (45.3 * MIB, 570.8),
        (64.0 * MIB, 577.3),
        (90.5 * MIB, 580.6),
        (128.0 * MIB, 585.0),
        (181.0 * MIB, 586.1),
        (256.0 * MIB, 589.3),
    ];
    let crowded = ladder(&costs);
    assert_eq!(steps_of(&crowded).len(), 2);
    assert!(flat_in_memory(&crowded, 3));
    // The way up is not the end, and neither is a last level that holds all of it.
    assert!(!flat_in_memory(&crowded[..16], 3));
    let within = |(size, cost): (f64, f64)| (size, f64::min(cost, 140.0));
    assert!(!flat_in_memory(&ladder(&costs.map(within)), 3));
}

#[test]
fn a_slice_of_a_huge_cache_is_found_by_measuring() {
    // The guest of a Sapphire Rapids whose CPUID claims 260 MiB: memory begins near 16 MiB.
    let rungs = ladder(&[
        (16.0 * KIB, 5.0),
        (32.0 * KIB, 5.0),
        (64.0 * KIB, 16.0),
        (256.0 * KIB, 16.0),
        (1.0 * MIB, 20.0),
        (2.0 * MIB, 30.0),
        (4.0 * MIB, 105.0),
        (8.0 * MIB, 110.0),
        (16.0 * MIB, 390.0),
        (64.0 * MIB, 400.0),
    ]);
    let ranges =
        Ranges::from_ladder(&rungs, [Some(48.0 * KIB), Some(2.0 * MIB), Some(260.0 * MIB)]);
    let llc = ranges.capacities[2].usable();
    assert!((8.0 * MIB..16.0 * MIB).contains(&llc), "{llc}");
    assert!(ranges.memory.holds(64.0 * MIB));
    assert!(ranges.llc.holds(4.0 * MIB));
    assert!(ranges.l2.holds(256.0 * KIB));
}

#[test]
fn a_slice_of_less_than_a_64th_is_found_too() {
    // A guest of an Emerald Rapids: CPUID claims 300 MiB, and memory begins near 5 MiB.
    let rungs = ladder(&[
        (22.6 * KIB, 5.2),
        (45.3 * KIB, 5.1),
        (64.0 * KIB, 16.3),
        (724.0 * KIB, 16.3),
        (1448.0 * KIB, 16.3),
        (2048.0 * KIB, 42.0),
        (2896.0 * KIB, 96.0),
        (4096.0 * KIB, 105.0),
        (5792.0 * KIB, 310.0),
        (8192.0 * KIB, 348.0),
        (65536.0 * KIB, 345.0),
        (262144.0 * KIB, 370.0),
    ]);
    let reported = [48.0 * KIB, 2.0 * MIB, 300.0 * MIB].map(Some);
    let ranges = Ranges::from_ladder(&rungs, reported);
    let l2 = ranges.capacities[1].usable();
    assert!((1.5 * MIB..2.5 * MIB).contains(&l2), "{l2}");
    let llc = ranges.capacities[2].usable();
    assert!((4.0 * MIB..5.7 * MIB).contains(&llc), "{llc}");
    assert!(ranges.memory.holds(32.0 * MIB));
}

#[test]
fn a_slice_without_a_shelf_ends_where_memory_begins() {
    // Another guest of an Emerald Rapids: between L2 and memory nothing is level.
    let rungs = [
        (45.3 * KIB, 4.9),
        (64.0 * KIB, 16.0),
        (1448.0 * KIB, 16.0),
        (2048.0 * KIB, 48.0),
        (2896.0 * KIB, 106.0),
        (4096.0 * KIB, 138.0),
        (5792.0 * KIB, 345.0),
        (8192.0 * KIB, 340.0),
        (64.0 * MIB, 347.0),
        (256.0 * MIB, 362.0),
    ];
    let reported = [48.0 * KIB, 2.0 * MIB, 300.0 * MIB].map(Some);
    let far = [&rungs[..], &[(2048.0 * MIB, 359.0)]].concat();
    let ranges = Ranges::from_ladder(&ladder(&far), reported);
    assert_eq!(ranges.capacities[2].measured, Some(5792.0 * KIB));
    assert!(ranges.memory.holds(32.0 * MIB));
    // Memory is known by its cost too, but what lies behind a last rung in the last level is not known.
    let near = Ranges::from_ladder(&ladder(&rungs), reported);
    assert_eq!(near.capacities[2].measured, Some(5792.0 * KIB));
    let kept = rungs.map(|(size, cost)| (size, f64::min(cost, 138.0)));
    let within = Ranges::from_ladder(&ladder(&kept), reported);
    assert_eq!(within.capacities[2].measured, None);
}

#[test]
fn page_walks_are_no_level() {
    // A guest of an Emerald Rapids beside a busy hyper-thread: the last level has no plateau, and page walks
    // make steps in memory slower by 80 %.
    let rungs = ladder(&[
        (4.0 * KIB, 5.0),
        (31.0 * KIB, 5.6),
        (44.0 * KIB, 14.9),
        (64.0 * KIB, 16.1),
        (256.0 * KIB, 16.3),
        (724.0 * KIB, 22.3),
        (1.0 * MIB, 45.0),
        (1.4 * MIB, 73.5),
        (2.0 * MIB, 126.0),
        (2.8 * MIB, 399.0),
        (4.0 * MIB, 396.0),
        (8.0 * MIB, 403.0),
        (16.0 * MIB, 426.0),
        (32.0 * MIB, 435.0),
        (64.0 * MIB, 444.0),
        (90.5 * MIB, 480.0),
        (128.0 * MIB, 460.0),
        (181.0 * MIB, 489.0),
        (256.0 * MIB, 500.0),
        (362.0 * MIB, 518.0),
        (512.0 * MIB, 519.0),
        (724.0 * MIB, 615.0),
        (1024.0 * MIB, 659.0),
        (1448.0 * MIB, 733.0),
        (2048.0 * MIB, 773.0),
    ]);
    for mib in [300.0, 480.0, 1152.0] {
        let reported = [48.0 * KIB, 2.0 * MIB, mib * MIB].map(Some);
        let ranges = Ranges::from_ladder(&rungs, reported);
        assert_eq!(ranges.capacities[2].measured, Some(2.8 * MIB));
        assert!(ranges.memory.holds(128.0 * MIB));
    }
    let to = |count: usize| flat_in_memory(&rungs[..count], 3);
    assert!(to(19), "memory is reached at 256 MiB");
    assert!(!to(10), "and not where it begins");
}

#[test]
fn without_cpuid_the_steps_stand_alone() {
    let rungs = ladder(&[
        (16.0 * KIB, 4.0),
        (32.0 * KIB, 4.0),
        (64.0 * KIB, 14.0),
        (512.0 * KIB, 14.0),
        (2.0 * MIB, 50.0),
        (8.0 * MIB, 50.0),
        (64.0 * MIB, 400.0),
    ]);
    let ranges = Ranges::from_ladder(&rungs, [None; 3]);
    let l1 = ranges.capacities[0].usable();
    assert!((32.0 * KIB..64.0 * KIB).contains(&l1), "{l1}");
    assert!(ranges.memory.lo > 32.0 * MIB);
}

#[test]
fn the_next_level_begins_beyond_all_of_a_level_that_others_use_too() {
    // A hyper-thread takes most of L2: of one MiB, the ladder shows a third.
    let rungs = ladder(&[
        (16.0 * KIB, 4.0),
        (32.0 * KIB, 4.0),
        (64.0 * KIB, 14.0),
        (0.25 * MIB, 14.0),
        (0.5 * MIB, 50.0),
        (16.0 * MIB, 50.0),
        (64.0 * MIB, 400.0),
        (256.0 * MIB, 400.0),
    ]);
    let reported = [32.0 * KIB, MIB, 32.0 * MIB].map(Some);
    let ranges = Ranges::from_ladder(&rungs, reported);
    assert!(ranges.l2.hi < 0.25 * MIB, "{}", ranges.l2);
    assert_eq!(ranges.llc.lo, 2.0 * MIB);
}

#[test]
fn a_cache_larger_than_the_ladder_keeps_its_reported_size() {
    let rungs = ladder(&[(16.0 * KIB, 4.0), (64.0 * KIB, 14.0), (1.0 * MIB, 14.5)]);
    let ranges =
        Ranges::from_ladder(&rungs, [Some(32.0 * KIB), Some(2.0 * MIB), Some(768.0 * MIB)]);
    assert_eq!(ranges.capacities[2].usable(), 768.0 * MIB);
    assert!(!ranges.memory.holds(1024.0 * MIB));
}

#[test]
fn a_range_says_where_it_lies_or_that_it_is_empty() {
    let said = |lo: f64, hi: f64| {
        let (lo, hi) = (lo * KIB, hi * KIB);
        Range { lo, hi }.to_string()
    };
    assert_eq!(said(64.0, 512.0), "range 64 to 512 KiB");
    assert_eq!(said(64.0, f64::INFINITY), "range from 64 KiB");
    let empty = "empty range (it would begin at 2048 KiB and end at 1113 KiB)";
    assert_eq!(said(2048.0, 1113.0), empty);
}
