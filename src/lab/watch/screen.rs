//! A watch in the terminal: a sparkline per figure, redrawn after every round; without a terminal, a plain
//! line per round. At the end a summary of the record, which `linefill report` prints too.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;

use anyhow::Result;
use serde_json::{Value, json};

use super::timeline::{Outside, Time, Timeline, TrackedFigure, some};
use crate::lab::chart::number;
use crate::lab::date::Date;
use crate::lab::fleet::LEAST;
use crate::lab::format::{Check, Output, Sheet};
use crate::lab::layout::print::first_of;
use crate::lab::record::Record;
use crate::lab::size::counted;
use crate::lab::terminal::{BAD, FAINT, SIDE_BY_SIDE, STRONG, Screen, say, show, width};
use crate::order::greatest_first;

/// Maximum number of figures that are drawn. The report has all.
const ROWS: usize = 12;

/// Maximum number of figures in a plain line.
const FEW: usize = 5;

/// Width of a number in columns.
const NUMBER: usize = 7;

/// The characters of a sparkline, by height.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The least range of a sparkline, as a share of the median. Smaller differences are noise.
const SPAN: f64 = 0.2;

/// The output after every round.
#[derive(Debug)]
pub(crate) struct Live {
    /// Whether the standard output is a terminal that can move the cursor up.
    terminal: bool,
    /// Number of lines of the last drawing.
    lines: usize,
}

impl Live {
    pub fn new() -> Self {
        let dumb = std::env::var_os("TERM").is_none_or(|kind| kind == "dumb");
        Live { terminal: io::stdout().is_terminal() && !dumb, lines: 0 }
    }

    /// Prints the last round.
    pub fn round(&mut self, timeline: &Timeline, took: f64) -> Result<()> {
        if !self.terminal {
            return say(&plain(timeline, took));
        }
        let screen = drawn(timeline, took, width());
        if self.lines > 0 {
            // Moves to the first line of the last drawing and clears from there on. An error is ignored: a
            // lost terminal must not end the measurement.
            let up = format!("\x1b[{}A\x1b[J", self.lines);
            let _ = io::stdout().write_all(up.as_bytes());
        }
        self.lines = screen.lines();
        show(&screen)
    }
}

fn head(time: &Time, took: f64) -> String {
    let date = Date::from_unix(time.started).clock();
    format!("{date} UTC  round {}, {took:.1} s", time.number)
}

/// Formats a round as a line: the time, a few figures with their distance from the median, and outliers.
fn plain(timeline: &Timeline, took: f64) -> String {
    let Some(time) = timeline.times.last() else { return String::new() };
    let mut parts = vec![head(time, took)];
    let figures = some(&timeline.figures, FEW);
    parts.extend(figures.iter().filter_map(|of| value(timeline, of)));
    let last = timeline.times.len() - 1;
    let outside = timeline.figures.iter().filter(|of| is_outside(of, last));
    let outside: Vec<String> = outside.map(TrackedFigure::name).collect();
    if !outside.is_empty() {
        parts.push(format!("OUTSIDE: {}", first_of(&outside, 1)));
    }
    parts.join("; ")
}

/// Formats the last value of a figure and its distance from the median.
fn value(timeline: &Timeline, of: &TrackedFigure) -> Option<String> {
    let last = of.figure.values.last()?;
    if last.host as usize + 1 != timeline.times.len() {
        return None;
    }
    let median = of.spread()?.median();
    let value = f64::from(last.mid);
    // A median of 0 has no percentage.
    let apart = match median == 0.0 || of.figure.values.len() == 1 {
        true => String::new(),
        false => format!(" ({:+.1} %)", 100.0 * (value / median - 1.0)),
    };
    let unit = match of.short_unit() {
        "" => String::new(),
        unit => format!(" {unit}"),
    };
    Some(format!("{} {}{unit}{apart}", of.name(), number(value)))
}

fn is_outside(of: &TrackedFigure, round: usize) -> bool {
    of.outside().last().is_some_and(|last| last.round == round)
}

