//! Row X22: the operations and stores that fit between two chains, and the depth of calls.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::planted::{Planted, Row, Value, but, noisy, row, time};

const OPERATIONS: &str = ".1";
const STORES: &str = ".2";
const LOADS: &str = ".3";
const NOPS: &str = ".4";
const REGISTERS: &str = ".5";
const CALLS: &str = ".6";

/// The sizes of a core's buffers.
#[derive(Clone, Copy)]
struct Buffers {
    operations: f64,
    published: f64,
    stores: f64,
    loads: f64,
    nops: f64,
    sums: f64,
    calls: f64,
}

const USUAL: Buffers = Buffers {
    operations: 330.0,
    published: 330.0,
    stores: 66.0,
    loads: 140.0,
    nops: 330.0,
    sums: 180.0,
    calls: 32.0,
};

fn buffers(machine: &Machine, of: Buffers) -> Planted {
    Planted::new("X22", machine, |series, x| {
        let size = match series {
            "published entries of the reorder buffer" => return Value::Counted(of.published),
            "published entries of the store buffer" => return Value::Counted(66.0),
            "nested calls" => {
                // Each call and return takes 3 cycles, and each return with a lost prediction 15 more.
                return time(3.0 * x + 15.0 * (x - of.calls).max(0.0));
            }
            "operations" => of.operations,
            "stores" => of.stores,
            "loads" => of.loads,
            "nops" => of.nops,
            "sums in general registers" => of.sums,
            _ => 200.0,
        };
        time(if x <= size { 250.0 } else { 480.0 } + x / 10.0)
    })
}

pub fn rows() -> Vec<Row> {
    vec![
        row("X22", OPERATIONS, Holds, |m| buffers(m, USUAL)).says("over the published 330"),
        row("X22", OPERATIONS, DoesNotHold, |m| {
            buffers(m, but(USUAL, |of| (of.published, of.operations) = (700.0, 440.0)))
        }),
        row("X22", OPERATIONS, Inconclusive, |m| {
            let published = 280.0;
            buffers(m, Buffers { published, ..USUAL })
        }),
        // A second thread uses half of the buffer.
        row("X22", OPERATIONS, Inconclusive, |m| {
            buffers(m, but(USUAL, |of| of.operations = 165.0))
        })
        .says("a second thread of the core"),
        row("X22", OPERATIONS, Untestable, |m| {
            Planted::new("X22", m, |series, _| match series {
                "published entries of the reorder buffer" => Value::Untestable("not published"),
                _ => time(100.0),
            })
        })
        .says("not published"),
        row("X22", OPERATIONS, Untestable, |m| buffers(m, but(USUAL, |of| of.operations = 1e9)))
            .says("no number of `operations`"),
        row("X22", STORES, Holds, |m| buffers(m, USUAL)),
        row("X22", STORES, DoesNotHold, |m| {
            let stores = 150.0;
            buffers(m, Buffers { stores, ..USUAL })
        }),
        row("X22", STORES, Inconclusive, |m| {
            let stores = 33.0;
            buffers(m, Buffers { stores, ..USUAL })
        })
        .says("the store buffer has half of its published size"),
        row("X22", STORES, Untestable, |m| {
            buffers(m, USUAL).without(|series, _| series == "stores")
        }),
        row("X22", LOADS, Holds, |m| buffers(m, USUAL)),
        row("X22", LOADS, DoesNotHold, |m| {
            let loads = 330.0;
            buffers(m, Buffers { loads, ..USUAL })
        }),
        row("X22", LOADS, Inconclusive, |m| {
            let loads = 240.0;
            buffers(m, Buffers { loads, ..USUAL })
        }),
        row("X22", LOADS, Untestable, |m| buffers(m, USUAL).without(|series, _| series == "loads")),
        row("X22", NOPS, Holds, |m| buffers(m, USUAL)),
        row("X22", NOPS, DoesNotHold, |m| {
            let nops = 660.0;
            buffers(m, Buffers { nops, ..USUAL })
        }),
        row("X22", NOPS, Inconclusive, |m| {
            let nops = 370.0;
            buffers(m, Buffers { nops, ..USUAL })
        }),
        row("X22", NOPS, Untestable, |m| {
            Planted::new("X22", m, |series, _| match series {
                "nops" => noisy(100.0, 0.01),
                _ => time(100.0),
            })
        })
        .says("no number of `nops`"),
        row("X22", REGISTERS, Holds, |m| buffers(m, USUAL)),
        row("X22", REGISTERS, Inconclusive, |m| buffers(m, but(USUAL, |of| of.operations = 165.0)))
            .says("the reorder buffer has half of its published size"),
        row("X22", REGISTERS, DoesNotHold, |m| {
            let sums = 330.0;
            buffers(m, Buffers { sums, ..USUAL })
        }),
        row("X22", REGISTERS, Inconclusive, |m| {
            let sums = 260.0;
            buffers(m, Buffers { sums, ..USUAL })
        }),
        row("X22", REGISTERS, Untestable, |m| {
            buffers(m, USUAL).without(|series, _| series.starts_with("sums"))
        }),
        row("X22", CALLS, Holds, |m| buffers(m, USUAL)),
        row("X22", CALLS, DoesNotHold, |m| {
            let calls = 8.0;
            buffers(m, Buffers { calls, ..USUAL })
        }),
        row("X22", CALLS, Inconclusive, |m| {
            let calls = 46.5;
            buffers(m, Buffers { calls, ..USUAL })
        }),
        // A neighbour has half of the return stack while the second pass runs.
        row("X22", CALLS, Holds, |m| {
            buffers(m, USUAL).with_a_slower_pass(|x| if x <= 12.0 { 1.0 } else { 2.0 })
        })
        .says("depth of calls that is remembered: 3"),
        row("X22", CALLS, Untestable, |m| {
            let calls = 1e9;
            buffers(m, Buffers { calls, ..USUAL })
        })
        .says("no depth of calls"),
    ]
}
