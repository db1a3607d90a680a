//! Pages and lines.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use crate::verdicts::planted::{Planted, Row, Value, row, time};

pub const PAGES: &str = ".1";
pub const PAGE_MISSES: &str = ".2";
pub const SMALL_PAGES: &str = ".3";
pub const COMPULSORY: &str = ".1";
pub const MYSTERY: &str = ".2";
pub const OTHERS: &str = ".3";
const LITTLE: &str = ".4";
const MUCH: &str = ".5";

/// The numbers of pages of 4 KiB and of 2 MiB, flat and nested, and a counted value.
fn tlb(machine: &Machine, pages: [f64; 4], counted: Value) -> Planted {
    Planted::new("C4", machine, |series, _| match series {
        "pages of 4 KiB, flat" => Value::Counted(pages[0]),
        "pages of 4 KiB, nested" => Value::Counted(pages[1]),
        "pages of 2 MiB, flat" => Value::Counted(pages[2]),
        "pages of 2 MiB, nested" => Value::Counted(pages[3]),
        _ => counted,
    })
}

const REACH: [f64; 4] = [112.0, 182.0, 2.0, 3.0];

pub fn pages() -> Vec<Row> {
    vec![
        row("C4", PAGES, Holds, |m| tlb(m, REACH, Value::Missing)),
        row("C4", PAGES, DoesNotHold, |m| tlb(m, [112.0, 182.0, 2.0, 4.0], Value::Missing)),
        row("C4", PAGES, Untestable, |m| {
            tlb(m, REACH, Value::Missing).without(|series, _| series.ends_with("flat"))
        }),
        row("C4", SMALL_PAGES, Holds, |m| tlb(m, REACH, Value::Missing)),
        row("C4", SMALL_PAGES, DoesNotHold, |m| tlb(m, [112.0, 174.0, 2.0, 3.0], Value::Missing))
            .says("nested: 174"),
        row("C4", SMALL_PAGES, Untestable, |m| {
            tlb(m, REACH, Value::Missing).without(|series, _| series.ends_with("flat"))
        }),
        row("C4", PAGE_MISSES, Holds, |m| tlb(m, REACH, Value::Counted(6.8))),
        row("C4", PAGE_MISSES, DoesNotHold, |m| tlb(m, REACH, Value::Counted(112_000.0))),
        row("C4", PAGE_MISSES, Untestable, |m| {
            tlb(m, REACH, Value::Untestable("the kernel sees no PMU"))
        })
        .says("no PMU"),
    ]
}

/// Misses: simulated in a first operation and in a later one, and counted. Times per read: flat, on one page,
/// nested, shared.
fn misses(machine: &Machine, first: f64, later: f64, counted: f64, times: [Value; 4]) -> Planted {
    Planted::new("C6", machine, |series, _| match series {
        "L1d misses of a first operation simulated, flat" => Value::Counted(first),
        "L1d misses of a later operation simulated, flat" => Value::Counted(later),
        "L1d load misses of an operation counted, flat" => Value::Counted(counted),
        "other loads and stores per miss beyond 448, in the post" => Value::Counted(2.1),
        "flat, strides" => times[0],
        "flat, 9 lines of 1 page" => times[1],
        "nested boxes" => times[2],
        "nested boxes, shared" => times[3],
        _ => time(7.0),
    })
}

fn sound(machine: &Machine) -> Planted {
    misses(machine, 448.0, 0.0, 7309.0, [7.0, 6.8, 10.0, 5.6].map(time))
}

/// The same, with these times per read.
fn timed(machine: &Machine, times: [f64; 4]) -> Planted {
    misses(machine, 448.0, 0.0, 7309.0, times.map(time))
}

pub fn mystery() -> Vec<Row> {
    vec![
        row("C6", COMPULSORY, Holds, sound),
        row("C6", COMPULSORY, DoesNotHold, |m| misses(m, 464_526.0, 0.0, 7309.0, [time(1.0); 4])),
        row("C6", COMPULSORY, DoesNotHold, |m| misses(m, 448.0, 12.0, 7309.0, [time(1.0); 4]))
            .says("later operation simulated, flat: 12"),
        row("C6", COMPULSORY, Untestable, |m| {
            sound(m).without(|series, _| series.ends_with("simulated, flat"))
        }),
        row("C6", MYSTERY, Holds, sound),
        row("C6", MYSTERY, DoesNotHold, |m| misses(m, 448.0, 0.0, 600.0, [time(1.0); 4])),
        row("C6", MYSTERY, Untestable, |m| {
            sound(m).without(|series, _| series.contains("counted"))
        }),
        row("C6", OTHERS, Holds, sound),
        row("C6", OTHERS, DoesNotHold, |m| Planted::new("C6", m, |_, _| Value::Counted(0.3))),
        row("C6", OTHERS, Untestable, |m| Planted::new("C6", m, |_, _| Value::Missing)),
        row("C6", LITTLE, Holds, sound),
        row("C6", LITTLE, DoesNotHold, |m| timed(m, [9.0, 6.8, 10.0, 5.6])),
        row("C6", LITTLE, Inconclusive, |m| timed(m, [8.5, 6.8, 10.0, 5.6])),
        row("C6", LITTLE, Untestable, |m| sound(m).without(|series, _| series == "flat, strides")),
        row("C6", MUCH, Holds, sound),
        row("C6", MUCH, DoesNotHold, |m| timed(m, [7.0, 6.8, 6.0, 5.6])),
        row("C6", MUCH, Inconclusive, |m| timed(m, [7.0, 6.8, 7.3, 5.6])),
        row("C6", MUCH, Untestable, |m| {
            misses(m, 448.0, 0.0, 0.0, [Value::Untestable("no memory of this kind"); 4])
        })
        .says("no memory"),
    ]
}
