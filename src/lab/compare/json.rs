//! A comparison as JSON.

use serde_json::{Value, json};

use super::difference::changed;
use super::{Ahead, Difference, Gate, Outcome, Place, Side};

/// Everything that a comparison found. `others` has the differences of each record but the first;
/// `gates` what each gate came to.
pub fn json(sides: &[Side], others: &[Vec<Difference>], gates: &[(Gate, Outcome)]) -> Value {
    let compared = sides.iter().skip(1).zip(others);
    json!({
        "records": sides.iter().map(record).collect::<Vec<_>>(),
        "differences": compared
            .flat_map(|(side, differences)| {
                differences.iter().map(|of| difference(&side.name, of))
            })
            .collect::<Vec<_>>(),
        "verdicts": changed(sides)
            .iter()
            .map(|row| {
                let names = row.verdicts.iter().map(|verdict| verdict.map(|v| v.name()));
                json!({
                    "experiment": row.id,
                    "claim": row.claim,
                    "verdicts": names.collect::<Vec<_>>(),
                })
            })
            .collect::<Vec<_>>(),
        "gates": gates.iter().map(|(gate, outcome)| judged(gate, outcome)).collect::<Vec<_>>(),
    })
}

fn record(side: &Side) -> Value {
    json!({
        "name": side.name,
        "machine": side.view.summary.machine.to_string(),
        "date": side.view.date,
        "notes": side.view.notes,
    })
}

fn difference(side: &str, of: &Difference) -> Value {
    json!({
        "record": side,
        "family": of.family,
        "experiment": of.id,
        "name": of.name,
        "series": of.series,
        "unit": of.unit,
        "median": of.median(),
        "alone": of.alone,
        "points": of.places.iter().map(place).collect::<Vec<_>>(),
    })
}

fn place(place: &Place) -> Value {
    json!({
        "x": place.x,
        "first": [place.a.lo, place.a.mid, place.a.hi],
        "other": [place.b.lo, place.b.mid, place.b.hi],
        "ratio": place.ratio.zip(place.times()).map(|(ratio, times)| [ratio.lo, times, ratio.hi]),
        "larger": match place.ahead() {
            Ahead::Other => Some("other"),
            Ahead::First => Some("first"),
            Ahead::Neither => None,
        },
    })
}

fn judged(gate: &Gate, outcome: &Outcome) -> Value {
    let failures = outcome.failures.iter().map(|failure| {
        json!({
            "record": failure.side,
            "experiment": failure.id,
            "series": failure.series,
            "x": failure.x,
            "ratio": [failure.ratio.lo, failure.times, failure.ratio.hi],
        })
    });
    json!({
        "gate": gate.text,
        "passed": outcome.failures.is_empty(),
        "points": outcome.points,
        "failures": failures.collect::<Vec<_>>(),
    })
}
