//! Startin's A6: event lists.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Untestable};

use super::planted::{Planted, Row, Value, row};

const REPLACES: &str = ".1";
const POST: &str = ".2";

/// Claims judged on counts alone.
pub const EXACT: &[super::Exact] = &[("A6", REPLACES), ("A6", POST)];

/// The number of events counted without a list, from the list, besides the list, and from the post's list.
fn events(machine: &Machine, usual: f64, asked: f64, others: f64, post: Value) -> Planted {
    Planted::new("A6", machine, |series, _| match series {
        "events counted if nobody says which" => Value::Counted(usual),
        "events asked for and counted" => Value::Counted(asked),
        "events counted besides those asked for" => Value::Counted(others),
        _ => post,
    })
}

fn usual(machine: &Machine) -> Planted {
    events(machine, 4.0, 2.0, 0.0, Value::Counted(2.0))
}

pub fn rows() -> Vec<Row> {
    vec![
        row("A6", REPLACES, Holds, usual),
        row("A6", REPLACES, DoesNotHold, |m| events(m, 4.0, 2.0, 4.0, Value::Missing))
            .says("others: 4"),
        row("A6", REPLACES, DoesNotHold, |m| events(m, 4.0, 1.0, 0.0, Value::Missing)),
        row("A6", REPLACES, DoesNotHold, |m| events(m, 0.0, 2.0, 0.0, Value::Missing))
            .says("without a list: 0"),
        row("A6", REPLACES, Untestable, |m| {
            usual(m).without(|series, _| series.contains("besides"))
        }),
        row("A6", POST, Holds, usual),
        row("A6", POST, DoesNotHold, |m| events(m, 4.0, 2.0, 0.0, Value::Counted(1.0))),
        row("A6", POST, Untestable, |m| {
            let refused = Value::Untestable("the kernel sees no PMU on this CPU");
            events(m, 4.0, 2.0, 0.0, refused)
        })
        .says("no PMU"),
    ]
}
