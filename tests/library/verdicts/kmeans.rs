//! Sestoft's k-means: the problem is judged on counts, its variants on times.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::machines::{first_cpus, of_two_kinds};
use super::planted::{Planted, Row, Value, row, time};

const SAME: &str = ".1";
const ITERATIONS: &str = ".2";
const END: &str = ".3";
const LESS: &str = ".1";
const GAIN: &str = ".1";
const ONE: &str = ".1";
const FOUR: &str = ".2";
const TWO: &str = ".3";
const BACK: &str = ".1";
const PADDING: &str = ".2";
const STREAMS: &str = ".1";
const MEANS: &str = ".2";
const OWN: &str = ".3";
const VECTORS: &str = ".4";

/// Claims judged on counts alone.
pub const EXACT: &[super::Exact] = &[("B1", ".1"), ("B1", ".2"), ("B1", ".3"), ("B6", ".2")];

/// Differing points, iterations, distance of the means, and points in other clusters.
fn problem(machine: &Machine, [different, iterations, means, counts]: [f64; 4]) -> Planted {
    Planted::new("B1", machine, |series, _| {
        Value::Counted(match () {
            () if series.starts_with("points and indices") => different,
            () if series.starts_with("iterations") => iterations,
            () if series.starts_with("largest distance") => means,
            () => counts,
        })
    })
}

/// The note's problem.
const NOTE: [f64; 4] = [0.0, 108.0, 1e-12, 0.0];

/// The milliseconds of an iteration of a variant with one task and with several; in a quick run the points,
/// and so the times, grow with the threads. `apart` are the differences of iterations and of means.
fn found(machine: &Machine, id: &str, apart: [f64; 2], ms: impl Fn(&str) -> [f64; 2]) -> Planted {
    let threads = |tasks: f64| tasks.min(machine.cpu_order.cpus() as f64);
    let points = |tasks| if machine.full { 1.0 } else { threads(tasks) };
    Planted::new(id, machine, |series, tasks| match series.split_once(": ") {
        Some((_, what)) if what.starts_with("iterations") => Value::Counted(apart[0]),
        Some(_) => Value::Counted(apart[1]),
        None => {
            let variant = series.split_once(", turn").map_or(series, |(of, _)| of);
            time(ms(variant)[usize::from(tasks > 1.0)] * points(tasks))
        }
    })
}

/// The values of the note's Xeon, and of our variants.
fn usual(series: &str) -> [f64; 2] {
    match series {
        "2P" => [4.24, 0.853],
        "2Q" => [4.02, 6.587],
        "2Q padded" => [4.02, 0.87],
        "3P" => [4.2, 0.553],
        "1P" => [4.0, 3.0],
        "own sums" => [3.0, 0.5],
        _ => [0.5, 0.08],
    }
}

/// The usual values, except for one variant.
fn but(machine: &Machine, id: &str, variant: &str, ms: [f64; 2]) -> Planted {
    let of = |series: &str| if series == variant { ms } else { usual(series) };
    found(machine, id, [0.0, 1e-13], of)
}

/// A machine with fewer cores, where fewer tasks have their own core.
fn on_cores(planted: Planted, cores: usize) -> Planted {
    let machine = first_cpus(&planted.machine, cores);
    planted.on(machine)
}

fn on_one(machine: &Machine, id: &str) -> Planted {
    on_cores(found(machine, id, [0.0, 0.0], usual), 1)
}

