//! The details of an experiment, as `linefill show` prints them.

mod plot;

use anstyle::Style;
use serde_json::{Value, json};

use super::chart::{number, range};
use super::figures::{beside_claim, quantity, then};
use super::format::{Check, Outcome, Output, Sheet};
use super::record::VerdictLine;
use super::report::view::{Figure, Section};
use super::size::counted;
use super::terminal::{BAD, FAINT, GOOD, STRONG, Screen, WARN, paragraph};
use crate::experiment::{Claim, Experiment, Verdict, topics};
use crate::stats::Interval;

/// Experiments, with the results of a record.
pub(crate) struct Shown {
    pub rows: Vec<Row>,
    /// The source of the numbers, or why there are none.
    pub record: String,
    /// The machine of the record.
    pub machine: Option<String>,
    /// The core of the record's machine, or of this machine. Observations on this core are shown.
    pub core: Option<String>,
}

/// An experiment, with the results of a record.
pub(crate) struct Row {
    pub experiment: &'static Experiment,
    /// The section of the record's report, if the record has the experiment.
    pub section: Option<Section>,
}

impl Row {
    /// Returns the figure, if the record has one.
    fn figure(&self) -> Option<&Figure> {
        self.section.as_ref()?.figure.as_ref()
    }

    /// Returns the claims, each with its verdict if the record has one.
    fn claims(&self) -> Vec<(&'static Claim, Option<&VerdictLine>)> {
        let lines = self.section.as_ref().map_or(&[][..], |section| &section.claims);
        let claims = self.experiment.claims.iter();
        let line = |claim: &Claim| {
            let same = |line: &&VerdictLine| line.id == claim.id || line.claim == claim.text;
            lines.iter().find(same)
        };
        claims.map(|claim| (claim, line(claim))).collect()
    }
}

/// Returns the colour of a verdict. The verdict is always printed as a word too.
pub(crate) fn colour(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Holds => GOOD,
        Verdict::DoesNotHold => BAD,
        Verdict::Inconclusive => WARN,
        Verdict::Untestable => FAINT,
    }
}

/// Formats a value of this machine: `2.10 [2.05, 2.15]`, or `2.08 to 4.17` if the interval tells no value.
fn now([lo, hi]: [f64; 2]) -> String {
    let of = Interval::new(lo, hi);
    match lo == hi || !of.tells_a_value() {
        true => range(of),
        false => format!("{} [{}, {}]", number(of.center()), number(lo), number(hi)),
    }
}

impl Shown {
    fn row(&self, row: &Row, width: u16) -> Screen {
        let mut screen = Screen::default();
        let of = row.experiment;
        let title = format!("{}  {}", of.id, of.title);
        paragraph(&mut screen, Some(STRONG), &title, width);
        let family = topics::of(of.id).map_or("", |family| family.name);
        let facts = format!("{}, family {family}. Source: {}", of.name, of.source);
        paragraph(&mut screen, Some(FAINT), &facts, width);
        screen.end();
        paragraph(&mut screen, None, of.question, width);
        screen.end();
        for (claim, line) in row.claims() {
            self::claim(&mut screen, claim, line, width);
        }
        if let Some(section) = &row.section {
            measured(&mut screen, section, width);
        }
        if !of.about.is_empty() {
            paragraph(&mut screen, None, of.about, width);
            screen.end();
        }
        for seen in of.seen.iter().filter(|seen| self.core.as_deref() == Some(seen.core)) {
            paragraph(&mut screen, None, &format!("On {}: {}", seen.core, seen.text), width);
            screen.end();
        }
        screen
    }
}

/// Adds a claim in full, with its verdict.
fn claim(screen: &mut Screen, claim: &Claim, line: Option<&VerdictLine>, width: u16) {
    let (style, verdict) = match line {
        Some(line) => (colour(line.verdict).bold(), line.verdict.name()),
        None => (FAINT, "not measured"),
    };
    screen.paint(style, verdict);
    let origin = format!("  {}, {}, {}", claim.id, claim.origin, claim.kind.name());
    if verdict.len() + origin.chars().count() > usize::from(width) {
        screen.end();
    }
    paragraph(screen, Some(FAINT), &origin, width);
    let mut add = |text: &str| paragraph(screen, None, &format!("  {text}"), width);
    add(claim.text);
    if let Some(line) = line {
        add(&beside_claim(line));
        // Without a number of the document's, `now` would only repeat the first of the numbers above.
        let compared = line.then.as_ref().map(|value| match line.now {
            Some(of) => {
                let name = quantity(line).map_or(String::new(), |name| format!("{name}: "));
                format!("{name}then {}, now {}", then(value), now(of))
            }
            None => format!("then {}", then(value)),
        });
        let passes = line.passes;
        let values = [compared, passes.map(|passes| format!("decided in {passes} passes"))];
        let values: Vec<String> = values.into_iter().flatten().collect();
        if !values.is_empty() {
            add(&values.join(", "));
        }
        let follows = claim.follows(line.verdict);
        if !follows.is_empty() {
            add(follows);
        }
    }
    screen.end();
}

