//! Threads on one line and on separate lines.

use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};
use linefill::experiment::{CpuOrder, Machine, Placement};

use super::machines::{of_two_kinds, with_cores, with_locations};
use super::planted::{CORE_PER_TICK, Planted, Row, Value, row, time};
use super::siblings;

/// Nanoseconds per operation on one word, on adjacent words and on separate lines; each for one thread and
/// for several threads.
#[derive(Clone, Copy)]
struct Times {
    shared: [f64; 2],
    dense: [f64; 2],
    padded: [f64; 2],
}

/// The note's values.
const NOTE: Times = Times { shared: [20.0, 1100.0], dense: [20.0, 420.0], padded: [20.0, 20.0] };

fn times(id: &str, machine: &Machine, of: Times) -> Planted {
    Planted::new(id, machine, |series, threads| {
        let place = match () {
            () if series.ends_with("one place") => of.shared,
            () if series.ends_with("dense") || series.starts_with("one line") => of.dense,
            () => of.padded,
        };
        time(place[usize::from(threads > 1.0)])
    })
}

/// The total time of all turns is the same for every number of threads, except that two threads take `two`
/// times as long.
fn flat(machine: &Machine, two: f64) -> Planted {
    Planted::new("B9", machine, |_, threads| {
        time(50.0 * threads * if threads == 2.0 { two } else { 1.0 })
    })
}

const SCALES: &str = ".8";
const ALIKE: &str = ".9";
const ALL_SCALE: &str = ".10";
const ATOMIC: &str = ".3";
const ORDER: &str = ".7";
const FLAT: &str = ".1";
const APART: &str = ".2";
const DAMAGE: &str = ".1";
const INNOCENT: &str = ".2";
const PACKAGE: &str = ".1";

fn dense(machine: &Machine, dense: f64) -> Planted {
    let more = Times { dense: [20.0, dense], ..NOTE };
    times("B8", machine, more)
}

fn padded(machine: &Machine, id: &str, padded: f64) -> Planted {
    let more = Times { padded: [20.0, padded], ..NOTE };
    times(id, machine, more)
}

fn false_sharing(id: &str, machine: &Machine, one_line: f64) -> Planted {
    let more = Times { dense: [20.0, one_line], ..NOTE };
    times(id, machine, more)
}

fn two_packages(machine: &Machine) -> Planted {
    let mut locations = machine.cpu_order.locations().to_vec();
    for (index, location) in locations.iter_mut().enumerate() {
        location.package = index % 2;
    }
    let machine = with_locations(machine, locations);
    false_sharing("F2", &machine, 30.0)
}

/// On twelve cores, an operation on separate lines takes `all` with a thread on each, and 20 with fewer.
fn of_twelve(machine: &Machine, all: f64) -> Planted {
    Planted::new("B8", &with_cores(machine, 12), |_, threads| {
        time(if threads == 12.0 { all } else { 20.0 })
    })
}

/// A machine with two CPUs per core, of which threads take the second before the next core.
fn siblings_first(machine: &Machine) -> Machine {
    let locations = siblings::with(machine).cpu_order.locations().to_vec();
    Machine { cpu_order: CpuOrder::placed(None, locations, Placement::Siblings), ..machine.clone() }
}