/// Draws each figure as a sparkline, in at most `width` columns.
pub(crate) fn drawn(timeline: &Timeline, took: f64, width: u16) -> Screen {
    let mut screen = Screen::default();
    let Some(time) = timeline.times.last() else { return screen };
    screen.paint(STRONG, &head(time, took)).end();
    let figures = some(&timeline.figures, ROWS);
    let width = usize::from(width);
    let named: Vec<(String, &TrackedFigure)> =
        figures.iter().map(|of| (format!("{}, {}", of.name(), of.short_unit()), *of)).collect();
    let longest = named.iter().map(|(name, _)| columns_of(name)).max();
    let narrow = width < usize::from(SIDE_BY_SIDE);
    // Without room, the curve stays and the median goes.
    let (most, numbers) = if narrow { (width / 4, 1) } else { (2 * width / 5, 2) };
    let name = longest.unwrap_or(0).max(6).min(most);
    let columns = width.saturating_sub(name + numbers * NUMBER + 17).max(5);
    let mut heading = format!("{:<name$} {:>NUMBER$}", "figure", "now");
    if !narrow {
        heading += &format!(" {:>NUMBER$}", "median");
    }
    heading += "  rounds";
    screen.paint(FAINT, &cut(&heading, width)).end();
    for (label, of) in &named {
        let Some(spread) = of.spread() else { continue };
        let values: Vec<f64> = of.figure.values.iter().map(|v| f64::from(v.mid)).collect();
        let now = values.last().map_or_else(String::new, |value| number(*value));
        let label = cut(label, name);
        let pad = " ".repeat(name - columns_of(&label));
        screen.add(&format!("{label}{pad} {now:>NUMBER$}"));
        if !narrow {
            screen.paint(FAINT, &format!(" {:>NUMBER$}", number(spread.median())));
        }
        screen.add(&format!("  {}", line(&values, spread.median(), columns)));
        let outside = of.outside();
        if !outside.is_empty() {
            screen.paint(BAD, &format!(" {} outside", outside.len()));
        }
        screen.end();
    }
    if timeline.figures.len() > named.len() {
        let more = timeline.figures.len() - named.len();
        screen.paint(FAINT, &format!("and {more} more figures, in the report"));
        screen.end();
    }
    screen
}

fn columns_of(text: &str) -> usize {
    textwrap::core::display_width(text)
}

/// Cuts a text to at most `columns` columns.
fn cut(text: &str, columns: usize) -> String {
    let mut text = text.trim_end().to_owned();
    while columns_of(&text) > columns && text.pop().is_some() {}
    text
}

/// Draws the last values as a sparkline over their range, which is at least a fifth of the median.
fn line(values: &[f64], median: f64, columns: usize) -> String {
    let shown = &values[values.len().saturating_sub(columns)..];
    let least = shown.iter().copied().fold(f64::INFINITY, f64::min);
    let most = shown.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let room = (SPAN * median.abs() - (most - least)).max(0.0) / 2.0;
    let (lo, hi) = (least - room, most + room);
    let height = |value: &f64| {
        let share = if hi > lo { (value - lo) / (hi - lo) } else { 0.5 };
        HEIGHTS[(share * (HEIGHTS.len() - 1) as f64).round() as usize]
    };
    shown.iter().map(height).collect()
}

/// Maximum number of rows of each table in a terminal. JSON and the report have all.
const SUMMARY_ROWS: usize = 20;

pub(crate) struct WatchSummary {
    /// The command: `linefill watch`.
    pub command: &'static str,
    pub record: Record,
    pub timeline: Timeline,
    /// Path of the record.
    pub path: PathBuf,
    /// Path of the page; `None` if there was no round.
    pub page: Option<PathBuf>,
}

impl WatchSummary {
    /// Returns the distribution of each figure over the rounds.
    fn figures(&self) -> Sheet {
        let headings =
            ["figure", "unit", "rounds", "least", "p10", "median", "p90", "greatest", "outside"];
        let mut sheet = Sheet::new("Figures over time", &headings);
        for of in &self.timeline.figures {
            let Some(spread) = of.spread() else { continue };
            let mut row = vec![of.name(), of.unit.to_owned(), spread.n.to_string()];
            row.extend(spread.places.map(number));
            row.push(match spread.n < LEAST {
                true => "-".to_owned(),
                false => of.outside().len().to_string(),
            });
            sheet.rows.push(row);
        }
        sheet
    }

