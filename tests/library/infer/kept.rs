//! Planted sizes of L2 with the noise of stored records: every pass keeps its ratio to the chosen pass at its
//! working set, and its width.
#![cfg(feature = "lab")]

use linefill::experiment::{LADDER, SPARSE, State};
use linefill::lab::analysis::Analysis;
use linefill::lab::record::{MACHINE, PointLine, Record};
use linefill::model::{Level, Placement, Walk};

use super::{KIB, MIB};
use crate::records::all;

/// L1d, L2 and ways of L2 in a Nehalem, a Zen 2, a Zen 4, an Ice Lake server, a Golden Cove and a Lion Cove.
const CACHES: [(f64, f64, f64); 6] = [
    (32.0 * KIB, 256.0 * KIB, 8.0),
    (32.0 * KIB, 512.0 * KIB, 8.0),
    (32.0 * KIB, 1.0 * MIB, 8.0),
    (48.0 * KIB, 1.25 * MIB, 20.0),
    (48.0 * KIB, 2.0 * MIB, 16.0),
    (48.0 * KIB, 3.0 * MIB, 12.0),
];

fn walk((l1, l2, ways): (f64, f64, f64), placement: Placement) -> Walk {
    let level = |bytes, ways, placement, cost| Level { bytes, ways, placement, cost };
    Walk {
        levels: vec![
            level(l1, 8.0, Placement::Even, 4.0),
            level(l2, ways, placement, 14.0),
            level(32.0 * MIB, 16.0, Placement::ByChance, 53.0),
        ],
        memory: 400.0,
        line: 64.0,
        translation: None,
    }
}

/// Core cycles per step in a pass over a working set.
fn cycles(state: &State) -> Option<f64> {
    let State::Measured(measured) = state else {
        return None;
    };
    Some(measured.ticks.interval.middle() * measured.core_per_tick?)
}

/// The record with nothing but its ladders.
fn ladders(record: &Record) -> Record {
    let is_rung = |line: &&PointLine| {
        let ladders = [LADDER, SPARSE].contains(&line.point.series.as_str());
        line.experiment == MACHINE && ladders && cycles(&line.point.state).is_some()
    };
    let rungs = record.points.iter().filter(is_rung).cloned().collect();
    Record { points: rungs, ..Record::new(record.header.clone()) }
}

/// The record with its ladders scaled to those of another machine.
fn planted(mut record: Record, machine: &Walk) -> Record {
    let measured = record.points.clone();
    for line in &mut record.points {
        let point = &mut line.point;
        let rung = measured.iter().map(|line| &line.point);
        let rung = rung.filter(|other| (&other.series, other.x) == (&point.series, point.x));
        let mut passes: Vec<f64> = rung.filter_map(|other| cycles(&other.state)).collect();
        passes.sort_by(f64::total_cmp);
        // The pass from which a size is inferred: the fastest of the dense ladder, the median of the sparse
        // one.
        let taken = match point.series == LADDER {
            true => passes[0],
            false => passes[passes.len() / 2],
        };
        let factor = machine.step(point.x, 64.0) / taken;
        let State::Measured(measured) = &mut point.state else {
            continue;
        };
        measured.ticks.interval = measured.ticks.interval.scaled(factor);
        for pass in &mut measured.passes {
            pass.interval = pass.interval.scaled(factor);
        }
    }
    record
}

#[test]
fn sizes_of_l2_are_found_under_the_noise_of_kept_records() {
    for stored in all() {
        let kept = ladders(stored.record());
        assert!(!kept.points.is_empty());
        for caches in CACHES {
            let record = planted(kept.clone(), &walk(caches, Placement::ByChance));
            let found = Analysis::of(record).inferred.l2.expect("an end of L2");
            let name = stored.path.display();
            assert_eq!(found.value, caches.1, "{name}: {found:?}");
            // A result with a confidence of at most 0.5 is shown as a range.
            assert!(found.confidence > 0.5, "{name}: {found:?}");
        }
    }
}

/// In 2 MiB pages the sets are filled evenly, and an L2 of 1 MiB ends between the same rungs as one of 1.25 MiB: the
/// sheet says so, and does not contradict what CPUID reports.
#[test]
fn sizes_of_l2_that_end_between_the_same_rungs_are_a_range() {
    for stored in all() {
        let (l1, l2, ways) = (48.0 * KIB, 1.25 * MIB, 20.0);
        let machine = walk((l1, l2, ways), Placement::Even);
        let mut record = planted(ladders(stored.record()), &machine);
        let caches = &mut record.header.cpu.caches;
        let reported = caches.iter_mut().find(|cache| cache.level == 2);
        reported.expect("an L2").bytes = l2 as u64;
        let analysis = Analysis::of(record);
        let (name, found) = (stored.path.display(), &analysis.inferred);
        assert_eq!(found.l2_range, Some([1.0 * MIB, l2]), "{name}");
        let sheet = analysis.sheet();
        let row = sheet.iter().find(|row| row.name == "L2").expect("a row");
        let measured = row.measured.as_deref().expect("a size");
        assert!(measured.starts_with("1 MiB to 1.2"), "{name}: {measured}");
        assert_eq!(row.differs, None, "{name}");
    }
}
