//! What a record over time comes to, as `linefill watch` and `linefill report` print it.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::course::{Course, Followed};
use crate::lab::chart::number;
use crate::lab::date::Date;
use crate::lab::format::{Check, Output, Sheet};
use crate::lab::record::Header;
use crate::lab::terminal::Screen;

/// The most rows that a terminal shows of either table: JSON and the report have all.
const ROWS: usize = 20;

/// A record over time.
pub(crate) struct Told<'a> {
    /// The command: `linefill watch`.
    pub command: &'static str,
    /// The header of the record.
    pub header: &'a Header,
    /// How long it took, and whether it was stopped early, if it came to its end.
    pub end: Option<(f64, bool)>,
    /// Its figures.
    pub course: &'a Course,
    /// Where the record lies.
    pub record: PathBuf,
    /// Where the page lies, if there is one.
    pub page: Option<PathBuf>,
}

impl Told<'_> {
    /// The figures: how they are distributed over the rounds.
    fn figures(&self) -> Sheet {
        let headings = [
            "figure", "unit", "rounds", "least", "p10", "median", "p90", "greatest", "outside",
        ];
        let mut sheet = Sheet::new("Figures over time", &headings);
        for of in &self.course.figures {
            let Some(spread) = of.spread() else { continue };
            let numbers = [
                spread.min,
                spread.p10,
                spread.median,
                spread.p90,
                spread.max,
            ];
            let mut row = vec![of.name(), of.unit.to_owned(), spread.n.to_string()];
            row.extend(numbers.map(number));
            row.push(of.outside().len().to_string());
            sheet.rows.push(row);
        }
        sheet
    }

    /// The values outside, the furthest first.
    fn outside(&self) -> Sheet {
        let headings = ["time", "round", "figure", "value", "median", "score"];
        let mut sheet = Sheet::new("Outside", &headings);
        for (of, outside, median) in outside_of(self.course) {
            let time = self.course.times[outside.round];
            sheet.rows.push(vec![
                format!("{} UTC", Date::from_unix(time.started).clock()),
                time.number.to_string(),
                of.name(),
                format!("{} {}", number(outside.value), of.unit),
                number(median),
                format!("{:+.1}", outside.score),
            ]);
        }
        sheet
    }
}

/// All values outside with their figures and medians, the furthest first.
pub(super) fn outside_of(course: &Course) -> Vec<(&Followed, super::course::Outside, f64)> {
    let mut found = Vec::new();
    for of in &course.figures {
        let median = of.spread().map_or(0.0, |spread| spread.median);
        found.extend(of.outside().into_iter().map(|out| (of, out, median)));
    }
    found.sort_by(|a, b| b.1.score.abs().total_cmp(&a.1.score.abs()));
    found
}

impl Output for Told<'_> {
    fn name(&self) -> String {
        self.command.to_owned()
    }

    fn screen(&self, width: u16) -> Screen {
        let mut screen = Screen::default();
        for sheet in self.sheets() {
            if sheet.rows.is_empty() {
                continue;
            }
            let all = sheet.rows.len();
            let mut few = sheet;
            few.rows.truncate(ROWS);
            screen.add(&format!("{}\n{}\n", few.title, few.text(width)));
            if all > ROWS {
                screen.add(&format!("and {} more, in the report\n", all - ROWS));
            }
            screen.end();
        }
        let rounds = self.course.times.len();
        let outside = self.course.rounds_outside().len();
        screen.add(&format!(
            "{rounds} round{}, {outside} of them with a figure outside\n",
            if rounds == 1 { "" } else { "s" }
        ));
        screen.add(&format!("record: {}\n", self.record.display()));
        if let Some(page) = &self.page {
            screen.add(&format!("report: {}\n", page.display()));
        }
        screen
    }

    fn json(&self) -> Value {
        let times = &self.course.times;
        let figure = |of: &Followed| {
            let spread = of.spread()?;
            let outside = of.outside().into_iter().map(|out| {
                let time = times[out.round];
                json!({
                    "round": time.number, "started": time.started, "at": time.at,
                    "value": out.value, "score": out.score,
                })
            });
            let values = of.figure.values.iter().map(|value| {
                let time = times[value.host as usize];
                json!([time.at, value.lo, value.mid, value.hi])
            });
            Some(json!({
                "experiment": of.id, "series": of.label, "x": of.figure.x, "unit": of.unit,
                "n": spread.n, "min": spread.min, "p10": spread.p10, "median": spread.median,
                "p90": spread.p90, "max": spread.max,
                "values": values.collect::<Vec<_>>(), "outside": outside.collect::<Vec<_>>(),
            }))
        };
        json!({
            "machine": self.header.cpu.brand,
            "core": self.header.cpu.core,
            "started": self.header.started,
            "every": self.header.watch,
            "seconds": self.end.map(|(seconds, _)| seconds),
            "interrupted": self.end.is_none_or(|(_, interrupted)| interrupted),
            "rounds": times.len(),
            "record": self.record,
            "report": self.page,
            "figures": self.course.figures.iter().filter_map(figure).collect::<Vec<_>>(),
            "warnings": self.header.notes,
        })
    }

    fn sheets(&self) -> Vec<Sheet> {
        vec![self.figures(), self.outside()]
    }

    fn checks(&self) -> Vec<Check> {
        Vec::new()
    }
}
