//! Figure 6.3.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::Exact;
use super::machines::with_memory;
use super::planted::{Planted, Row, Value, by_level, row, time};

/// Claims about bytes and lines are counted.
pub const EXACT: &[Exact] = &[("E12", ".1"), ("E12", ".2"), ("E12", ".3")];

const FOO: &str = ".1";
const MOVED: &str = ".2";
const RUST: &str = ".3";
const NEAR: &str = ".4";
const RANDOM: &str = ".5";
const IN_ORDER: &str = ".6";

/// The paper's counts.
fn bytes(series: &str) -> Option<f64> {
    Some(match series {
        "bytes of foo" => 72.0,
        "bytes before fill" | "bytes of the last line" => 8.0,
        "bytes before b" | "bytes of foo, b moved" => 64.0,
        "bytes of foo in Rust" => 64.0,
        "bytes of holes and padding in Rust" => 0.0,
        "cache lines" => 2.0,
        "cache lines, b moved" | "cache lines in Rust" => 1.0,
        "bytes of holes" | "bytes of padding" | "bytes before b, moved" => 4.0,
        _ => return None,
    })
}

/// Core cycles per pick. Picks from reorganised structures take 10 at random and 4 in order. Picks from the
/// others take these times as many, by level or in memory.
fn picks(machine: &Machine, random: [f64; 4], in_order: f64) -> Planted {
    Planted::new("E12", machine, |series, x| match bytes(series) {
        Some(bytes) => Value::Counted(bytes),
        None => time(match series {
            "as defined, at random" => 10.0 * by_level(machine, x, random),
            "as defined, in order" => 4.0 * in_order,
            "reorganised, in order" => 4.0,
            _ => 10.0,
        }),
    })
}

const AT_RANDOM: [f64; 4] = [1.02, 1.2, 1.2, 1.4];

fn today(machine: &Machine) -> Planted {
    picks(machine, AT_RANDOM, 1.13)
}

/// The same, with `count` in one series.
fn with(machine: &Machine, other: &'static str, count: f64) -> Planted {
    Planted::new("E12", machine, |series, _| match bytes(series) {
        _ if series == other => Value::Counted(count),
        Some(bytes) => Value::Counted(bytes),
        None => time(1.0),
    })
}

/// The same machine, whose memory limit is so small that no working set exceeds the caches.
fn small(machine: &Machine) -> Planted {
    today(&with_memory(machine, 16 << 20))
}

pub fn rows() -> Vec<Row> {
    vec![
        row("E12", FOO, Holds, today),
        // A compiler that does not pad the end of a structure.
        row("E12", FOO, DoesNotHold, |m| with(m, "bytes of padding", 0.0))
            .says("bytes of padding: 0"),
        row("E12", FOO, Untestable, |m| today(m).without(|series, _| series == "bytes of holes")),
        row("E12", MOVED, Holds, today),
        row("E12", MOVED, DoesNotHold, |m| with(m, "cache lines, b moved", 2.0)),
        row("E12", MOVED, Untestable, |m| {
            today(m).without(|series, _| series == "bytes of foo, b moved")
        }),
        row("E12", RUST, Holds, today),
        // A compiler that keeps the order of the definition.
        row("E12", RUST, DoesNotHold, |m| with(m, "bytes of foo in Rust", 72.0))
            .says("bytes of foo in Rust: 72"),
        row("E12", RUST, Untestable, |m| {
            today(m).without(|series, _| series == "cache lines in Rust")
        }),
        row("E12", NEAR, Holds, today),
        row("E12", NEAR, DoesNotHold, |m| picks(m, [1.3, 1.3, 1.3, 1.4], 1.13)),
        row("E12", NEAR, DoesNotHold, |m| picks(m, [0.8, 1.0, 1.0, 1.4], 1.13)),
        row("E12", NEAR, Inconclusive, |m| picks(m, [1.1, 1.2, 1.2, 1.4], 1.13)),
        row("E12", NEAR, Untestable, |m| {
            let l1 = m.ranges.l1.hi;
            today(m).without(|_, x| 0.0 < x && x <= l1)
        }),
        row("E12", RANDOM, Holds, today),
        row("E12", RANDOM, Holds, |m| today(m).with_doubtful_l1()),
        row("E12", RANDOM, DoesNotHold, |m| picks(m, [1.0, 1.4, 1.4, 1.02], 1.13)),
        row("E12", RANDOM, Inconclusive, |m| picks(m, [1.0, 1.4, 1.4, 1.1], 1.13)),
        row("E12", RANDOM, Untestable, small).says("is not in the range"),
        row("E12", IN_ORDER, Holds, today),
        row("E12", IN_ORDER, DoesNotHold, |m| picks(m, AT_RANDOM, 2.0)),
        row("E12", IN_ORDER, Inconclusive, |m| picks(m, AT_RANDOM, 1.5)),
        row("E12", IN_ORDER, Untestable, small).says("is not in the range"),
    ]
}