pub fn rows() -> Vec<Row> {
    let mut rows = vec![
        row("B1", SAME, Holds, |m| problem(m, NOTE)),
        row("B1", SAME, DoesNotHold, |m| problem(m, [1.0, 108.0, 0.0, 0.0])),
        row("B1", ITERATIONS, Holds, |m| problem(m, NOTE)),
        row("B1", ITERATIONS, DoesNotHold, |m| problem(m, [0.0, 107.0, 0.0, 0.0])),
        row("B1", END, Holds, |m| problem(m, NOTE)),
        row("B1", END, DoesNotHold, |m| problem(m, [0.0, 108.0, 1e-8, 0.0]))
            .says("largest distance"),
        row("B1", END, DoesNotHold, |m| problem(m, [0.0, 108.0, 0.0, 2.0])).says("another cluster"),
        row("B2", LESS, Holds, |m| but(m, "B2", "1P", [4.0, 3.0])),
        row("B2", LESS, DoesNotHold, |m| but(m, "B2", "1P", [4.0, 0.4])).says("2.0"),
        row("B2", LESS, Inconclusive, |m| but(m, "B2", "1P", [4.24, 0.853])),
        row("B3", GAIN, Holds, |m| but(m, "B3", "2P", [4.24, 1.2])),
        row("B3", GAIN, DoesNotHold, |m| but(m, "B3", "2P", [4.0, 2.0])).says("per core: 0.50"),
        row("B3", GAIN, Untestable, |m| but(&of_two_kinds(m), "B3", "2P", [4.24, 1.2]))
            .says("cores of two kinds"),
        row("B3", GAIN, Inconclusive, |m| but(m, "B3", "2P", [2.4, 1.0])),
        // Without a ratio in one turn, the others do not decide.
        row("B4", ONE, Inconclusive, |m| {
            let planted = but(m, "B4", "2Q", [4.02, 1.0]);
            planted.with_doubtful(|series, _| series.ends_with("turn 2"))
        })
        .says("not both certainly above zero"),
        row("B4", ONE, Holds, |m| but(m, "B4", "2Q", [4.02, 1.0])),
        row("B4", ONE, DoesNotHold, |m| but(m, "B4", "2Q", [6.0, 1.0])).says("one task: 1.4"),
        row("B4", ONE, DoesNotHold, |m| but(m, "B4", "2Q", [2.12, 1.0])).says("one task: 0.50"),
        row("B4", ONE, Inconclusive, |m| but(m, "B4", "2Q", [4.24 * 1.05, 1.0])),
        row("B4", ONE, Untestable, |m| {
            but(m, "B4", "2Q", [4.0, 1.0]).without(|_, tasks| tasks == 1.0)
        }),
        row("B4", FOUR, Holds, |m| but(m, "B4", "2Q", [4.0, 6.587])).says("8 tasks: 7.7"),
        row("B4", FOUR, DoesNotHold, |m| but(m, "B4", "2Q", [4.0, 0.853])),
        row("B4", FOUR, Inconclusive, |m| but(m, "B4", "2Q", [4.0, 0.853 * 1.2])),
        row("B4", FOUR, Untestable, |m| on_cores(but(m, "B4", "2Q", [4.0, 6.587]), 2))
            .says("needs 4 cores, and this process has 2"),
        row("B4", TWO, Holds, |m| but(m, "B4", "2Q", [4.0, 1.0])),
        row("B4", TWO, DoesNotHold, |m| but(m, "B4", "2Q", [4.0, 0.5])).says("0.5"),
        row("B4", TWO, Inconclusive, |m| but(m, "B4", "2Q", [4.0, 0.853])),
        row("B5", BACK, Holds, |m| but(m, "B5", "2Q padded", [4.0, 0.9])),
        row("B5", BACK, DoesNotHold, |m| but(m, "B5", "2Q padded", [4.0, 1.28]))
            .says("tasks: 1.50"),
        row("B5", BACK, Inconclusive, |m| but(m, "B5", "2Q padded", [4.0, 0.853 * 1.15])),
        row("B5", PADDING, Holds, |m| but(m, "B5", "2Q padded", [4.0, 0.9])),
        row("B5", PADDING, DoesNotHold, |m| but(m, "B5", "2Q padded", [4.0, 10.0])),
        row("B5", PADDING, Inconclusive, |m| but(m, "B5", "2Q padded", [4.0, 6.587])),
        row("B6", STREAMS, Holds, |m| but(m, "B6", "3P", [2.12, 0.553])).says("with one task"),
        row("B6", STREAMS, DoesNotHold, |m| but(m, "B6", "3P", [4.0, 1.706])).says("8 tasks: 2.0"),
        row("B6", STREAMS, Inconclusive, |m| but(m, "B6", "3P", [4.0, 0.853 * 1.1])),
        row("B6", OWN, Holds, |m| but(m, "B6", "own sums", [3.0, 0.5])),
        row("B6", OWN, DoesNotHold, |m| but(m, "B6", "own sums", [3.0, 1.0])),
        // Its other code saves as much with one task as with several.
        row("B6", OWN, DoesNotHold, |m| but(m, "B6", "own sums", [2.12, 0.427])),
        row("B6", OWN, Inconclusive, |m| but(m, "B6", "own sums", [3.0, 0.853 * 0.9 * 3.0 / 4.24])),
        row("B6", VECTORS, Holds, |m| found(m, "B6", [0.0, 0.0], usual)),
        row("B6", VECTORS, Holds, |m| on_one(m, "B6")),
        row("B6", VECTORS, DoesNotHold, |m| but(m, "B6", "3P", [0.4, 0.5]))
            .says("vectors over 3P, one task: 1.25"),
        row("B6", VECTORS, Inconclusive, |m| but(m, "B6", "1P", [4.0, 0.08])),
        row("B6", MEANS, Holds, |m| found(m, "B6", [1.0, 9e-10], usual)),
        row("B6", MEANS, DoesNotHold, |m| found(m, "B6", [2.0, 0.0], usual)).says("iterations"),
        row("B6", MEANS, DoesNotHold, |m| found(m, "B6", [0.0, 2e-9], usual)).says("in 10^-9: 2 "),
        row("B6", MEANS, Untestable, |m| {
            found(m, "B6", [0.0, 0.0], usual).without(|series, _| series.contains("distance"))
        }),
        row("B6", VECTORS, Untestable, |m| {
            Planted::new("B6", m, |series, _| match series {
                "3P" => Value::Untestable("built without feature peers"),
                _ => time(1.0),
            })
        })
        .says("built without feature peers"),
    ];
    rows.extend(
        [SAME, ITERATIONS, END]
            .map(|claim| row("B1", claim, Untestable, |m| problem(m, NOTE).without(|_, _| true))),
    );
    let alone = [
        ("B2", LESS),
        ("B3", GAIN),
        ("B4", TWO),
        ("B5", BACK),
        ("B5", PADDING),
        ("B6", STREAMS),
        ("B6", OWN),
    ];
    rows.extend(alone.map(|(id, claim)| {
        let plant: fn(&Machine) -> Planted = match id {
            "B2" => |m| on_one(m, "B2"),
            "B3" => |m| on_one(m, "B3"),
            "B4" => |m| on_one(m, "B4"),
            "B5" => |m| on_one(m, "B5"),
            _ => |m| on_one(m, "B6"),
        };
        row(id, claim, Untestable, plant).says("needs 2 cores, and this process has 1")
    }));
    rows
}
