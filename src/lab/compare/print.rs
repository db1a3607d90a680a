//! Prints a comparison on the terminal and as JSON.

use std::cmp::Ordering;

use serde_json::{Value, json};

use super::difference::{Larger, changed, effects, times};
use super::{Difference, Failure, Gate, Outcome, Place, Side, prefetchers_apart};
use crate::experiment::Verdict;
use crate::lab::chart::{number, place};
use crate::lab::format::{self, Check, Output, Sheet};
use crate::lab::size::counted;
use crate::lab::terminal::{FAINT, STRONG, Screen, WARN, paragraph};
use crate::stats::Interval;

/// A comparison and the results of its gates.
pub(crate) struct Comparison<'a> {
    pub sides: &'a [Side],
    /// The differences of each record from the first.
    pub found: &'a [Vec<Difference>],
    pub gates: &'a [(Gate, Outcome)],
    /// Path of the page, if it was written.
    pub page: Option<String>,
}

impl Comparison<'_> {
    fn first(&self) -> &str {
        self.sides.first().map_or("", |side| &side.name)
    }

    /// Returns the other records, with their differences.
    fn others(&self) -> impl Iterator<Item = (&Side, &[Difference])> {
        self.sides.iter().skip(1).zip(self.found.iter().map(Vec::as_slice))
    }
}

impl Output for Comparison<'_> {
    fn name(&self) -> String {
        let names: Vec<&str> = self.sides.iter().map(|side| side.name.as_str()).collect();
        format!("linefill compare: {}", names.join(", "))
    }

    fn screen(&self, width: u16) -> Screen {
        let mut screen = Screen::default();
        let name = self.sides.iter().map(|side| side.name.chars().count()).max().unwrap_or(0);
        for side in self.sides {
            screen.paint(STRONG, &format!("{:<name$}", side.name));
            screen.add(&format!("  {}, {}\n", side.view.summary.machine, side.view.date));
        }
        if let Some(apart) = prefetchers_apart(self.sides) {
            screen.end();
            paragraph(&mut screen, Some(WARN), &apart, width);
        }
        for side in self.sides.iter().filter(|side| side.outdated > 0) {
            screen.end();
            paragraph(&mut screen, None, &outdated(side), width);
        }
        for (side, found) in self.others() {
            screen.add(&format!("\n{} over {}\n", side.name, self.first()));
            screen.add(&table(found, width)).end();
        }
        screen.end();
        match verdicts(self.sides, width) {
            none if none.is_empty() => {
                paragraph(&mut screen, None, "The verdicts that both have are the same.", width);
            }
            table => {
                screen.add(&table).end();
            }
        }
        if let Some(page) = &self.page {
            screen.paint(FAINT, &format!("page: {page}"));
        }
        screen
    }

    fn json(&self) -> Value {
        json(self.sides, self.found, self.gates)
    }

    fn sheets(&self) -> Vec<Sheet> {
        let mut machines = Sheet::new("Records", &["record", "machine", "date"]);
        for side in self.sides {
            machines.row([&side.name, &side.view.summary.machine.to_string(), &side.view.date]);
        }
        let mut sheets = vec![machines];
        for (side, found) in self.others() {
            sheets.push(effect_sheet(&format!("{} over {}", side.name, self.first()), found));
        }
        sheets.push(verdict_sheet(self.sides));
        sheets
    }

    fn checks(&self) -> Vec<Check> {
        let changes = changes(self.sides).map(|row| Check {
            group: "verdicts".to_owned(),
            name: row[0].clone(),
            outcome: format::Outcome::Warned,
            text: row.join("; "),
        });
        changes.chain(checks(self.gates)).collect()
    }
}

/// Returns the sentence about a record's verdicts that another version wrote.
fn outdated(side: &Side) -> String {
    let verdicts = match side.outdated {
        1 => "1 verdict of the record is on a claim".to_owned(),
        count => format!("{count} verdicts of the record are on claims"),
    };
    format!(
        "{}: {verdicts} that this version of linefill words differently or does not have. They \
         are left out, and the claims of this version are judged on the record's points.",
        side.name
    )
}

pub(crate) fn checks(gates: &[(Gate, Outcome)]) -> impl Iterator<Item = Check> {
    gates.iter().map(|(gate, outcome)| Check {
        group: "gates".to_owned(),
        name: gate.text.clone(),
        outcome: format::Outcome::of(outcome.failures.is_empty()),
        text: judged(gate, outcome).trim_end().to_owned(),
    })
}

/// Formats a table of the other record's effects relative to the first record: a row per experiment, the
/// largest effect first.
pub fn table(differences: &[Difference], width: u16) -> String {
    effect_sheet("", differences).text(width)
}

fn effect_sheet(title: &str, differences: &[Difference]) -> Sheet {
    let mut sheet = Sheet::new(title, &["id", "experiment", "median", "points", "furthest"]);
    for effect in effects(differences) {
        sheet.row([
            &effect.of.id,
            &effect.of.title,
            &effect.in_words(),
            &effect.points_in_words(),
            &effect.furthest.map(furthest).unwrap_or_default(),
        ]);
    }
    sheet
}

