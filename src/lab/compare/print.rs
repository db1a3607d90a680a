//! A comparison on the terminal.

use comfy_table::Row;

use super::difference::{Changed, changed, median_of};
use super::{Ahead, Beyond, Difference, Failure, Gate, Place, Side};
use crate::lab::report::{number, place};
use crate::lab::table;
use crate::stats::Interval;

/// The differences of one experiment.
struct Group<'a> {
    of: &'a [Difference],
}

impl<'a> Group<'a> {
    fn places(&self) -> impl Iterator<Item = (&'a Difference, &'a Place)> {
        self.of.iter().flat_map(|difference| {
            difference
                .places
                .iter()
                .map(move |place| (difference, place))
        })
    }

    /// The place whose ratio is furthest from 1 beyond doubt, if one is.
    fn furthest(&self) -> Option<(&'a Difference, &'a Place)> {
        let differs = self.places().filter(|(_, place)| place.surely() > 1.0);
        differs.max_by(|a, b| a.1.surely().total_cmp(&b.1.surely()))
    }
}

/// A row an experiment: how the other record's values lie beside the first's.
pub fn table(first: &str, other: &str, differences: &[Difference], width: u16) -> String {
    let over = format!("{other} over {first}");
    let headings = ["id", "experiment", &over, "larger", "smaller", "furthest"];
    let mut table = table::table(&headings, width);
    for of in differences.chunk_by(|a, b| a.id == b.id) {
        let group = Group { of };
        let Some(median) = median_of(of.iter().flat_map(Difference::ratios)) else {
            continue;
        };
        let count = |ahead| {
            let count = group.places().filter(|(_, place)| place.ahead() == ahead);
            count.count()
        };
        let all = group.places().count();
        let furthest = group
            .furthest()
            .map(|(difference, at)| furthest(difference, at));
        let mut row = Row::from([
            of[0].id.clone(),
            of[0].title.clone(),
            format!("{median:.3}"),
            format!("{} of {all}", count(Ahead::Other)),
            format!("{} of {all}", count(Ahead::First)),
            furthest.unwrap_or_default(),
        ]);
        row.max_height(2);
        table.add_row(row);
    }
    table.trim_fmt()
}

fn furthest(difference: &Difference, at: &Place) -> String {
    let ratio = at.ratio.zip(at.times());
    let ratio = ratio.map_or_else(String::new, |(interval, times)| ratio_text(times, interval));
    let place = place(&difference.axis, at.x);
    format!("{ratio} {} at {place}", difference.series)
}

/// A ratio with its interval.
fn ratio_text(times: f64, Interval { lo, hi }: Interval) -> String {
    format!("{times:.3} [{lo:.3}, {hi:.3}]")
}

/// The claims to which the records come to different verdicts; empty if there are none.
pub fn verdicts(sides: &[Side], width: u16) -> String {
    let changed = changed(sides);
    if changed.is_empty() {
        return String::new();
    }
    let names = sides.iter().map(|side| side.name.as_str());
    let headings: Vec<&str> = ["id", "claim"].into_iter().chain(names).collect();
    let mut table = table::table(&headings, width);
    for Changed {
        id,
        claim,
        verdicts,
    } in changed
    {
        let words = verdicts.iter().map(|verdict| match verdict {
            Some(verdict) => verdict.name().to_owned(),
            None => "-".to_owned(),
        });
        let mut row = Row::from([id, claim].into_iter().chain(words).collect::<Vec<_>>());
        row.max_height(2);
        table.add_row(row);
    }
    table.trim_fmt()
}

/// The most points that are named for a gate.
const NAMED: usize = 20;

/// The points that failed a gate, the furthest first.
pub fn failures(gate: &Gate, failures: &[Failure]) -> String {
    let beyond = match gate.beyond {
        Beyond::Above => "above",
        Beyond::Below => "below",
    };
    let points = if failures.len() == 1 {
        "point"
    } else {
        "points"
    };
    let mut text = format!(
        "gate `{}` failed: {} {points} {beyond} {}\n",
        gate.text,
        failures.len(),
        number(gate.limit),
    );
    for failure in failures.iter().take(NAMED) {
        let Failure {
            side,
            id,
            series,
            place,
            times,
            ratio,
            ..
        } = failure;
        let ratio = ratio_text(*times, *ratio);
        text += &format!("  {side}: {id} {series} at {place}: {ratio}\n");
    }
    if failures.len() > NAMED {
        text += &format!("  and {} more\n", failures.len() - NAMED);
    }
    text
}
