//! The output formats of the commands.
//!
//! A command returns an [`Output`]: text for a terminal, JSON, tables and checks. This module renders it in
//! each format. `docs/FORMAT.md` documents the JSON.

use std::borrow::Cow;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use maud::{Markup, PreEscaped, html};
use serde_json::Value;

use super::terminal::{self, Screen, say, show, table_text};
use crate::lab::plain;

/// An output format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Plain text for a terminal.
    #[default]
    Table,
    /// JSON for programs; docs/FORMAT.md documents it.
    Json,
    /// Markdown tables.
    Md,
    /// The same tables as comma-separated values.
    Csv,
    /// JUnit XML for continuous integration.
    Junit,
    /// GitHub workflow annotations, and Markdown in the step summary.
    Github,
}

/// The result of a command, in all forms in which it can be printed.
pub(crate) trait Output {
    /// Returns the name of the command: `linefill run`.
    fn name(&self) -> String;

    /// Returns text of at most `width` columns for a terminal.
    fn screen(&self, width: u16) -> Screen;

    /// Returns the whole result as JSON.
    fn json(&self) -> Value;

    /// Returns the whole result as tables.
    fn sheets(&self) -> Vec<Sheet>;

    /// Returns the parts of the result that can pass or fail.
    fn checks(&self) -> Vec<Check>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sheet {
    pub title: String,
    /// The heading of each column.
    pub headings: Vec<String>,
    /// The rows, one cell per column.
    pub rows: Vec<Vec<String>>,
}

impl Sheet {
    /// Creates a table without rows.
    pub fn new(title: &str, headings: &[&str]) -> Self {
        Sheet {
            title: title.to_owned(),
            headings: headings.iter().map(|&text| text.to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    pub fn row<const CELLS: usize>(&mut self, cells: [&str; CELLS]) {
        self.rows.push(cells.map(str::to_owned).into());
    }

    /// Formats the table for a terminal of `width` columns.
    pub fn text(&self, width: u16) -> String {
        let headings: Vec<&str> = self.headings.iter().map(String::as_str).collect();
        let mut table = terminal::table(&headings, width);
        for row in &self.rows {
            table.add_row(row);
        }
        table_text(&table)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Check {
    /// The group that the check belongs to: an experiment, `gates`.
    pub group: String,
    pub name: String,
    pub outcome: Outcome,
    /// The reason, in a sentence or several lines.
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    /// The check could not be decided.
    Skipped,
    /// A claim does not hold: a failure in JUnit and a notice on GitHub. The command does not fail.
    Refuted,
    Warned,
    /// The check failed, and so does the command.
    Failed,
}

impl Outcome {
    /// Returns the outcome of a check that can only pass or fail.
    pub fn of(passed: bool) -> Self {
        if passed { Outcome::Passed } else { Outcome::Failed }
    }
}

/// Prints the result of a command.
pub(crate) fn print(output: &dyn Output, format: Format) -> Result<()> {
    match format {
        Format::Table => show(&output.screen(terminal::width())),
        Format::Json => say(&serde_json::to_string_pretty(&output.json())?),
        Format::Md => say(&markdown(output)),
        Format::Csv => say(&csv(output)),
        Format::Junit => say(&junit(output)),
        Format::Github => {
            if let Some(file) = std::env::var_os("GITHUB_STEP_SUMMARY") {
                let file = Path::new(&file);
                append(file, &markdown(output))
                    .with_context(|| format!("GITHUB_STEP_SUMMARY={}", file.display()))?;
            }
            say(&github(output))
        }
    }
}

/// Appends text and a newline to a file.
fn append(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(super::plain::lines(text).as_bytes())?;
    file.write_all(b"\n")
}

/// Formats the tables as CSV, each below a line of headings, with an empty line between two tables.
fn csv(output: &dyn Output) -> String {
    let line = |cells: &[String]| {
        let cells: Vec<Cow<'_, str>> = cells.iter().map(|cell| quoted(cell)).collect();
        cells.join(",") + "\n"
    };
    let sheets = output.sheets();
    let tables = sheets.iter().map(|sheet| {
        let rows: String = sheet.rows.iter().map(|row| line(row)).collect();
        line(&sheet.headings) + &rows
    });
    tables.collect::<Vec<String>>().join("\n")
}

/// Quotes a cell that contains a comma, a quotation mark or the end of a line.
pub(in crate::lab) fn quoted(text: &str) -> Cow<'_, str> {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")).into(),
        false => text.into(),
    }
}

/// Formats a workflow annotation per warning, failure and refuted claim, and a summary line.
fn github(output: &dyn Output) -> String {
    let checks = output.checks();
    let lines: String = checks.iter().filter_map(annotation).collect();
    let of = |outcome: Outcome| count(&checks, |other| other == outcome);
    let words = [
        (of(Outcome::Passed), "passed"),
        (of(Outcome::Refuted), "refuted"),
        (of(Outcome::Warned), "warned"),
        (of(Outcome::Failed), "failed"),
        (of(Outcome::Skipped), "skipped"),
    ];
    let counted = words.into_iter().filter(|(count, _)| *count > 0);
    let counted: Vec<_> = counted.map(|(count, word)| format!("{count} {word}")).collect();
    let counted = match counted.is_empty() {
        true => "nothing to check".to_owned(),
        false => counted.join(", "),
    };
    format!("{lines}{}: {counted}", output.name())
}

fn annotation(check: &Check) -> Option<String> {
    let level = match check.outcome {
        Outcome::Passed | Outcome::Skipped => return None,
        Outcome::Refuted => "notice",
        Outcome::Warned => "warning",
        Outcome::Failed => "error",
    };
    let title = property(&format!("{} {}", check.group, check.name));
    Some(format!("::{level} title={title}::{}\n", data(&check.text)))
}

/// Escapes the text of an annotation, so that it is one line.
fn data(text: &str) -> String {
    let text = text.replace('%', "%25").replace('\r', "%0D");
    text.replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Formats the checks as a JUnit document.
fn junit(output: &dyn Output) -> String {
    let checks = output.checks();
    let suites = checks.chunk_by(|a, b| a.group == b.group);
    html! {
        (PreEscaped("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"))
        testsuites name=(for_xml(&output.name())) tests=(checks.len())
            failures=(count(&checks, is_failure)) skipped=(count(&checks, is_skipped)) {
            @for checks in suites { (PreEscaped("
    ")) (suite(checks)) }
            (PreEscaped("\n"))
        }
    }
    .into_string()
}

fn suite(checks: &[Check]) -> Markup {
    let name = checks.first().map_or("", |check| &check.group);
    html! {
        testsuite name=(for_xml(name)) tests=(checks.len()) errors="0"
            failures=(count(checks, is_failure)) skipped=(count(checks, is_skipped)) {
            @for check in checks {
                (PreEscaped("\n"))
                testcase classname=(for_xml(name)) name=(for_xml(&check.name)) { (result(check)) }
            }
            (PreEscaped("\n"))
        }
    }
}

fn result(check: &Check) -> Markup {
    let text = for_xml(&check.text);
    let first = text.lines().next().unwrap_or_default();
    html! {
        @match check.outcome {
            Outcome::Passed => { @if !text.is_empty() { system-out { (text) } } }
            Outcome::Warned => { system-out { "warning: " (text) } }
            Outcome::Skipped => { skipped message=(first) {} }
            Outcome::Refuted | Outcome::Failed => { failure message=(first) { (text) } }
        }
    }
}

fn is_failure(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Refuted | Outcome::Failed)
}

fn is_skipped(outcome: Outcome) -> bool {
    outcome == Outcome::Skipped
}

fn count(checks: &[Check], is: impl Fn(Outcome) -> bool) -> usize {
    checks.iter().filter(|check| is(check.outcome)).count()
}

/// Replaces the characters that XML cannot hold.
fn for_xml(text: &str) -> String {
    plain::lines(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

/// Formats a heading and a table per sheet.
fn markdown(output: &dyn Output) -> String {
    let mut text = format!("# {}\n", escaped(&output.name()));
    for sheet in output.sheets() {
        text += &format!("\n## {}\n\n{}", escaped(&sheet.title), markdown_table(&sheet));
    }
    text
}

fn markdown_table(sheet: &Sheet) -> String {
    if sheet.rows.is_empty() {
        return "None.\n".to_owned();
    }
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| escaped(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let rule = vec!["---".to_owned(); sheet.headings.len()];
    let rows: String = sheet.rows.iter().map(|row| line(row)).collect();
    line(&sheet.headings) + &line(&rule) + &rows
}

/// Escapes a cell or a heading for Markdown: one line without markup.
fn escaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' => plain += "<br>",
            '&' => plain += "&amp;",
            '<' => plain += "&lt;",
            '|' | '\\' | '`' | '*' | '_' | '[' => plain.extend(['\\', letter]),
            letter => plain.push(letter),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A check of each outcome, with the characters that the formats have to escape.
    struct Planted;

    impl Output for Planted {
        fn name(&self) -> String {
            "linefill <planted>".to_owned()
        }

        fn screen(&self, _: u16) -> Screen {
            Screen::of("planted")
        }

        fn json(&self) -> Value {
            Value::Null
        }

        fn sheets(&self) -> Vec<Sheet> {
            let mut sheet = Sheet::new("Of all kinds", &["id", "a|b"]);
            sheet.row(["1", "one | two\nthree"]);
            vec![sheet]
        }

        fn checks(&self) -> Vec<Check> {
            let check = |name: &str, outcome| Check {
                group: "a & b".to_owned(),
                name: name.to_owned(),
                outcome,
                text: "100 % \"sure\",\nor <not>".to_owned(),
            };
            vec![
                check("passed", Outcome::Passed),
                check("skipped", Outcome::Skipped),
                check("refuted", Outcome::Refuted),
                check("warned: it", Outcome::Warned),
                check("failed", Outcome::Failed),
            ]
        }
    }

    #[test]
    fn what_ends_a_cell_or_a_row_is_quoted() {
        assert_eq!(csv(&Planted), "id,a|b\n1,\"one | two\nthree\"\n");
        assert_eq!(quoted("a, \"b\""), "\"a, \"\"b\"\"\"");
    }

    #[test]
    fn an_annotation_is_one_line() {
        let text = github(&Planted);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "::notice title=a & b refuted::100 %25 \"sure\",%0Aor <not>",
                "::warning title=a & b warned%3A it::100 %25 \"sure\",%0Aor <not>",
                "::error title=a & b failed::100 %25 \"sure\",%0Aor <not>",
                "linefill <planted>: 1 passed, 1 refuted, 1 warned, 1 failed, 1 skipped",
            ]
        );
    }

    #[test]
    fn every_outcome_has_its_element_and_nothing_is_markup() {
        let text = junit(&Planted);
        assert!(text.starts_with("<?xml"), "{text}");
        assert!(text.contains("tests=\"5\" failures=\"2\" skipped=\"1\""), "{text}");
        for (part, times) in [
            ("<testsuite ", 1),
            ("<testcase ", 5),
            ("<failure ", 2),
            ("<skipped ", 1),
            ("a &amp; b", 6),
            ("&quot;sure&quot;", 7),
        ] {
            assert_eq!(text.matches(part).count(), times, "{part}: {text}");
        }
        assert!(!text.contains("<not>"), "{text}");
    }

    #[test]
    fn a_row_stays_one_line_of_as_many_cells() {
        let text = markdown(&Planted);
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
        assert_eq!(rows, ["| id | a\\|b |", "| --- | --- |", "| 1 | one \\| two<br>three |"]);
        assert!(text.starts_with("# linefill &lt;planted>\n"), "{text}");
    }
}
