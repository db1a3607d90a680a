//! Software prefetches: the hints, Figure 6.7, and the distance that pays off.

use linefill::cpu::Core;
use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};
use linefill::stats::Interval;

use super::machines::{with_memory, with_reported_dtlb};
use super::planted::{Planted, Row, Value, by_level, noisy, row, time};

const BAD: &str = ".1";
const SWEPT: &str = ".2";
const NTA: &str = ".3";
const T0: &str = ".4";
const NEAR: &str = ".1";
const FAR: &str = ".2";
const HINTS: &str = ".3";
const WRITE: &str = ".4";
const BEST: &str = ".5";
const TLB: &str = ".6";
const ONE: &str = ".1";
const ENOUGH: &str = ".2";
const TOO_NEAR: &str = ".3";
const FORMULA: &str = ".4";

const SURVIVED: &str = "prefetches of bad addresses that did not fault";

/// The time of a load after each hint; a miss takes 400.
fn hints(machine: &Machine, load: impl Fn(&str) -> Value) -> Planted {
    Planted::new("E36", machine, |series, _| match series {
        SURVIVED => Value::Counted(20.0),
        "flushed" => time(400.0),
        "lap after nothing" => time(10_000.0),
        _ => load(series),
    })
}

/// The time of a lap after `prefetcht0` and after `prefetchnta`, relative to an undisturbed lap.
fn laps(machine: &Machine, t0: f64, nta: f64) -> Planted {
    hints(machine, |series| {
        time(match series {
            "lap after prefetcht0 and loads" => 10_000.0 * t0,
            "lap after prefetchnta and loads" => 10_000.0 * nta,
            _ => 5.0,
        })
    })
}

/// Figure 6.7: the ratio of a step with a prefetch 5 nodes ahead to one without, level by level.
fn ahead(machine: &Machine, change: [f64; 4]) -> Planted {
    Planted::new("E37", machine, |series, x| {
        let plain = by_level(machine, x, [165.0, 176.0, 230.0, 560.0]);
        time(match series {
            "5 ahead" => plain * by_level(machine, x, change),
            _ => plain,
        })
    })
}

/// The times at the distances of the sweep: 1 ahead, those in between, 128 ahead. In large pages, a walk takes
/// 220 if its lines fill half of L1d.
fn sweep(machine: &Machine, first: f64, between: f64, last: f64) -> Planted {
    evicting(machine, 240.0, [first, between, last])
}

/// The same, with the time `twice` if the lines fill L1d twice.
fn evicting(machine: &Machine, twice: f64, [first, between, last]: [f64; 3]) -> Planted {
    let full = Machine { full: true, ..machine.clone() };
    Planted::new("E37", &full, |series, _| {
        time(match series {
            "1 ahead" => first,
            "128 ahead" => last,
            "half of L1d ahead, in 2 MiB pages" => 220.0,
            "twice L1d ahead, in 2 MiB pages" => twice,
            _ => between,
        })
    })
}

/// Figure 6.7: the time of a step with each other hint 5 nodes ahead; 560 without a hint.
fn hinted(machine: &Machine, hint: impl Fn(&str) -> f64) -> Planted {
    Planted::new("E37", machine, |series, _| {
        time(match series.strip_prefix("5 ahead by ") {
            Some(name) => hint(name),
            None if series == "5 ahead" => 180.0,
            None => 560.0,
        })
    })
}

/// The additional time of a miss, and the time of a step without it at the three amounts of work.
const LATENCY: f64 = 650.0;
fn work(series: &str) -> f64 {
    if series.starts_with("48 ") {
        54.0
    } else if series.starts_with("159 ") {
        165.0
    } else {
        487.0
    }
}

/// Walks by distance; `time_of` gives the time from the work and the distance.
fn distances(machine: &Machine, time_of: impl Fn(f64, f64) -> Value) -> Planted {
    Planted::new("E27", machine, |series, distance| match series {
        "no prefetch" => time(LATENCY + 165.0),
        _ if series.contains("L1d") => time(work(series)),
        _ => time_of(work(series), distance),
    })
}

/// The model, but with `slower` times the measured latency.
fn modelled(machine: &Machine, slower: f64) -> Planted {
    distances(machine, |work, distance| time(work.max(slower * LATENCY / distance)))
}

/// Claims judged on counts alone.
pub const EXACT: &[super::Exact] = &[("E36", ".1")];

/// A load of a flushed line takes this long, and any other load 5 cycles.
fn flushed(machine: &Machine, miss: Interval) -> Planted {
    Planted::new("E36", machine, move |series, _| match series {
        "flushed" => Value::Timed(miss),
        _ => time(5.0),
    })
}

