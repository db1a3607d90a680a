//! The gain of a cache: the paper's arithmetic, and this machine's latencies.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::planted::{Planted, Row, Value, row, time};

const PAPER: &str = ".1";
const HERE: &str = ".2";
const HITS: &str = ".3";

/// Claims judged on counts alone.
pub const EXACT: &[super::Exact] = &[("D1", ".1")];

/// The paper's numbers, with `with` cycles for a machine with a cache, and latencies of L1d and memory.
fn plant(machine: &Machine, with: f64, near: f64, far: f64) -> Planted {
    Planted::new("D1", machine, |series, _| match series {
        "L1d" => time(near),
        "memory" => time(far),
        "the paper's cycles without a cache" => Value::Counted(2e6),
        "the paper's cycles with a cache" => Value::Counted(with),
        _ => Value::Counted(91.575),
    })
}

pub fn rows() -> Vec<Row> {
    vec![
        row("D1", PAPER, Holds, |m| plant(m, 168_500.0, 4.0, 400.0)),
        row("D1", PAPER, DoesNotHold, |m| plant(m, 170_000.0, 4.0, 400.0))
            .says("cycles with: 170000"),
        row("D1", PAPER, Untestable, |m| {
            plant(m, 168_500.0, 4.0, 400.0).without(|series, _| series.contains("share"))
        }),
        row("D1", HERE, Holds, |m| plant(m, 168_500.0, 4.0, 400.0)),
        row("D1", HERE, DoesNotHold, |m| plant(m, 168_500.0, 40.0, 400.0)),
        // 99 x near / (100 x far) is 7.5 %, in addition to the 1 % of first uses.
        row("D1", HERE, Inconclusive, |m| plant(m, 168_500.0, 400.0 * 7.5 / 99.0, 400.0)),
        row("D1", HERE, Untestable, |m| {
            plant(m, 168_500.0, 4.0, 400.0).without(|series, _| series == "L1d")
        })
        .says("no point of `L1d`"),
        row("D1", HITS, Holds, |m| plant(m, 168_500.0, 5.0, 300.0)),
        // Half as many core cycles in memory, each of them twice as long.
        row("D1", HITS, DoesNotHold, |m| plant(m, 168_500.0, 4.0, 500.0).with_clock_in_memory(0.5)),
        row("D1", HITS, DoesNotHold, |m| plant(m, 168_500.0, 4.0, 500.0)),
        row("D1", HITS, Inconclusive, |m| plant(m, 168_500.0, 4.0, 396.0)),
        row("D1", HITS, Untestable, |m| {
            plant(m, 168_500.0, 4.0, 400.0).without(|series, _| series == "memory")
        }),
    ]
}
