//! Non-temporal loads: Drepper 6.1.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::planted::{Planted, Row, Value, by_level, row, time};

const NARROW: &str = ".1";
const WIDE: &str = ".2";
const SPARED: &str = ".3";
const EVICTED: &str = ".4";

/// The ratio of the bandwidth of `movntdqa` to that of `movdqa`, level by level, for one width; 1 for the
/// others.
fn loads(machine: &Machine, width: &str, faster: [f64; 4]) -> Planted {
    Planted::new("E5", machine, |series, x| {
        let plain = by_level(machine, x, [300.0, 150.0, 40.0, 16.0]);
        let of_width = match width {
            "16" => series == "movntdqa",
            _ => series.starts_with("vmovntdqa") && series.contains(width),
        };
        time(if of_width { plain * by_level(machine, x, faster) } else { plain })
    })
}

/// Bandwidths of laps after no loads, after plain loads, and after `movntdqa`.
fn laps(machine: &Machine, laps: [f64; 3]) -> Planted {
    Planted::new("E5", machine, |series, _| match series {
        "lap after nothing" => time(laps[0]),
        "lap after plain loads" => time(laps[1]),
        "lap after movntdqa" => time(laps[2]),
        _ => time(16.0),
    })
}

/// A CPU that lacks the instructions of the series whose names contain `word`.
fn lacking(machine: &Machine, word: &str) -> Planted {
    Planted::new("E5", machine, |_, _| time(16.0)).lacking(&[word], "this CPU lacks it")
}

pub fn rows() -> Vec<Row> {
    vec![
        row("E5", NARROW, Holds, |m| loads(m, "16", [1.0; 4])),
        row("E5", NARROW, DoesNotHold, |m| loads(m, "16", [0.5, 1.0, 1.0, 1.0]))
            .says("bandwidth in L1d, 16 bytes: 0.50"),
        row("E5", NARROW, DoesNotHold, |m| loads(m, "16", [1.0, 1.0, 1.0, 1.3]))
            .says("bandwidth in memory, 16 bytes: 1.30"),
        row("E5", NARROW, Inconclusive, |m| loads(m, "16", [1.0, 1.0, 1.0, 1.1])),
        row("E5", NARROW, Untestable, |m| lacking(m, "movntdqa")).says("this CPU lacks it"),
        row("E5", WIDE, Holds, |m| loads(m, "32", [1.0; 4])),
        // A CPU without AVX-512: the claim is still judged on the loads of 32 bytes.
        row("E5", WIDE, Holds, |m| {
            Planted::new("E5", m, |series, _| match series.contains("64 bytes") {
                true => Value::Untestable("this CPU has no loads of 64 bytes"),
                false => time(16.0),
            })
        })
        .says("this CPU has no loads of 64 bytes"),
        // The loads of 64 bytes were refused for another reason.
        row("E5", WIDE, Untestable, |m| lacking(m, "64 bytes")).says("this CPU lacks it"),
        row("E5", WIDE, DoesNotHold, |m| loads(m, "32", [1.0, 0.5, 1.0, 1.0]))
            .says("bandwidth in L2, 32 bytes: 0.50"),
        row("E5", WIDE, DoesNotHold, |m| loads(m, "64", [1.0, 1.0, 1.0, 1.3]))
            .says("bandwidth in memory, 64 bytes: 1.30"),
        row("E5", WIDE, Inconclusive, |m| loads(m, "64", [1.1, 1.0, 1.0, 1.0])),
        row("E5", WIDE, Untestable, |m| lacking(m, "bytes")).says("this CPU lacks it"),
        row("E5", SPARED, Holds, |m| laps(m, [2.0, 1.0, 2.0])),
        row("E5", SPARED, DoesNotHold, |m| laps(m, [2.0, 1.0, 1.0])),
        row("E5", SPARED, Inconclusive, |m| laps(m, [1.3, 0.5, 1.0])),
        row("E5", SPARED, Untestable, |m| lacking(m, "lap after movntdqa"))
            .says("this CPU lacks it"),
        row("E5", EVICTED, Holds, |m| laps(m, [2.0, 1.0, 2.0])),
        row("E5", EVICTED, DoesNotHold, |m| laps(m, [2.0, 2.0, 2.0])),
        row("E5", EVICTED, Inconclusive, |m| laps(m, [1.3, 1.0, 1.3])),
        row("E5", EVICTED, Untestable, |m| {
            laps(m, [2.0; 3]).without(|series, _| series == "lap after nothing")
        }),
    ]
}
