//! Rows E28 to E33, and E35.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::planted::{Planted, Row, Value, noisy, row, time};

const MISSES: &str = ".1";
const LINES: &str = ".1";
const FAR: &str = ".2";
const HUGE: &str = ".3";
const WINDOW: &str = ".4";
const BEYOND: &str = ".5";
const STREAMS: &str = ".1";
const FIRST: &str = ".1";
const BACKWARDS: &str = ".1";
const TRIANGULAR: &str = ".1";
const IN_PAGE: &str = ".2";
const SWITCHED_ON: &str = ".1";
const SWITCHED_OFF: &str = ".2";

/// The first `misses` lines of a run cost 500 core cycles each, and all others 40.
fn trigger(machine: &Machine, misses: f64) -> Planted {
    Planted::new("E28", machine, |_, length| {
        let missed = length.min(misses);
        time((missed * 500.0 + (length - missed) * 40.0) / length)
    })
}

/// A miss, which costs 500, brings the other line of its pair, which then costs 40. Nothing comes early before
/// the third miss.
fn pairs(machine: &Machine) -> Planted {
    Planted::new("E28", machine, |_, length| {
        let missed = (length / 2.0).ceil().min(3.0);
        time((missed * 500.0 + (length - missed) * 40.0) / length)
    })
}

/// The same points of a run with the prefetchers switched off.
fn off(planted: Planted) -> Planted {
    let machine = Machine { prefetchers_off: true, ..planted.machine.clone() };
    planted.on(machine)
}

/// Strides of `followed` bytes or more cost `far` with both page sizes, shorter ones 50, random steps 500.
fn strides(machine: &Machine, followed: f64, far: f64) -> Planted {
    Planted::new("E29", machine, |series, stride| {
        time(if series.starts_with("random") {
            500.0
        } else if stride < followed {
            50.0
        } else {
            far
        })
    })
}

/// A line costs 10 core cycles up to `most` streams, and 100 beyond.
fn streams(machine: &Machine, most: f64) -> Planted {
    Planted::new("E30", machine, |_, streams| time(if streams <= most { 10.0 } else { 100.0 }))
}

/// Every run starts with a line that costs 100. The first line behind a multiple of 4 KiB costs `first` in
/// pages of 2 MiB, and a page walk of 400 more in pages of 4 KiB. All others cost 20.
fn boundary(machine: &Machine, first: f64) -> Planted {
    boundary_after(machine, 100.0, first)
}

/// The same, where a run starts with a line that costs `start`.
fn boundary_after(machine: &Machine, start: f64, first: f64) -> Planted {
    Planted::new("E31", machine, |series, length| {
        let run = start + 20.0 * (length - 1.0);
        let walk = if series.contains("2 MiB") { 0.0 } else { 400.0 };
        let crossing = if series.contains("across") { (first + walk - 20.0) / 2.0 } else { 0.0 };
        time((run + crossing) / length)
    })
}

fn backwards(machine: &Machine, cost: f64) -> Planted {
    Planted::new("E32", machine, |series, _| {
        time(match series {
            "forwards" => 20.0,
            "backwards" => cost,
            _ => 500.0,
        })
    })
}

fn in_a_page(machine: &Machine, triangular: f64, random: f64) -> Planted {
    Planted::new("E33", machine, |series, _| {
        time(match series {
            "forwards" => 40.0,
            "triangular" => triangular,
            _ => random,
        })
    })
}

/// A random step costs 500. A step forwards costs `on` with the prefetchers on, and `off` without them.
fn switched(machine: &Machine, on: f64, off: f64) -> Planted {
    Planted::new("E35", machine, |series, place| {
        time(match (series, place) {
            ("random", _) => 500.0,
            (_, 0.0) => on,
            _ => off,
        })
    })
}