fn furthest((difference, at): (&Difference, &Place)) -> String {
    let larger = Larger::of(&difference.unit);
    let times = at.times().map_or_else(String::new, |ratio| times(ratio, larger));
    let place = place(&difference.axis, at.x);
    format!("{times}: {} at {place}", difference.series)
}

pub(super) fn ratio_text(times: f64, Interval { lo, hi }: Interval) -> String {
    format!("{times:.3} [{lo:.3}, {hi:.3}]")
}

/// Formats a table of the claims on which the records have different verdicts; empty if there are none.
pub fn verdicts(sides: &[Side], width: u16) -> String {
    let sheet = verdict_sheet(sides);
    if sheet.rows.is_empty() { String::new() } else { sheet.text(width) }
}

fn verdict_sheet(sides: &[Side]) -> Sheet {
    let names = sides.iter().map(|side| side.name.as_str());
    let headings: Vec<&str> = ["id", "claim"].into_iter().chain(names).collect();
    let mut sheet = Sheet::new("Verdicts that differ", &headings);
    sheet.rows.extend(changes(sides));
    sheet
}

/// Returns a row per claim on which the verdicts differ: its id, the claim, and the verdicts.
fn changes(sides: &[Side]) -> impl Iterator<Item = Vec<String>> {
    changed(sides).into_iter().map(|(of, verdicts)| {
        let verdicts = verdicts.into_iter().map(|verdict| verdict.map_or("-", Verdict::name));
        [of.name(), &of.claim].into_iter().chain(verdicts).map(str::to_owned).collect()
    })
}

/// Maximum number of points that are listed for a gate.
const NAMED: usize = 20;

/// Formats the result of a gate, with the points that failed it, the furthest from the limit first.
pub fn judged(gate: &Gate, outcome: &Outcome) -> String {
    let failures = &outcome.failures;
    if failures.is_empty() {
        return format!("gate `{}` passed: {} points", gate.text, outcome.points);
    }
    let points = counted(failures.len(), "point");
    let (beyond, limit) = (gate.beyond.word(), number(gate.limit));
    let mut text = format!("gate `{}` failed: {points} {beyond} {limit}\n", gate.text);
    for failure in failures.iter().take(NAMED) {
        let Failure { side, id, series, place, times, ratio, .. } = failure;
        let ratio = ratio_text(*times, *ratio);
        text += &format!("  {side}: {id} {series} at {place}: {ratio}\n");
    }
    if failures.len() > NAMED {
        text += &format!("  and {} more\n", failures.len() - NAMED);
    }
    text
}

/// Returns the whole comparison as JSON. `others` contains the differences of each record from the first,
/// and `gates` the results of the gates.
pub fn json(sides: &[Side], others: &[Vec<Difference>], gates: &[(Gate, Outcome)]) -> Value {
    let compared = sides.iter().skip(1).zip(others);
    json!({
        "records": sides.iter().map(record_json).collect::<Vec<_>>(),
        "differences": compared
            .flat_map(|(side, differences)| {
                differences.iter().map(|of| difference_json(&side.name, of))
            })
            .collect::<Vec<_>>(),
        "verdicts": changed(sides)
            .iter()
            .map(|(of, verdicts)| {
                let names = verdicts.iter().map(|verdict| verdict.map(Verdict::name));
                json!({
                    "experiment": of.experiment,
                    "id": of.name(),
                    "claim": of.claim,
                    "verdicts": names.collect::<Vec<_>>(),
                })
            })
            .collect::<Vec<_>>(),
        "gates": gates_json(gates),
    })
}

fn record_json(side: &Side) -> Value {
    json!({
        "name": side.name,
        "machine": side.view.summary.machine.to_string(),
        "date": side.view.date,
        "notes": side.view.notes,
    })
}

fn difference_json(side: &str, of: &Difference) -> Value {
    json!({
        "record": side,
        "family": of.family,
        "experiment": of.id,
        "name": of.name,
        "series": of.series,
        "unit": of.unit,
        "median": of.median(),
        "alone": of.alone,
        "points": of.places.iter().map(place_json).collect::<Vec<_>>(),
    })
}

fn place_json(place: &Place) -> Value {
    json!({
        "x": place.x,
        "first": [place.a.lo, place.a.mid, place.a.hi],
        "other": [place.b.lo, place.b.mid, place.b.hi],
        "ratio": place.ratio.zip(place.times()).map(|(ratio, times)| [ratio.lo, times, ratio.hi]),
        "larger": match place.ahead() {
            Ordering::Greater => Some("other"),
            Ordering::Less => Some("first"),
            Ordering::Equal => None,
        },
    })
}

pub(crate) fn gates_json(gates: &[(Gate, Outcome)]) -> Value {
    let failure = |failure: &Failure| {
        json!({
            "record": failure.side,
            "experiment": failure.id,
            "series": failure.series,
            "x": failure.x,
            "ratio": [failure.ratio.lo, failure.times, failure.ratio.hi],
        })
    };
    let judged = gates.iter().map(|(gate, outcome)| {
        json!({
            "gate": gate.text,
            "passed": outcome.failures.is_empty(),
            "points": outcome.points,
            "failures": outcome.failures.iter().map(failure).collect::<Vec<_>>(),
        })
    });
    judged.collect()
}
