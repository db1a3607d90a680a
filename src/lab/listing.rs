//! The experiments, as `linefill list` prints them.

use serde_json::{Value, json};

use super::duration::{Durations, show};
use super::format::{Check, Outcome, Output, Sheet};
use super::terminal::{FAINT, STRONG, Screen};
use crate::experiment::{Claim, Experiment, Origin, all, topics};

/// Rows of the registry.
pub(crate) struct Listing {
    /// The rows.
    pub rows: Vec<&'static Experiment>,
    /// How long each takes.
    pub durations: Durations,
}

/// From this width on a row is one of a table; below, it is a paragraph.
const WIDE: u16 = 100;

impl Listing {
    fn time(&self, row: &Experiment) -> String {
        self.durations.of(row).map_or_else(String::new, show)
    }

    /// A table with or without the names.
    fn sheet(&self, names: bool) -> Sheet {
        let headings: &[&str] = match names {
            true => &["id", "family", "section", "takes", "name", "what it claims"],
            false => &["id", "family", "section", "takes", "what it claims"],
        };
        let mut sheet = Sheet::new("Experiments", headings);
        for row in &self.rows {
            let mut cells = vec![
                row.id.to_owned(),
                family(row).to_owned(),
                section(row),
                self.time(row),
            ];
            cells.extend(names.then(|| row.name.to_owned()));
            cells.push(what(row));
            sheet.rows.push(cells);
        }
        sheet
    }
}

impl Output for Listing {
    fn name(&self) -> String {
        "linefill list".to_owned()
    }

    fn screen(&self, width: u16) -> Screen {
        let mut screen = Screen::default();
        if width >= WIDE {
            screen.add(&self.sheet(false).text(width)).add("\n\n");
        } else {
            for row in &self.rows {
                screen.paint(STRONG, row.id);
                let facts = [family(row), &section(row), &self.time(row)].join(", ");
                let room = usize::from(width).saturating_sub(row.id.len() + 2);
                let facts = textwrap::wrap(&facts, room).join("\n  ");
                screen.paint(FAINT, &format!("  {facts}\n"));
                let options = textwrap::Options::new(usize::from(width))
                    .initial_indent("  ")
                    .subsequent_indent("  ");
                screen.add(&textwrap::fill(&what(row), options)).add("\n");
            }
            screen.end();
        }
        screen.add(&format!(
            "{} of {} experiments; `linefill show ID` tells more",
            self.rows.len(),
            all().len()
        ));
        screen
    }

    fn json(&self) -> Value {
        let claim = |claim: &Claim| {
            json!({
                "id": claim.id,
                "claim": claim.text,
                "origin": claim.origin.to_string(),
                "found": claim.kind.name(),
            })
        };
        let row = |row: &&'static Experiment| {
            json!({
                "id": row.id,
                "name": row.name,
                "topic": topics::topic_of(row.id).map(|topic| topic.name),
                "family": family(row),
                "title": row.title,
                "question": row.question,
                "source": row.source,
                "section": section(row),
                "seconds": self.durations.of(row),
                "claims": row.claims.iter().map(claim).collect::<Vec<_>>(),
            })
        };
        json!({ "experiments": self.rows.iter().map(row).collect::<Vec<_>>() })
    }

    fn sheets(&self) -> Vec<Sheet> {
        vec![self.sheet(true)]
    }

    /// A claim each, which nobody has tried yet.
    fn checks(&self) -> Vec<Check> {
        let rows = self.rows.iter();
        rows.flat_map(|row| {
            row.claims.iter().map(|claim| Check {
                group: row.id.to_owned(),
                name: claim.id.to_owned(),
                outcome: Outcome::Skipped,
                text: claim.text.to_owned(),
            })
        })
        .collect()
    }
}

/// The family of a row.
fn family(row: &Experiment) -> &'static str {
    topics::of(row.id).map_or("", |family| family.name)
}

/// The section of the document that a row is about, or `ours`.
pub(crate) fn section(row: &Experiment) -> String {
    let origins = || row.claims.iter().map(|claim| claim.origin);
    let document = origins().find(|origin| matches!(origin, Origin::Document { .. }));
    document
        .or_else(|| origins().next())
        .map_or_else(|| row.source.to_owned(), |origin| origin.to_string())
}

/// The first claim of a row, or its question.
fn what(row: &Experiment) -> String {
    let claim = row.claims.first().map_or(row.question, |claim| claim.text);
    match row.claims.len() {
        0 | 1 => claim.to_owned(),
        2 => format!("{claim} (and 1 claim more)"),
        count => format!("{claim} (and {} claims more)", count - 1),
    }
}
