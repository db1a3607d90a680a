//! Exports records as tables for other programs: a row per point, curve point, round, verdict or machine.
//!
//! `docs/FORMAT.md` documents the columns. Records are read one at a time, so the memory needed is that of
//! the largest record.

#[cfg(feature = "parquet")]
mod parquet;
mod rows;

use std::borrow::Cow;
use std::io::Write;

use anyhow::Result;

use super::record::Record;
use crate::lab::format::quoted;

/// The kind of rows that a table has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum What {
    /// The measured points, the passes over each merged.
    #[default]
    Points,
    /// The points of the curves that a report draws: of some experiments, X16 among them, these are
    /// computed from several measured points.
    Curves,
    /// The verdicts on the claims.
    Verdicts,
    /// The figures of each round of records of `linefill watch`.
    Rounds,
    /// The records themselves: the machine, its settings, and how the run was made.
    Machines,
}

/// A file format of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Form {
    /// Comma-separated values (RFC 4180) with a line of headings.
    #[default]
    Csv,
    /// Apache Parquet, if the program was built with the feature `parquet`.
    Parquet,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Number,
    Whole,
}

/// A column: its name and the type of its cells.
pub(crate) type Column = (&'static str, Kind);

/// A cell. `Nothing` stands for a value that the record does not have.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Nothing,
    Text(String),
    Number(f64),
    Whole(i64),
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        match text {
            "" => Cell::Nothing,
            text => Cell::Text(text.to_owned()),
        }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl From<f64> for Cell {
    fn from(number: f64) -> Self {
        if number.is_finite() { Cell::Number(number) } else { Cell::Nothing }
    }
}

impl From<u64> for Cell {
    fn from(number: u64) -> Self {
        i64::try_from(number).map_or(Cell::Nothing, Cell::Whole)
    }
}

impl From<u32> for Cell {
    fn from(number: u32) -> Self {
        Cell::Whole(number.into())
    }
}

impl From<usize> for Cell {
    fn from(number: usize) -> Self {
        (number as u64).into()
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(cell: Option<T>) -> Self {
        cell.map_or(Cell::Nothing, Into::into)
    }
}

/// A row, a cell per column.
pub(crate) type Row = Vec<Cell>;

trait Sink {
    /// Writes some rows.
    fn rows(&mut self, rows: Vec<Row>) -> Result<()>;

    /// Writes all remaining rows and ends the table.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// Checks that this build can write a format.
///
/// # Errors
/// If the program was built without the format. The message says how to build it.
pub(crate) fn available(form: Form) -> Result<()> {
    if form == Form::Parquet && cfg!(not(feature = "parquet")) {
        anyhow::bail!(
            "--format parquet: this program was built without Parquet; `cargo build --release \
             --features parquet` builds it with, and --format csv needs nothing"
        );
    }
    Ok(())
}

/// Writes the table of `records`, each with its name, to `out`.
pub(crate) fn export(
    records: impl Iterator<Item = Result<(String, Record)>>,
    what: What,
    form: Form,
    out: &mut (dyn Write + Send),
) -> Result<()> {
    available(form)?;
    let columns = rows::columns(what);
    let mut sink: Box<dyn Sink + '_> = match form {
        Form::Csv => Box::new(Csv::new(out, &columns)?),
        #[cfg(feature = "parquet")]
        Form::Parquet => Box::new(parquet::Parquet::new(out, &columns)?),
        #[cfg(not(feature = "parquet"))]
        Form::Parquet => unreachable!("refused above"),
    };
    for record in records {
        let (name, record) = record?;
        sink.rows(rows::rows(&name, record, what))?;
    }
    sink.finish()
}

struct Csv<'a> {
    out: &'a mut (dyn Write + Send),
}

impl<'a> Csv<'a> {
    /// Begins a table and writes its headings.
    pub fn new(out: &'a mut (dyn Write + Send), columns: &[Column]) -> Result<Self> {
        let names: Vec<Cow<'_, str>> = columns.iter().map(|(name, _)| quoted(name)).collect();
        writeln!(out, "{}", names.join(","))?;
        Ok(Csv { out })
    }
}

impl Sink for Csv<'_> {
    fn rows(&mut self, rows: Vec<Row>) -> Result<()> {
        let mut text = String::new();
        for row in rows {
            for (index, cell) in row.iter().enumerate() {
                text += if index == 0 { "" } else { "," };
                match cell {
                    Cell::Nothing => {}
                    Cell::Text(word) => text += &quoted(word),
                    Cell::Number(number) => text += &number.to_string(),
                    Cell::Whole(number) => text += &number.to_string(),
                }
            }
            text.push('\n');
        }
        Ok(self.out.write_all(text.as_bytes())?)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Ok(self.out.flush()?)
    }
}