    /// Returns the values outside, the furthest first.
    fn outside(&self) -> Sheet {
        let headings = ["time", "round", "figure", "value", "median", "score"];
        let mut sheet = Sheet::new("Outside", &headings);
        for (of, outside, median) in outside_of(&self.timeline) {
            let time = self.timeline.times[outside.round];
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

/// Returns all values outside, with their figures and medians, the furthest first.
pub(super) fn outside_of(timeline: &Timeline) -> Vec<(&TrackedFigure, Outside, f64)> {
    let mut found = Vec::new();
    for of in &timeline.figures {
        let median = of.spread().map_or(0.0, |spread| spread.median());
        found.extend(of.outside().into_iter().map(|out| (of, out, median)));
    }
    greatest_first(&mut found, |(_, out, _)| out.score.abs());
    found
}

impl Output for WatchSummary {
    fn name(&self) -> String {
        self.command.to_owned()
    }

    fn screen(&self, width: u16) -> Screen {
        let mut screen = Screen::default();
        for mut sheet in self.sheets() {
            let all = sheet.rows.len();
            if all == 0 {
                continue;
            }
            sheet.rows.truncate(SUMMARY_ROWS);
            screen.add(&format!("{}\n{}\n", sheet.title, sheet.text(width)));
            if all > SUMMARY_ROWS {
                screen.add(&format!("and {} more, in the report\n", all - SUMMARY_ROWS));
            }
            screen.end();
        }
        let rounds = self.timeline.times.len();
        let of_rounds = counted(rounds, "round");
        screen.add(&match rounds < LEAST {
            true => {
                format!("{of_rounds}; fewer than {LEAST} tell nothing about one of them\n")
            }
            false => {
                let outside = self.timeline.rounds_outside().len();
                format!("{of_rounds}, {outside} of them with a figure outside\n")
            }
        });
        screen.add(&format!("record: {}\n", self.path.display()));
        if let Some(page) = &self.page {
            screen.add(&format!("report: {}\n", page.display()));
        }
        screen
    }

    fn json(&self) -> Value {
        let times = &self.timeline.times;
        let figure = |of: &TrackedFigure| {
            let spread = of.spread()?;
            let [min, p10, median, p90, max] = spread.places;
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
                "n": spread.n, "min": min, "p10": p10, "median": median, "p90": p90, "max": max,
                "values": values.collect::<Vec<_>>(), "outside": outside.collect::<Vec<_>>(),
            }))
        };
        let Record { header, end, .. } = &self.record;
        let end = end.as_ref();
        json!({
            "machine": header.cpu.brand,
            "core": header.cpu.core,
            "started": header.started,
            "every": header.watch,
            "seconds": end.map(|end| end.seconds),
            "interrupted": end.is_none_or(|end| end.interrupted),
            "rounds": times.len(),
            "record": self.path,
            "report": self.page,
            "figures": self.timeline.figures.iter().filter_map(figure).collect::<Vec<_>>(),
            "warnings": header.notes,
        })
    }

    fn sheets(&self) -> Vec<Sheet> {
        vec![self.figures(), self.outside()]
    }

    fn checks(&self) -> Vec<Check> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::watch::planted;

    #[test]
    fn a_line_shows_what_moves_and_leaves_noise_flat() {
        assert_eq!(line(&[100.0, 101.0, 99.0], 100.0, 10), "▅▅▄");
        assert_eq!(line(&[100.0, 300.0, 100.0, 200.0], 100.0, 10), "▁█▁▅");
        assert_eq!(line(&[100.0, 300.0, 100.0, 200.0], 100.0, 2), "▁█");
        assert_eq!(line(&[0.0], 0.0, 5), "▅");
    }

    #[test]
    fn every_width_is_kept_and_an_outlier_is_told_without_colours() {
        let timeline = Timeline::of(&planted(40, |round| if round == 38 { 3.0 } else { 1.0 }));
        for width in [40, 60, 80, 120, 240] {
            let text = drawn(&timeline, 1.0, width).text();
            let widest = text.lines().map(columns_of).max().unwrap();
            assert!(widest <= usize::from(width), "{width}\n{text}");
            assert!(text.contains("1 outside"), "{text}");
            assert!(text.contains('█') && text.contains("core clock"), "{text}");
        }
    }

    #[test]
    fn a_plain_line_names_what_is_outside() {
        let quiet = Timeline::of(&planted(20, |_| 1.0));
        let line = plain(&quiet, 0.5);
        assert!(line.contains("round 19, 0.5 s"), "{line}");
        assert!(!line.contains("OUTSIDE") && !line.contains('\n'), "{line}");
        let last = Timeline::of(&planted(20, |round| if round == 19 { 2.0 } else { 1.0 }));
        let line = plain(&last, 0.5);
        assert!(line.contains("OUTSIDE: D14"), "{line}");
        assert!(line.contains("4 KiB 7.98 cycles (+99.6 %)"), "{line}");
    }

    #[test]
    fn too_few_rounds_have_no_count_of_what_is_outside() {
        for (rounds, cell, said) in [
            (LEAST as u64 - 1, "-", "fewer than 8 tell nothing"),
            (LEAST as u64, "0", "0 of them with a figure outside"),
        ] {
            let record = planted(rounds, |_| 1.0);
            let summary = WatchSummary {
                command: "linefill watch",
                timeline: Timeline::of(&record),
                record,
                path: PathBuf::new(),
                page: None,
            };
            let figures = summary.figures();
            let told = figures.rows.iter().all(|row| row.last().unwrap() == cell);
            assert!(told && !figures.rows.is_empty(), "{:?}", figures.rows);
            let text = summary.screen(120).text();
            assert!(text.contains(said), "{text}");
        }
    }
}
