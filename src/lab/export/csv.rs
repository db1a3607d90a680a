//! A table as comma-separated values.

use std::borrow::Cow;
use std::io::Write;

use anyhow::Result;

use super::{Cell, Column, Row, Sink};
use crate::lab::format::csv::quoted;

pub(super) struct Csv<'a> {
    out: &'a mut (dyn Write + Send),
}

impl<'a> Csv<'a> {
    /// Begins a table with its headings.
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
