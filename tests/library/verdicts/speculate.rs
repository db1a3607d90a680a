//! Row E41: loads after stores whose addresses are known late.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::machines::with_memory;
use super::planted::{Planted, Row, row, time};

const APART: &str = ".1";
const MISSES: &str = ".2";
const SHARED: &str = ".3";
const SOMETIMES: &str = ".4";

/// The time of an operation whose load has a different address that is known early, and of one whose load
/// sometimes or always has the store's address. If the load's address waits for the store's address, the time
/// is 130, and 1300 if both miss.
fn loads(machine: &Machine, apart: f64, sometimes: f64, shared: f64) -> Planted {
    Planted::new("E41", machine, |series, x| {
        time(match (series, x) {
            ("address known early", 0.0) => apart,
            ("address known early", 100.0) => shared,
            ("address known early", _) => sometimes,
            ("both miss, address known early", _) => 10.0 * apart,
            ("both miss, address waits for the store's", _) => 1300.0,
            _ => 130.0,
        })
    })
}

pub fn rows() -> Vec<Row> {
    vec![
        row("E41", APART, Holds, |m| loads(m, 67.0, 120.0, 130.0)),
        row("E41", APART, DoesNotHold, |m| loads(m, 130.0, 130.0, 130.0)),
        row("E41", APART, Inconclusive, |m| loads(m, 97.5, 130.0, 130.0)),
        row("E41", APART, Untestable, |m| {
            loads(m, 67.0, 120.0, 130.0).without(|series, _| series.contains("waits"))
        })
        .says("was not measured at 0"),
        row("E41", MISSES, Holds, |m| loads(m, 67.0, 120.0, 130.0)),
        row("E41", MISSES, DoesNotHold, |m| loads(m, 130.0, 130.0, 130.0)),
        row("E41", MISSES, Inconclusive, |m| loads(m, 97.5, 130.0, 130.0)),
        row("E41", MISSES, Untestable, |m| loads(&with_memory(m, 16 << 20), 67.0, 120.0, 130.0))
            .says("is not in the range"),
        row("E41", SHARED, Holds, |m| loads(m, 67.0, 120.0, 130.0)),
        // The CPU predicts the pair, so a shared address takes no longer than separate ones.
        row("E41", SHARED, DoesNotHold, |m| loads(m, 67.0, 120.0, 63.0))
            .says("shared over apart: 0.94"),
        row("E41", SHARED, Inconclusive, |m| loads(m, 67.0, 120.0, 100.5)),
        row("E41", SHARED, Untestable, |m| loads(m, 67.0, 120.0, 130.0).without(|_, x| x == 100.0))
            .says("was not measured at 100"),
        row("E41", SOMETIMES, Holds, |m| loads(m, 67.0, 120.0, 130.0)),
        row("E41", SOMETIMES, DoesNotHold, |m| loads(m, 67.0, 68.0, 130.0)),
        row("E41", SOMETIMES, Inconclusive, |m| loads(m, 67.0, 80.4, 130.0)),
        row("E41", SOMETIMES, Untestable, |m| {
            loads(m, 67.0, 120.0, 130.0).without(|_, x| x == 6.25)
        })
        .says("was not measured at 6.25"),
    ]
}
