//! The start addresses of objects, judged on exact counts.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Untestable};

use super::Exact;
use super::planted::{Planted, Row, Value, row};

/// Claims judged on counts alone.
pub const EXACT: &[Exact] = &[("E14", ".1"), ("E14", ".2"), ("E14", ".3"), ("E14", ".4")];

const ASKED: &str = ".1";
const UNASKED: &str = ".2";
const ARRAY: &str = ".3";
const COST: &str = ".4";

/// The counts of an allocator that aligns to 16 bytes and puts 16 bytes before each object, with one other
/// count.
fn with(machine: &Machine, other: &'static str, x: f64, count: f64) -> Planted {
    Planted::new("E14", machine, |series, place| {
        Value::Counted(match series {
            _ if series == other && place == x => count,
            "percent of objects that asked on a line" => 100.0,
            "unasked boxes of 4096 on a multiple of 16" => 4096.0,
            "unasked boxes of 4096 on a line" => 1024.0,
            "bytes from a box to the next, unasked" => 80.0,
            "bytes from a box to the next, asked" => 192.0,
            "elements of 40 bytes on a line, of 64 in an array that asked" => 8.0,
            _ => 64.0,
        })
    })
}

fn glibc(machine: &Machine) -> Planted {
    with(machine, "", 0.0, 0.0)
}

pub fn rows() -> Vec<Row> {
    vec![
        row("E14", ASKED, Holds, glibc),
        // The compiler does not align the stack.
        row("E14", ASKED, DoesNotHold, |m| {
            with(m, "percent of objects that asked on a line", 1.0, 97.0)
        })
        .says("on the stack, percent: 97"),
        row("E14", ASKED, Untestable, |m| {
            glibc(m).without(|series, x| series.starts_with("percent") && x == 2.0)
        }),
        row("E14", UNASKED, Holds, glibc),
        // An allocator with size classes: 64 bytes are aligned to 64.
        row("E14", UNASKED, DoesNotHold, |m| {
            with(m, "unasked boxes of 4096 on a line", 0.0, 4096.0)
        })
        .says("on a line: 4096"),
        // An allocator that aligns to 8 bytes.
        row("E14", UNASKED, DoesNotHold, |m| {
            with(m, "unasked boxes of 4096 on a multiple of 16", 0.0, 2000.0)
        }),
        row("E14", UNASKED, Untestable, |m| {
            glibc(m).without(|series, _| series == "unasked boxes of 4096 on a line")
        }),
        row("E14", ARRAY, Holds, glibc),
        row("E14", ARRAY, DoesNotHold, |m| {
            let first = "elements of 40 bytes on a line, of 64 in an array that asked";
            with(m, first, 0.0, 64.0)
        }),
        row("E14", ARRAY, DoesNotHold, |m| {
            let stride = "bytes from an element of 40 bytes that asked to the next";
            with(m, stride, 0.0, 40.0)
        })
        .says("bytes to the next: 40"),
        row("E14", ARRAY, Untestable, |m| {
            glibc(m).without(|series, _| series == "elements that asked on a line, of 64")
        }),
        row("E14", COST, Holds, glibc),
        row("E14", COST, DoesNotHold, |m| {
            with(m, "bytes from a box to the next, asked", 0.0, 80.0)
        }),
        row("E14", COST, Untestable, |m| {
            glibc(m).without(|series, _| series == "bytes from a box to the next, unasked")
        }),
    ]
}