pub fn rows() -> Vec<Row> {
    vec![
        row("E28", MISSES, Holds, |m| trigger(m, 3.0)).says("half a miss or more each: 3"),
        row("E28", MISSES, DoesNotHold, |m| trigger(m, 1.0)).says("half a miss or more each: 1"),
        row("E28", MISSES, Inconclusive, |m| trigger(m, 1.46)),
        row("E28", MISSES, Untestable, |m| trigger(m, 3.0).without(|_, length| length == 2.0))
            .says("was not measured at 2"),
        row("E28", MISSES, Holds, pairs).says("second pair of lines over the first pair: 1.0"),
        // Without a prefetcher every line is a miss, which says nothing about triggers.
        row("E28", MISSES, Untestable, |m| trigger(m, 100.0)).says("no prefetcher is at work"),
        row("E28", MISSES, Untestable, |m| off(trigger(m, 3.0))).says("off for the whole run"),
        row("E29", LINES, Holds, |m| strides(m, 4096.0, 500.0)),
        row("E29", LINES, DoesNotHold, |m| strides(m, 0.0, 500.0)),
        row("E29", LINES, Inconclusive, |m| strides(m, 0.0, 250.0)),
        row("E29", LINES, Untestable, |m| {
            strides(m, 4096.0, 500.0).without(|series, _| series == "random")
        })
        .says("no point of `random` was measured"),
        row("E29", FAR, Holds, |m| strides(m, 4096.0, 500.0)),
        row("E29", FAR, DoesNotHold, |m| strides(m, 4096.0, 140.0)).says("stride 4096 over random"),
        row("E29", FAR, Inconclusive, |m| strides(m, 4096.0, 350.0)),
        row("E29", FAR, Untestable, |m| {
            strides(m, 4096.0, 500.0).without(|_, stride| stride == 8192.0)
        })
        .says("`strided` was not measured at 8192"),
        row("E29", FAR, Untestable, |m| strides(m, 0.0, 500.0)).says("no prefetcher is at work"),
        row("E29", FAR, Untestable, |m| off(strides(m, 4096.0, 500.0))),
        row("E29", HUGE, Holds, |m| strides(m, 4096.0, 500.0)),
        row("E29", HUGE, DoesNotHold, |m| strides(m, 4096.0, 140.0)),
        row("E29", HUGE, Inconclusive, |m| strides(m, 4096.0, 350.0)),
        row("E29", HUGE, Untestable, |m| {
            strides(m, 4096.0, 500.0).without(|series, _| series.contains("2 MiB"))
        })
        .says("no point of `strided, 2 MiB pages` was measured"),
        row("E29", WINDOW, Holds, |m| strides(m, 600.0, 500.0)).says("stride 256 over random"),
        row("E29", WINDOW, DoesNotHold, |m| strides(m, 100.0, 500.0)),
        row("E29", WINDOW, Inconclusive, |m| strides(m, 100.0, 250.0)),
        row("E29", WINDOW, Untestable, |m| {
            strides(m, 600.0, 500.0).without(|_, stride| (65.0..=512.0).contains(&stride))
        }),
        row("E29", BEYOND, Holds, |m| strides(m, 600.0, 500.0)).says("stride 2048 over random"),
        row("E29", BEYOND, DoesNotHold, |m| strides(m, 2048.0, 500.0)).says("stride 1024"),
        row("E29", BEYOND, Inconclusive, |m| strides(m, 600.0, 250.0)),
        row("E29", BEYOND, Untestable, |m| strides(m, 0.0, 500.0)).says("no prefetcher is at work"),
        row("E29", BEYOND, Untestable, |m| {
            strides(m, 600.0, 500.0).without(|series, _| series == "random")
        })
        .says("no point of `random` was measured"),
        row("E30", STREAMS, Holds, |m| streams(m, 12.0)).says("streams at the knee"),
        row("E30", STREAMS, DoesNotHold, |m| streams(m, 1.0)),
        row("E30", STREAMS, DoesNotHold, |m| streams(m, 32.0)),
        row("E30", STREAMS, Untestable, |m| streams(m, 128.0)).says("no knee"),
        // A cost that falls, and one that rises only in between.
        row("E30", STREAMS, Untestable, |m| {
            Planted::new("E30", m, |_, streams| time(500.0 / streams))
        })
        .says("no knee"),
        row("E30", STREAMS, Untestable, |m| {
            Planted::new("E30", m, |_, streams| time(if streams == 4.0 { 50.0 } else { 20.0 }))
        })
        .says("no knee"),
        row("E30", STREAMS, Inconclusive, |m| streams(m, 16.0)),
        row("E30", STREAMS, Inconclusive, |m| Planted::new("E30", m, |_, _| noisy(50.0, 0.5))),
        row("E30", STREAMS, Untestable, |m| streams(m, 16.0).without(|_, streams| streams > 1.0))
            .says("at least two measured numbers of streams"),
        row("E31", FIRST, Holds, |m| boundary(m, 500.0)).says("in pages of 2 MiB; a step"),
        // Without pages of 2 MiB, the page walk counts.
        row("E31", FIRST, Holds, |m| {
            boundary(m, 20.0).without(|series, _| series.contains("2 MiB"))
        })
        .says("in pages of 4 KiB, with the page walk"),
        row("E31", FIRST, DoesNotHold, |m| boundary(m, 20.0)),
        row("E31", FIRST, Inconclusive, |m| boundary(m, 60.0)),
        // Without a prefetcher, the line behind the end of a page costs as much as any other.
        row("E31", FIRST, Untestable, |m| boundary_after(m, 20.0, 20.0))
            .says("no prefetcher is at work"),
        row("E31", FIRST, Untestable, |m| off(boundary(m, 20.0))),
        row("E31", FIRST, Untestable, |m| {
            boundary(m, 500.0).without(|series, _| series.starts_with("runs of 16 lines"))
        })
        .says("`runs of 16 lines` was not measured"),
        row("E32", BACKWARDS, Holds, |m| backwards(m, 22.0)).says("backwards over forwards: 1."),
        row("E32", BACKWARDS, DoesNotHold, |m| backwards(m, 480.0)),
        row("E32", BACKWARDS, Inconclusive, |m| backwards(m, 250.0)),
        row("E32", BACKWARDS, Untestable, |m| {
            backwards(m, 22.0).without(|series, _| series == "backwards")
        })
        .says("no point of `backwards` was measured"),
        row("E33", TRIANGULAR, Holds, |m| in_a_page(m, 150.0, 150.0)),
        row("E33", TRIANGULAR, DoesNotHold, |m| in_a_page(m, 60.0, 150.0)),
        row("E33", TRIANGULAR, Inconclusive, |m| in_a_page(m, 120.0, 150.0)),
        row("E33", TRIANGULAR, Untestable, |m| {
            in_a_page(m, 60.0, 150.0).without(|series, _| series == "triangular")
        })
        .says("no point of `triangular` was measured"),
        row("E33", TRIANGULAR, Inconclusive, |m| in_a_page(m, 80.0, 80.0))
            .says("a step to the next line over a random step: 0."),
        row("E33", TRIANGULAR, Untestable, |m| in_a_page(m, 40.0, 40.0))
            .says("no prefetcher is at work"),
        row("E33", TRIANGULAR, Untestable, |m| off(in_a_page(m, 150.0, 150.0))),
        row("E33", IN_PAGE, Holds, |m| in_a_page(m, 150.0, 150.0)),
        row("E33", IN_PAGE, DoesNotHold, |m| in_a_page(m, 50.0, 60.0)),
        row("E33", IN_PAGE, Inconclusive, |m| in_a_page(m, 50.0, 80.0)),
        row("E33", IN_PAGE, Untestable, |m| {
            in_a_page(m, 60.0, 150.0).without(|series, _| series == "forwards")
        })
        .says("no point of `forwards` was measured"),
        row("E35", SWITCHED_ON, Holds, |m| switched(m, 40.0, 400.0)),
        row("E35", SWITCHED_ON, DoesNotHold, |m| switched(m, 400.0, 400.0)),
        row("E35", SWITCHED_ON, Inconclusive, |m| switched(m, 250.0, 400.0)),
        row("E35", SWITCHED_ON, Untestable, |m| {
            switched(m, 40.0, 400.0).without(|series, _| series == "forwards")
        })
        .says("`forwards` was not measured at 0"),
        row("E35", SWITCHED_OFF, Holds, |m| switched(m, 40.0, 400.0)),
        row("E35", SWITCHED_OFF, DoesNotHold, |m| switched(m, 40.0, 60.0)),
        row("E35", SWITCHED_OFF, Inconclusive, |m| switched(m, 40.0, 250.0)),
        row("E35", SWITCHED_OFF, Untestable, |m| {
            Planted::new("E35", m, |_, place| match place {
                1.0 => Value::Untestable("run with --allow-msr"),
                _ => time(40.0),
            })
        })
        .says("run with --allow-msr"),
        row("E35", SWITCHED_ON, Untestable, |m| {
            let off = Machine { prefetchers_off: true, ..m.clone() };
            switched(m, 400.0, 400.0).on(off)
        })
        .says("off for the whole run"),
    ]
}
