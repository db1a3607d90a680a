//! Non-temporal stores: Drepper 6.1.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::machines::{MIB, with_memory};
use super::planted::{Planted, Row, Value, row, time};

const ARRIVES: &str = ".1";
const IN_ORDER: &str = ".2";
const BY_ROW: &str = ".1";
const COLUMN: &str = ".2";
const COLUMN_NT: &str = ".3";
const TWICE: &str = ".4";

/// The stores: one page per kind arrives, and the bandwidths of cached and of non-temporal stores.
fn stores(machine: &Machine, cached: f64, non_temporal: f64) -> Planted {
    Planted::new("E1", machine, |series, _| match series {
        "cached stores" => time(cached),
        "non-temporal stores" => time(non_temporal),
        _ => Value::Counted(4096.0),
    })
}

/// Nanoseconds per store: normal by row and by column, non-temporal by row and by column.
fn matrix(machine: &Machine, times: [f64; 4]) -> Planted {
    Planted::new("E4", machine, |series, _| {
        let all = [
            "normal, by row",
            "normal, by column",
            "non-temporal, by row",
            "non-temporal, by column",
        ];
        let index = all.iter().position(|name| *name == series);
        time(times[index.expect("a sweep")])
    })
}

/// The same machine with a last level of so many MiB.
fn with_last_level(machine: &Machine, mib: f64) -> Machine {
    let mut machine = machine.clone();
    let last = &mut machine.ranges.capacities[2];
    (last.reported, last.measured) = (Some(mib * MIB), None);
    machine.ranges.memory.lo = 4.0 * mib * MIB;
    machine
}

/// Claims judged on counts alone.
pub const EXACT: &[super::Exact] = &[("E1", ".1")];

pub fn rows() -> Vec<Row> {
    vec![
        row("E1", ARRIVES, Holds, |m| stores(m, 10.0, 23.0)),
        // A CPU without AVX-512: the claim is still judged on the other stores.
        row("E1", ARRIVES, Holds, |m| {
            Planted::new("E1", m, |series, x| match series {
                "bytes arrived by _mm512_stream_si512" => Value::Untestable("no AVX-512"),
                "bytes arrived by _mm_stream_sd" => Value::Untestable("no SSE4a"),
                "cached stores" | "non-temporal stores" => time(x),
                _ => Value::Counted(4096.0),
            })
        }),
        row("E1", ARRIVES, DoesNotHold, |m| {
            Planted::new("E1", m, |series, x| match series {
                "bytes arrived by _mm_stream_pd" => Value::Counted(4095.0),
                "cached stores" | "non-temporal stores" => time(x),
                _ => Value::Counted(4096.0),
            })
        })
        .says("_mm_stream_pd: 4095"),
        row("E1", ARRIVES, Untestable, |m| {
            Planted::new("E1", m, |series, x| match series {
                "bytes arrived by _mm_stream_si32" => Value::Untestable("no memory"),
                "cached stores" | "non-temporal stores" => time(x),
                _ => Value::Counted(4096.0),
            })
        })
        .says("no memory"),
        row("E1", IN_ORDER, Holds, |m| stores(m, 10.0, 23.0)),
        row("E1", IN_ORDER, DoesNotHold, |m| stores(m, 10.0, 8.0)),
        row("E1", IN_ORDER, Holds, |m| stores(m, 10.0, 10.0)),
        row("E1", IN_ORDER, Inconclusive, |m| stores(m, 10.0, 9.5)),
        row("E1", IN_ORDER, Untestable, |m| {
            stores(m, 10.0, 23.0).without(|series, x| series == "cached stores" && x == 16.0)
        })
        .says("`cached stores` was not measured at 16"),
        row("E4", BY_ROW, Holds, |m| matrix(m, [5.3, 14.1, 5.3, 17.8])),
        row("E4", BY_ROW, DoesNotHold, |m| matrix(m, [5.0, 14.1, 6.0, 17.8])),
        row("E4", BY_ROW, Inconclusive, |m| matrix(m, [5.0, 14.1, 5.5, 17.8])),
        row("E4", BY_ROW, Untestable, |m| {
            // Only the larger matrix is missing.
            matrix(m, [5.0; 4]).without(|_, x| x > 36e6)
        })
        .says("was not measured at"),
        // Normal stores are faster to the paper's matrix, which lies in the last level.
        row("E4", BY_ROW, Holds, |m| {
            Planted::new("E4", &with_last_level(m, 96.0), |series, x| {
                let near = x == 36e6 && series == "normal, by row";
                time(if near { 2.0 } else { 5.0 })
            })
        }),
        row("E4", BY_ROW, Untestable, |m| {
            matrix(&with_memory(&with_last_level(m, 768.0), 256 << 20), [5.3, 14.1, 5.3, 17.8])
        })
        .says("each matrix lies in the last level of 768 MiB"),
        row("E4", COLUMN, Holds, |m| matrix(m, [5.3, 14.1, 5.3, 17.8])),
        row("E4", COLUMN, DoesNotHold, |m| matrix(m, [5.3, 4.0, 5.3, 17.8])),
        row("E4", COLUMN, Inconclusive, |m| matrix(m, [5.3, 5.3, 5.3, 17.8])),
        row("E4", COLUMN, Untestable, |m| {
            matrix(m, [5.0; 4]).without(|series, _| series == "normal, by column")
        }),
        row("E4", COLUMN_NT, Holds, |m| matrix(m, [5.3, 14.1, 5.3, 17.8])),
        row("E4", COLUMN_NT, DoesNotHold, |m| matrix(m, [5.3, 14.1, 5.3, 12.0])),
        row("E4", COLUMN_NT, Inconclusive, |m| matrix(m, [5.3, 14.1, 5.3, 14.1])),
        row("E4", COLUMN_NT, Untestable, |m| {
            Planted::new("E4", m, |_, _| Value::Untestable("256000000 bytes refused"))
        })
        .says("256000000 bytes refused"),
        row("E4", TWICE, Holds, |m| matrix(m, [5.3, 14.1, 5.3, 17.8])),
        row("E4", TWICE, DoesNotHold, |m| matrix(m, [5.3, 14.1, 5.3, 8.0])),
        row("E4", TWICE, Inconclusive, |m| matrix(m, [5.3, 14.1, 5.3, 10.6])),
        row("E4", TWICE, Untestable, |m| {
            matrix(m, [5.0; 4]).without(|series, _| series == "non-temporal, by row")
        }),
    ]
}
