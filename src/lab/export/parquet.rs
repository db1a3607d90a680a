//! Apache Parquet: every column optional, rows in groups.

use std::io::Write;
use std::sync::Arc;

use anyhow::Result;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use super::{Cell, Column, Kind, Row, Sink};

/// Number of waiting rows at which a row group is written.
const GROUP: usize = 1 << 16;

pub(super) struct Parquet<'a> {
    writer: SerializedFileWriter<&'a mut (dyn Write + Send)>,
    kinds: Vec<Kind>,
    waiting: Vec<Row>,
}

impl<'a> Parquet<'a> {
    /// Begins a file with these columns.
    pub fn new(out: &'a mut (dyn Write + Send), columns: &[Column]) -> Result<Self> {
        let mut fields = Vec::new();
        for &(name, kind) in columns {
            let (physical, logical) = match kind {
                Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
                Kind::Number => (Physical::DOUBLE, None),
                Kind::Whole => (Physical::INT64, None),
            };
            let field = Type::primitive_type_builder(name, physical)
                .with_repetition(Repetition::OPTIONAL)
                .with_logical_type(logical);
            fields.push(Arc::new(field.build()?));
        }
        let schema = Type::group_type_builder("linefill").with_fields(fields);
        let schema = Arc::new(schema.build()?);
        let properties = Arc::new(WriterProperties::builder().build());
        Ok(Parquet {
            writer: SerializedFileWriter::new(out, schema, properties)?,
            kinds: columns.iter().map(|(_, kind)| *kind).collect(),
            waiting: Vec::new(),
        })
    }

    /// Writes the waiting rows as a row group.
    fn group(&mut self) -> Result<()> {
        let rows = std::mem::take(&mut self.waiting);
        if rows.is_empty() {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        for (index, kind) in self.kinds.iter().enumerate() {
            let Some(mut column) = group.next_column()? else { break };
            let cells = || rows.iter().map(|row| &row[index]);
            // Definition levels: 1 for a value, 0 for null.
            let there: Vec<i16> = cells().map(|cell| i16::from(*cell != Cell::Nothing)).collect();
            match kind {
                Kind::Text => {
                    let text = |cell: &Cell| match cell {
                        Cell::Text(text) => Some(ByteArray::from(text.as_str())),
                        _ => None,
                    };
                    let values: Vec<ByteArray> = cells().filter_map(text).collect();
                    column.typed::<ByteArrayType>().write_batch(&values, Some(&there), None)?;
                }
                Kind::Number => {
                    let number = |cell: &Cell| match cell {
                        Cell::Number(number) => Some(*number),
                        _ => None,
                    };
                    let values: Vec<f64> = cells().filter_map(number).collect();
                    column.typed::<DoubleType>().write_batch(&values, Some(&there), None)?;
                }
                Kind::Whole => {
                    let number = |cell: &Cell| match cell {
                        Cell::Whole(number) => Some(*number),
                        _ => None,
                    };
                    let values: Vec<i64> = cells().filter_map(number).collect();
                    column.typed::<Int64Type>().write_batch(&values, Some(&there), None)?;
                }
            }
            column.close()?;
        }
        group.close()?;
        Ok(())
    }
}

impl Sink for Parquet<'_> {
    fn rows(&mut self, rows: Vec<Row>) -> Result<()> {
        self.waiting.extend(rows);
        if self.waiting.len() < GROUP { Ok(()) } else { self.group() }
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.group()?;
        self.writer.close()?;
        Ok(())
    }
}
