//! A document's claims must hold for its own figures: each figure is planted on a machine like the
//! document's, and judged as if it had been measured there.

use linefill::experiment::{Machine, Origin, Verdict};
use linefill::stats::Interval;

use super::machines::{KIB, Level, MIB, Model, with_dtlb, zen};
use super::planted::{Planted, Value};

/// The points of a figure: an x, and a value per column.
struct Figure {
    columns: Vec<String>,
    points: Vec<(f64, Vec<f64>)>,
}

impl Figure {
    fn read(file: &str) -> Self {
        let path = format!("{}/reference/{file}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut lines = text.lines().filter(|line| !line.starts_with('#'));
        let header = lines.next().expect("a header").split(',');
        let columns = header.map(|name| name.trim_matches('"').to_owned()).collect();
        let number = |cell: &str| cell.parse().unwrap_or(f64::NAN);
        let points = lines
            .map(|line| line.split(',').map(number).collect::<Vec<f64>>())
            .map(|cells| (cells[1], cells))
            .collect();
        Figure { columns, points }
    }

    /// The value of a column at `x`, interpolated between its neighbours on logarithmic scales.
    fn at(&self, column: &str, x: f64) -> f64 {
        let column = self.columns.iter().position(|name| name == column);
        let column = column.expect("a column of the figure");
        let above = self.points.iter().position(|(at, _)| *at >= x);
        let above = above.unwrap_or(self.points.len() - 1);
        let below = if self.points[above].0 > x { above.saturating_sub(1) } else { above };
        let ((from, low), (to, high)) = (&self.points[below], &self.points[above]);
        if from == to {
            return low[column];
        }
        let share = (x / from).ln() / (to / from).ln();
        low[column] + (high[column] - low[column]) * share.clamp(0.0, 1.0)
    }
}

/// A machine with these levels: bytes, and core cycles per random step.
fn machine(levels: &[(f64, f64)], memory: f64, load_to_use: u32) -> Machine {
    let levels = levels.iter().map(|&(bytes, cost)| Level { bytes, ways: 8, cost });
    let model = Model {
        levels: levels.collect(),
        memory,
        load_to_use: Some(load_to_use),
        ports: None,
        locations: zen().locations,
    };
    Machine { largest: 512 << 20, full: true, ..model.machine() }
}

fn pentium_4() -> Machine {
    machine(&[(16.0 * KIB, 4.0), (MIB, 14.0)], 240.0, 4)
}

fn core_2() -> Machine {
    machine(&[(32.0 * KIB, 3.0), (4.0 * MIB, 14.0)], 240.0, 3)
}

fn opteron() -> Machine {
    let levels = [(64.0 * KIB, 3.0), (512.0 * KIB, 15.0), (2.0 * MIB, 45.0)];
    machine(&levels, 240.0, 3)
}

/// Judges the document's claims of an experiment on the values of its figures. A series that a figure lacks
/// has no points.
#[track_caller]
fn judged(id: &str, machine: &Machine, value: impl Fn(&str, f64) -> Option<f64>) -> Vec<String> {
    let planted = Planted::new(id, machine, |series, x| match value(series, x) {
        Some(value) => Value::Timed(Interval::exact(value).widened(0.002)),
        None => Value::Missing,
    });
    let mut decided = Vec::new();
    for claim in planted.experiment.claims {
        if matches!(claim.origin, Origin::Ours { .. }) {
            continue;
        }
        let judgement = claim.decide(&planted.evidence());
        assert_ne!(judgement.verdict, Verdict::DoesNotHold, "{}: {}", claim.id, judgement.numbers);
        if judgement.verdict == Verdict::Holds {
            decided.push(claim.id.to_owned());
        }
    }
    decided
}

#[test]
fn of_the_pentium_4() {
    let p4 = pentium_4();
    let walk = Figure::read("drepper-fig-3.10.csv");
    let held = judged("D14", &p4, |_, x| Some(walk.at("value", x)));
    assert_eq!(held, ["D14.1", "D14.2", "D14.3", "D14.4"]);
    let apart = Figure::read("drepper-fig-3.11.csv");
    let held = judged("D15", &p4, |series, x| Some(apart.at(series, x)));
    assert_eq!(held, ["D15.1", "D15.2"]);
    let writes = Figure::read("drepper-fig-3.13.csv");
    let held = judged("D17", &p4, |series, x| Some(writes.at(series, x)));
    assert_eq!(held, ["D17.1", "D17.2", "D17.3", "D17.4", "D17.5"]);
    let orders = Figure::read("drepper-fig-3.15.csv");
    let held = judged("D19", &p4, |series, x| {
        let column = if series == "random" { "Random" } else { "Sequential" };
        Some(orders.at(column, x))
    });
    assert_eq!(held, ["D19.1", "D19.2"]);
    let blocks = Figure::read("drepper-fig-3.17.csv");
    let held = judged("D21", &p4, |series, x| match series {
        "whole list" => Some(blocks.at("∞", x)),
        _ if series.ends_with("2 MiB pages") => None,
        _ => Some(blocks.at(series.strip_suffix(" pages")?, x)),
    });
    assert_eq!(held, ["D21.1", "D21.2"]);
    let moved = Figure::read("drepper-fig-3.24.csv");
    let held = judged("D36", &with_dtlb(&p4, 64), |series, x| match series {
        "read, 16 B" => Some(moved.at("Read", x)),
        "write, 16 B" => Some(moved.at("Write", x)),
        "copy, 16 B" => Some(moved.at("Copy", x)),
        _ if series.starts_with("read, 2/3") => Some(moved.at("Read", x / 3.0 * 2.0)),
        _ => Some(moved.at("Read", x / 4.0 * 5.0)),
    });
    assert_eq!(held, ["D36.1", "D36.2", "D36.3", "D36.4", "D36.5"]);
    let pages = Figure::read("drepper-fig-7.9.csv");
    let held = judged("F4", &p4, |series, x| match series {
        "4 KiB pages" => Some(pages.at("4kB Pages", x)),
        "2 MiB pages" => Some(pages.at("2MB Pages", x)),
        _ => None,
    });
    assert!(held.contains(&"F4.2".to_owned()), "{held:?}");
}

#[test]
fn of_the_pentium_4_with_three_levels() {
    let levels = [(16.0 * KIB, 4.0), (512.0 * KIB, 14.0), (2.0 * MIB, 45.0)];
    let p4 = machine(&levels, 480.0, 4);
    let writes = Figure::read("drepper-fig-3.4.csv");
    // From the figure, the text derives an L1d of 2^13 bytes and an L2 of 2^20 bytes, followed by memory.
    let deduced = [(8.0 * KIB, 4.0), (256.0 * KIB, 28.0), (MIB, 28.0)];
    let deduced = machine(&deduced, 480.0, 4);
    let held = judged("D8", &deduced, |_, x| Some(writes.at("value", x)));
    assert_eq!(held, ["D8.1", "D8.2"]);
    let larger = Figure::read("drepper-fig-3.14.csv");
    let held = judged("D18", &p4, |series, x| {
        (series.starts_with("random")).then(|| larger.at("P4/16k/512k/2M", x))
    });
    assert!(held.contains(&"D18.2".to_owned()), "{held:?}");
}

#[test]
fn of_the_core_2() {
    let core_2 = core_2();
    let one = Figure::read("drepper-fig-3.26.csv");
    let held = judged("D38", &core_2, |series, x| match series {
        "read, 16 B" => Some(one.at("Read", x)),
        "write, 16 B" => Some(one.at("Write", x)),
        _ => Some(one.at("Copy", x)),
    });
    assert_eq!(held, ["D38.1", "D38.2", "D38.3", "D38.4"]);
    let two = Figure::read("drepper-fig-3.27.csv");
    let held = judged("D39", &core_2, |series, x| of_threads(&one, &two, series, x));
    assert_eq!(held, ["D39.1", "D39.2", "D39.3", "D39.5", "D39.6"]);
    let last = Figure::read("drepper-fig-3.30.csv");
    let held = judged("D42", &core_2, |series, x| {
        let (order, word) = series.split_once(", ")?;
        let column = if order == "random" { "Random" } else { "Sequential" };
        let slower = 1.0 - last.at(column, x) / 100.0;
        Some(if word == "last word" { 100.0 * slower } else { 100.0 })
    });
    assert_eq!(held, ["D42.2"]);
    let lines = Figure::read("drepper-fig-6.2.csv");
    let held = judged("E11", &core_2, |series, x| {
        let column = match series {
            _ if series.starts_with("sequential, 4") => "Sequential 4 CLs",
            _ if series.starts_with("random, 2") => "Random 2 CLs",
            _ if series.starts_with("random, 4") => "Random 4 CLs",
            _ => "Sequential 4 CLs",
        };
        let slower = 1.0 + lines.at(column, x) / 100.0;
        Some(if series.ends_with("first and last") { 100.0 * slower } else { 100.0 })
    });
    assert_eq!(held, ["E11.1", "E11.2", "E11.4"]);
    let unaligned = Figure::read("drepper-fig-6.4.csv");
    let held = judged("E15", &core_2, |series, x| {
        let (order, aligned) = series.split_once(", ")?;
        let column = match order {
            "sequential" => "Sequential Inc",
            "random" => "Random Inc",
            _ => return None,
        };
        let slower = 1.0 + unaligned.at(column, x) / 100.0;
        Some(if aligned == "misaligned" { 100.0 * slower } else { 100.0 })
    });
    assert_eq!(held, ["E15.2", "E15.5", "E15.6", "E15.7"]);
}

#[test]
fn of_the_opteron() {
    let opteron = opteron();
    let one = Figure::read("drepper-fig-3.28.csv");
    let held = judged("D40", &opteron, |series, x| match series {
        "read, 16 B" => Some(one.at("Read", x)),
        "write, 16 B" => Some(one.at("Write", x)),
        _ => Some(one.at("Copy", x)),
    });
    assert_eq!(held, ["D40.1", "D40.2", "D40.3", "D40.4"]);
    let two = Figure::read("drepper-fig-3.29.csv");
    let held = judged("D41", &opteron, |series, x| of_threads(&one, &two, series, x));
    assert_eq!(held, ["D41.1", "D41.2", "D41.3", "D41.4"]);
}

/// The bandwidth of a thread alone from one figure, and next to another thread on the same memory from a
/// second figure.
fn of_threads(one: &Figure, two: &Figure, series: &str, x: f64) -> Option<f64> {
    let (what, threads) = series.split_once(", ")?;
    let column = match what {
        "read" => "Read",
        "write" => "Write",
        _ => "Copy",
    };
    match threads {
        "one thread" => Some(one.at(column, x)),
        "same memory" => Some(two.at(column, x)),
        _ => None,
    }
}
