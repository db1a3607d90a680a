//! The forms in which a command prints its result. Each is rendered here, whatever the command.
//!
//! A command hands over an [`Output`]: text for a terminal, JSON, tables and checks. `docs/FORMAT.md`
//! documents the JSON.

pub(super) mod csv;
mod github;
mod junit;
mod markdown;

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::table;
use super::terminal::{Screen, say, show};

/// A form of output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Text for a person.
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
    /// Annotations of a GitHub workflow, and Markdown in the summary of its step.
    Github,
}

/// What a command prints.
pub(crate) trait Output {
    /// The name of the whole: `linefill run`.
    fn name(&self) -> String;

    /// Text of at most `width` columns.
    fn screen(&self, width: u16) -> Screen;

    /// Everything, for programs.
    fn json(&self) -> Value;

    /// Everything, as tables.
    fn sheets(&self) -> Vec<Sheet>;

    /// What can pass or fail.
    fn checks(&self) -> Vec<Check>;
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sheet {
    /// What it shows.
    pub title: String,
    /// The heading of each column.
    pub headings: Vec<String>,
    /// The rows, one cell per column.
    pub rows: Vec<Vec<String>>,
}

impl Sheet {
    /// A table without rows.
    pub fn new(title: &str, headings: &[&str]) -> Self {
        Sheet {
            title: title.to_owned(),
            headings: headings.iter().map(|&text| text.to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    pub fn row<const CELLS: usize>(&mut self, cells: [&str; CELLS]) {
        self.rows.push(cells.map(str::to_owned).into());
    }

    /// The table as a terminal of `width` columns shows it.
    pub fn text(&self, width: u16) -> String {
        let headings: Vec<&str> = self.headings.iter().map(String::as_str).collect();
        let mut table = table::table(&headings, width);
        for row in &self.rows {
            table.add_row(row);
        }
        table.trim_fmt()
    }
}

/// Something that passed or failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Check {
    /// What it belongs to: an experiment, `gates`.
    pub group: String,
    /// Its name.
    pub name: String,
    /// What it came to.
    pub outcome: Outcome,
    /// Why, in a sentence or some lines.
    pub text: String,
}

/// What a check came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// As it should be.
    Passed,
    /// Nobody can tell.
    Skipped,
    /// A claim that does not hold: a failure in JUnit, a notice on GitHub, no error of the command.
    Refuted,
    /// To be aware of.
    Warned,
    /// Not as it should be: the command fails.
    Failed,
}

/// Prints what a command came to.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn print(output: &dyn Output, format: Format) -> Result<()> {
    match format {
        Format::Table => show(&output.screen(table::width())),
        Format::Json => say(&serde_json::to_string_pretty(&output.json())?),
        Format::Md => say(&markdown::render(output)),
        Format::Csv => say(&csv::render(output)),
        Format::Junit => say(&junit::render(output)),
        Format::Github => {
            if let Some(file) = std::env::var_os("GITHUB_STEP_SUMMARY") {
                let file = Path::new(&file);
                append(file, &markdown::render(output))
                    .with_context(|| format!("GITHUB_STEP_SUMMARY={}", file.display()))?;
            }
            say(&github::render(output))
        }
    }
}

/// Adds to the end of a file.
fn append(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(super::plain::lines(text).as_bytes())?;
    file.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Something of each outcome, with what each form has to escape.
    pub(super) struct Planted;

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
}