/// Adds the figure of a section, its numbers, and the points that could not be measured.
fn measured(screen: &mut Screen, section: &Section, width: u16) {
    if let Some(figure) = &section.figure {
        screen.append(&plot::plot(figure, width)).end();
        match plot::numbers(figure) {
            Some(sheet) => {
                screen.add(&format!("{}\n", sheet.title)).add(&sheet.text(width)).add("\n\n");
            }
            None => {
                let text = "The numbers are too many for a terminal: --format json.";
                paragraph(screen, None, text, width);
                screen.end();
            }
        }
    }
    for state in &section.states {
        paragraph(screen, None, &format!("Two steady states: {state}."), width);
    }
    for missing in &section.untestable {
        let points = counted(missing.points, "point");
        let text = format!("{}, {points} untestable: {}", missing.series, missing.reason);
        paragraph(screen, None, &text, width);
    }
    if !section.states.is_empty() || !section.untestable.is_empty() {
        screen.end();
    }
}

impl Output for Shown {
    fn name(&self) -> String {
        "linefill show".to_owned()
    }

    fn screen(&self, width: u16) -> Screen {
        let mut screen = Screen::default();
        for row in &self.rows {
            screen.append(&self.row(row, width));
        }
        let facts = match &self.machine {
            Some(machine) => format!("{}: {machine}", self.record),
            None => self.record.clone(),
        };
        paragraph(&mut screen, Some(FAINT), &facts, width);
        screen
    }

    fn json(&self) -> Value {
        let claim = |(claim, line): (&Claim, Option<&VerdictLine>)| {
            json!({
                "id": claim.id,
                "claim": claim.text,
                "origin": claim.origin.to_string(),
                "found": claim.kind.name(),
                "verdict": line.map(|line| line.verdict.name()),
                "numbers": line.map(|line| &line.numbers),
                "passes": line.and_then(|line| line.passes),
                "now": line.and_then(|line| line.now),
                "then": line.and_then(|line| line.then.as_ref()),
            })
        };
        let curve = |curve: &super::report::view::CurveView| {
            let points = curve.points.iter().map(|at| [at.x, at.lo, at.mid, at.hi]);
            json!({ "series": curve.label, "points": points.collect::<Vec<_>>() })
        };
        let row = |row: &Row| {
            let figure = row.figure();
            json!({
                "id": row.experiment.id,
                "name": row.experiment.name,
                "title": row.experiment.title,
                "question": row.experiment.question,
                "source": row.experiment.source,
                "about": row.experiment.about,
                "claims": row.claims().into_iter().map(claim).collect::<Vec<_>>(),
                "x": figure.map(|figure| &figure.x.label),
                "unit": figure.map(|figure| &figure.unit),
                "curves": figure.map(|figure| figure.curves.iter().map(curve).collect::<Vec<_>>()),
            })
        };
        json!({
            "machine": self.machine,
            "experiments": self.rows.iter().map(row).collect::<Vec<_>>(),
        })
    }

    fn sheets(&self) -> Vec<Sheet> {
        let mut sheets = Vec::new();
        for row in &self.rows {
            let title = format!("{} {}", row.experiment.id, row.experiment.title);
            let headings = ["claim", "says", "verdict", "numbers", "then", "now"];
            let mut sheet = Sheet::new(&title, &headings);
            for (claim, line) in row.claims() {
                let verdict = line.map_or("not measured", |line| line.verdict.name());
                let numbers = line.map_or("", |line| &line.numbers);
                let then = line.and_then(|line| line.then.as_ref()).map_or(String::new(), then);
                let now = line.and_then(|line| line.now).map_or(String::new(), now);
                sheet.row([claim.id, claim.text, verdict, numbers, &then, &now]);
            }
            sheets.push(sheet);
            sheets.extend(row.figure().and_then(plot::numbers));
        }
        sheets
    }

    fn checks(&self) -> Vec<Check> {
        let of_row = |row: &Row| {
            let check = |(claim, line): (&Claim, Option<&VerdictLine>)| match line {
                Some(line) => check(line),
                None => Check {
                    group: row.experiment.id.to_owned(),
                    name: claim.id.to_owned(),
                    outcome: Outcome::Skipped,
                    text: "not measured".to_owned(),
                },
            };
            row.claims().into_iter().map(check).collect::<Vec<_>>()
        };
        self.rows.iter().flat_map(of_row).collect()
    }
}

/// Turns a verdict into a check of a test report.
pub(crate) fn check(line: &VerdictLine) -> Check {
    Check {
        group: line.experiment.clone(),
        name: line.name().to_owned(),
        outcome: match line.verdict {
            Verdict::Holds => Outcome::Passed,
            Verdict::DoesNotHold => Outcome::Refuted,
            Verdict::Inconclusive | Verdict::Untestable => Outcome::Skipped,
        },
        text: format!("{}: {}\n{}", line.verdict.name(), line.numbers, line.claim),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_beside_an_interval_is_that_of_the_numbers() {
        for (lo, hi) in [(1.1, 2.0), (0.13, 9.17)] {
            assert_eq!(now([lo, hi]), Interval::new(lo, hi).to_string());
        }
        assert_eq!(now([2.0, 2.0]), "2.00");
    }
}