pub fn rows() -> Vec<Row> {
    vec![
        row("E36", BAD, Holds, |m| hints(m, |_| time(5.0))),
        row("E36", BAD, DoesNotHold, |m| Planted::new("E36", m, |_, _| Value::Counted(19.0))),
        row("E36", BAD, Untestable, |m| {
            hints(m, |_| time(5.0)).without(|series, _| series == SURVIVED)
        }),
        row("E36", SWEPT, Holds, |m| {
            // After subtraction of the empty run, the time of a hit may be negative.
            hints(m, |_| Value::Timed(Interval::new(-2.0, 4.0)))
        }),
        row("E36", SWEPT, DoesNotHold, |m| {
            hints(m, |series| match series {
                "after prefetcht2" => time(400.0),
                _ => time(20.0),
            })
        })
        .says("share of a miss after prefetcht2: 1.0"),
        row("E36", SWEPT, Inconclusive, |m| hints(m, |_| noisy(200.0, 0.1))),
        row("E36", SWEPT, Untestable, |m| flushed(m, Interval::new(-5.0, 5.0)))
            .says("over -5.00 to 5.00, which is not certainly above zero"),
        // Noise is in the way, not the machine: more passes may decide it.
        row("E36", SWEPT, Inconclusive, |m| flushed(m, Interval::new(-5.0, 405.0)))
            .says("not certainly above zero"),
        row("E36", NTA, Holds, |m| laps(m, 2.0, 1.1)),
        row("E36", NTA, DoesNotHold, |m| laps(m, 2.0, 2.0)),
        row("E36", NTA, Inconclusive, |m| laps(m, 2.0, 1.3)),
        row("E36", NTA, Untestable, |m| {
            laps(m, 2.0, 1.1).without(|series, _| series == "lap after nothing")
        })
        .says("no point of `lap after nothing`"),
        row("E36", T0, Holds, |m| laps(m, 2.0, 1.1)),
        row("E36", T0, DoesNotHold, |m| laps(m, 1.1, 1.1)),
        row("E36", T0, Inconclusive, |m| laps(m, 1.3, 1.1)),
        row("E36", T0, Untestable, |m| hints(m, |_| Value::Untestable("no 2 MiB pages")))
            .says("no 2 MiB pages"),
        row("E37", NEAR, Holds, |m| ahead(m, [1.01, 0.99, 0.9, 0.5])),
        row("E37", NEAR, DoesNotHold, |m| ahead(m, [1.2, 1.0, 0.9, 0.5]))
            .says("prefetch over none, L1d: 1.20"),
        row("E37", NEAR, DoesNotHold, |m| ahead(m, [1.0, 0.8, 0.9, 0.5])),
        row("E37", NEAR, Inconclusive, |m| ahead(m, [1.0, 1.03, 0.9, 0.5])),
        row("E37", NEAR, Untestable, |m| {
            let l2 = m.ranges.l2;
            ahead(m, [1.0; 4]).without(|_, x| l2.holds(x))
        }),
        row("E37", FAR, Holds, |m| ahead(m, [1.0, 1.0, 0.9, 0.5])),
        row("E37", FAR, DoesNotHold, |m| ahead(m, [1.0, 1.0, 0.9, 1.0])),
        row("E37", FAR, Inconclusive, |m| ahead(m, [1.0, 1.0, 0.9, 0.95])),
        row("E37", FAR, Untestable, |m| {
            ahead(m, [1.0; 4]).without(|series, _| series == "no prefetch")
        }),
        row("E37", BEST, Holds, |m| sweep(m, 400.0, 200.0, 300.0)),
        // What the L1 dTLB forgets says nothing about data.
        row("E37", BEST, DoesNotHold, |m| evicting(m, 220.0, [400.0, 200.0, 300.0]))
            .says("twice L1d ahead over half of it: 1.0"),
        row("E37", BEST, Holds, |m| sweep(m, 400.0, 200.0, 200.0)),
        // A distance of one is enough.
        row("E37", BEST, DoesNotHold, |m| sweep(m, 190.0, 200.0, 300.0)),
        row("E37", BEST, Inconclusive, |m| evicting(m, 220.0 * 1.03, [400.0, 200.0, 300.0])),
        row("E37", BEST, Untestable, |m| {
            sweep(m, 400.0, 200.0, 300.0).lacking(&["2 MiB"], "no 2 MiB pages")
        })
        .says("no 2 MiB pages"),
        row("E37", BEST, Untestable, |m| {
            sweep(m, 400.0, 200.0, 300.0).without(|series, _| series == "16 ahead")
        })
        .says("`16 ahead` was not measured at"),
        row("E37", BEST, Untestable, |m| sweep(&with_memory(m, 16 << 20), 400.0, 200.0, 300.0))
            .says("the largest working set, 16384 KiB, is not in the range"),
        row("E37", BEST, Untestable, |m| {
            let quick = Machine { full: false, ..m.clone() };
            sweep(m, 400.0, 200.0, 300.0).on(quick)
        })
        .says("`--profile full` does"),
        row("E37", TLB, Holds, |m| sweep(m, 400.0, 200.0, 300.0)),
        // The largest distance is the best.
        row("E37", TLB, DoesNotHold, |m| sweep(m, 400.0, 200.0, 180.0)).says("128 ahead"),
        row("E37", TLB, Inconclusive, |m| sweep(m, 400.0, 200.0, 206.0)),
        row("E37", TLB, Untestable, |m| {
            sweep(m, 400.0, 200.0, 300.0).without(|series, _| series == "128 ahead")
        })
        .says("`128 ahead` was not measured at"),
        row("E37", TLB, Untestable, |m| {
            let core = Core::named("Lion Cove");
            let machine = with_reported_dtlb(m, 128, core);
            sweep(&machine, 400.0, 200.0, 200.0)
        })
        .says("128 entries, enough for 128 nodes"),
        row("E37", TLB, Untestable, |m| {
            sweep(m, 400.0, 200.0, 200.0).granted("2 MiB (transparent)")
        })
        .says("the claim is about pages of 4 KiB"),
        row("E37", HINTS, Holds, |m| hinted(m, |_| 200.0)),
        row("E37", HINTS, DoesNotHold, |m| {
            hinted(m, |name| if name == "prefetcht2" { 560.0 } else { 200.0 })
        })
        .says("prefetcht2 over none: 1."),
        row("E37", HINTS, Inconclusive, |m| hinted(m, |_| 532.0)),
        row("E37", HINTS, Untestable, |m| {
            hinted(m, |_| 200.0).without(|series, _| series.contains("prefetchnta"))
        })
        .says("no point of `5 ahead by prefetchnta`"),
        row("E37", WRITE, Holds, |m| hinted(m, |_| 185.0)),
        row("E37", WRITE, DoesNotHold, |m| hinted(m, |_| 400.0)),
        row("E37", WRITE, Inconclusive, |m| hinted(m, |_| 198.0)),
        row("E37", WRITE, Untestable, |m| {
            Planted::new("E37", m, |series, _| match series {
                "5 ahead by prefetchw" => Value::Untestable("takes prefetchw for a no-op"),
                _ => time(200.0),
            })
        })
        .says("takes prefetchw for a no-op"),
        row("E27", ONE, Holds, |m| modelled(m, 1.0)),
        // The miss is completely hidden at any distance.
        row("E27", ONE, DoesNotHold, |m| distances(m, |work, _| time(work))),
        row("E27", ONE, Inconclusive, |m| {
            // The step hides 1.25 times its 159 cycles of work.
            distances(m, |work, _| time(LATENCY - 0.25 * work))
        }),
        row("E27", ONE, Untestable, |m| modelled(m, 1.0).without(|_, distance| distance == 1.0))
            .says("was not measured at 1"),
        row("E27", ENOUGH, Holds, |m| modelled(m, 1.1)),
        row("E27", ENOUGH, DoesNotHold, |m| modelled(m, 3.0)),
        row("E27", ENOUGH, Inconclusive, |m| distances(m, |work, _| time(work + 0.2 * LATENCY))),
        row("E27", ENOUGH, Untestable, |m| {
            modelled(m, 1.0).without(|series, _| series.contains("L1d"))
        })
        .says("was not measured at 0"),
        // The necessary distance is larger than that of any walk.
        row("E27", ENOUGH, Untestable, |m| {
            Planted::new("E27", m, |series, _| {
                time(if series.contains("L1d") { 10.0 } else { 6000.0 })
            })
        })
        .says("more than any distance that was measured"),
        row("E27", TOO_NEAR, Holds, |m| modelled(m, 1.1)).says("1 ahead"),
        row("E27", TOO_NEAR, DoesNotHold, |m| modelled(m, 2.0)),
        row("E27", TOO_NEAR, Inconclusive, |m| modelled(m, 1.25)),
        row("E27", TOO_NEAR, Untestable, |m| {
            modelled(m, 1.0).without(|series, _| series == "no prefetch")
        })
        .says("`no prefetch` was not measured at 0"),
        row("E27", FORMULA, Holds, |m| modelled(m, 1.1)).says("nodes by the formula"),
        row("E27", FORMULA, DoesNotHold, |m| modelled(m, 0.3)),
        row("E27", FORMULA, DoesNotHold, |m| modelled(m, 4.0)),
        row("E27", FORMULA, Inconclusive, |m| distances(m, |_, _| noisy(300.0, 0.3))),
        row("E27", FORMULA, Untestable, |m| modelled(&with_memory(m, 16 << 20), 1.0))
            .says("the largest working set, 16384 KiB, is not in the range"),
    ]
}