pub fn rows() -> Vec<Row> {
    let mut rows = vec![
        row("B8", ORDER, Holds, |m| times("B8", m, NOTE)),
        row("B8", ORDER, DoesNotHold, |m| dense(m, 1500.0))
            .says("one lock over locks side by side: 0.73"),
        row("B8", ORDER, Inconclusive, |m| dense(m, 1100.0)),
        row("B8", ORDER, Untestable, |m| times("B8", m, NOTE).on(siblings::alone(m)))
            .says("the test needs 2 cores"),
        row("B8", SCALES, Holds, |m| times("B8", m, NOTE)),
        row("B8", SCALES, DoesNotHold, |m| padded(m, "B8", 30.0)).says("threads over one: 1.50"),
        row("B8", SCALES, Inconclusive, |m| padded(m, "B8", 24.0)),
        row("B8", SCALES, Untestable, |m| times("B8", m, NOTE).on(siblings::alone(m))),
        row("B8", SCALES, Untestable, |m| times("B8", &of_two_kinds(m), NOTE))
            .says("cores of two kinds"),
        row("B8", ALL_SCALE, Holds, |m| times("B8", m, NOTE)),
        row("B8", ALL_SCALE, DoesNotHold, |m| padded(m, "B8", 30.0))
            .says("int++: 8 threads over one: 1.50"),
        row("B8", ALL_SCALE, Inconclusive, |m| padded(m, "B8", 24.0)),
        row("B8", ALL_SCALE, Untestable, |m| times("B8", m, NOTE).on(siblings::alone(m))),
        row("B8", ALL_SCALE, Untestable, |m| times("B8", &of_two_kinds(m), NOTE))
            .says("cores of two kinds"),
        row("B8", ALIKE, Holds, |m| times("B8", m, NOTE)),
        row("B8", ALIKE, DoesNotHold, |m| {
            let slow = Times { dense: [30.0, 420.0], ..NOTE };
            times("B8", m, slow)
        })
        .says("int++: dense over one place: 1.50"),
        row("B8", ALIKE, Inconclusive, |m| {
            let slow = Times { dense: [22.0, 420.0], ..NOTE };
            times("B8", m, slow)
        }),
        row("B8", ALIKE, Untestable, |m| times("B8", m, NOTE).without(|_, threads| threads == 1.0))
            .says("was not measured at 1"),
        row("B8", ALIKE, Holds, |m| {
            times("B8", m, NOTE).without(|series, _| series.starts_with("parking_lot"))
        }),
        row("B9", FLAT, Holds, |m| flat(m, 1.0)),
        row("B9", FLAT, DoesNotHold, |m| flat(m, 3.0)).says("4 threads over two: 0.33"),
        // A lock that becomes slower does not scale.
        row("B9", FLAT, Holds, |m| flat(m, 0.2)).says("4 threads over two: 5.0"),
        row("B9", FLAT, Inconclusive, |m| flat(m, 2.0)),
        row("B9", FLAT, Untestable, |m| flat(m, 1.0).on(siblings::alone(m))),
        row("B9", APART, Holds, |m| times("B9", m, NOTE)),
        row("B9", APART, DoesNotHold, |m| padded(m, "B9", 600.0))
            .says("side by side over apart: 0.70"),
        row("B9", APART, Inconclusive, |m| padded(m, "B9", 420.0)),
        row("B9", APART, Untestable, |m| times("B9", m, NOTE).on(siblings::alone(m))),
        row("F1", DAMAGE, Holds, |m| false_sharing("F1", m, 200.0)),
        row("F1", DAMAGE, DoesNotHold, |m| false_sharing("F1", m, 30.0)).says("1.50"),
        row("F1", DAMAGE, Inconclusive, |m| false_sharing("F1", m, 176.0)),
        row("F1", DAMAGE, Untestable, |m| false_sharing("F1", m, 100.0).on(siblings::alone(m)))
            .says("the test needs 2 cores, and the record does not say how many there were"),
        row("F1", ATOMIC, Holds, |m| false_sharing("F1", m, 100.0)),
        row("F1", ATOMIC, DoesNotHold, |m| false_sharing("F1", m, 30.0)).says("1.50"),
        row("F1", ATOMIC, Inconclusive, |m| false_sharing("F1", m, 40.0)),
        row("F1", ATOMIC, Untestable, |m| {
            false_sharing("F1", m, 100.0).without(|series, _| series.ends_with("atomic"))
        }),
        row("F1", INNOCENT, Holds, |m| padded(m, "F1", 20.0)),
        row("F1", INNOCENT, DoesNotHold, |m| padded(m, "F1", 40.0)).says("4 threads over one: 2.0"),
        row("F1", INNOCENT, Inconclusive, |m| padded(m, "F1", 20.0 * 1.57)),
        row("F1", INNOCENT, Untestable, |m| {
            padded(m, "F1", 20.0).without(|_, threads| threads == 4.0)
        }),
        row("F1", INNOCENT, Untestable, |m| padded(&of_two_kinds(m), "F1", 20.0))
            .says("cores of two kinds"),
        row("F2", PACKAGE, Holds, |m| false_sharing("F2", m, 30.0)),
        row("F2", PACKAGE, DoesNotHold, |m| false_sharing("F2", m, 100.0))
            .says("with 4 threads: 5.0"),
        row("F2", PACKAGE, Inconclusive, |m| false_sharing("F2", m, 20.0 * 1.81)),
        row("F2", PACKAGE, Untestable, two_packages).says("not all in one package"),
    ];
    // One claim per method of adding.
    for way in [".1", ".2", ".3", ".4", ".5", ".6"] {
        rows.extend([
            row("B8", way, Holds, |m| times("B8", m, NOTE)),
            row("B8", way, DoesNotHold, |m| dense(m, 30.0)).says("with 8 threads: 1.50"),
            row("B8", way, Inconclusive, |m| dense(m, 40.0)),
            row("B8", way, Untestable, |m| {
                Planted::new("B8", m, |_, _| Value::Untestable("no second thread"))
            })
            .says("no second thread"),
        ]);
    }
    // A quick run times eight threads of all ways, and the claims about each core time all cores.
    for scales in [SCALES, ALL_SCALE] {
        rows.extend([
            row("B8", scales, DoesNotHold, |m| of_twelve(m, 30.0))
                .says("12 threads over one: 1.50"),
            row("B8", scales, Untestable, |m| {
                of_twelve(m, 20.0).without(|_, threads| threads == 12.0)
            })
            .says("was timed on 8 of 12 cores: `--profile full` times all of them"),
            row("B8", scales, Untestable, |m| times("B8", &siblings_first(m), NOTE))
                .says("threads take hyper-threads before cores"),
        ]);
    }
    for (way, cycles) in OVERHEADS {
        rows.extend([
            row("B8", way, Holds, |m| longer(m, 4000.0)),
            row("B8", way, DoesNotHold, |m| longer(m, 100.0))
                .says("nanoseconds longer with 8 threads"),
            // Of twelve threads, four have another line.
            row("B8", way, Holds, |m| {
                let full = Machine { full: true, ..with_cores(m, 12) };
                Planted::new("B8", &full, |series, threads| {
                    let dense = series.ends_with("dense") && threads <= 8.0;
                    time(if dense { 4000.0 } else { 20.0 })
                })
            })
            .says("longer with 8 threads"),
            row("B8", way, Inconclusive, cycles),
            row("B8", way, Untestable, |m| times("B8", m, NOTE).on(siblings::alone(m))),
        ]);
    }
    rows
}

/// Makes the points for a claim.
type Plant = fn(&Machine) -> Planted;

/// The claims about the cost of neighbours, with values at their thresholds for 8 threads on a line: half of
/// the note's nanoseconds for its 16 words, and twice those of its 4 locks.
const OVERHEADS: [(&str, Plant); 3] = [
    (".11", |m| longer(m, 780.0 * CORE_GHZ)),
    (".12", |m| longer(m, 365.0 * CORE_GHZ)),
    (".13", |m| longer(m, 385.0 * CORE_GHZ)),
];

/// Core cycles per nanosecond of the planted machines.
const CORE_GHZ: f64 = 2.3 * CORE_PER_TICK;

/// Operations on adjacent words take `cycles` more than on separate lines.
fn longer(machine: &Machine, cycles: f64) -> Planted {
    dense(machine, 20.0 + cycles)
}
