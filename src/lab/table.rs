//! Tables on the terminal.

use comfy_table::{Cell, ContentArrangement, LineStyle, Row, Table, presets};

/// The width if the output is not a terminal.
const PLAIN_WIDTH: u16 = 120;

/// The width from which on columns fit side by side.
pub const SIDE_BY_SIDE: u16 = 60;

/// Returns the width to print for, between 40 and 240 columns: the value of `COLUMNS`, or else the width of
/// the terminal on the standard output.
pub fn width() -> u16 {
    let said = std::env::var("COLUMNS").ok();
    let said = said.and_then(|columns| columns.parse().ok());
    let terminal = || terminal_size::terminal_size_of(std::io::stdout());
    said.or_else(|| terminal().map(|(terminal_size::Width(columns), _)| columns))
        .unwrap_or(PLAIN_WIDTH)
        .clamp(40, 240)
}

/// Creates a table with these headings, at most `width` columns wide.
pub fn table(headings: &[&str], width: u16) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none()))
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width)
        .set_header(headings.iter().copied());
    table
}

/// Formats a table. Where its columns would be too narrow to read, each cell has a line `heading: text`, and an
/// empty line stands between the rows.
pub fn text(table: &Table) -> String {
    match table.width() {
        Some(width) if width < SIDE_BY_SIDE => by_lines(table, width),
        _ => table.trim_fmt(),
    }
}

fn by_lines(table: &Table, width: u16) -> String {
    let cells = |row: &Row| row.cell_iter().map(Cell::content).collect::<Vec<_>>();
    let headings = table.header().map(cells).unwrap_or_default();
    let options = textwrap::Options::new(width.into()).subsequent_indent("  ");
    let line = |(heading, text): (&String, String)| {
        let line = match heading.is_empty() {
            true => text,
            false => format!("{heading}: {text}"),
        };
        textwrap::fill(&line, &options)
    };
    let rows = table.row_iter().map(|row| {
        let cells = headings.iter().zip(cells(row));
        let told = cells.filter(|(_, text)| !text.is_empty());
        told.map(line).collect::<Vec<_>>().join("\n")
    });
    rows.collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_table_has_a_line_per_cell() {
        let rows = |width| {
            let mut table = table(&["", "claim", "numbers"], width);
            table.add_row(["D14.1", "a walk in order takes less than one at random", ""]);
            table.add_row(["D14.2", "none", "1.5 [1.4, 1.6]"]);
            text(&table)
        };
        assert_eq!(
            rows(40),
            "D14.1\n\
             claim: a walk in order takes less than\n  one at random\n\
             \n\
             D14.2\n\
             claim: none\n\
             numbers: 1.5 [1.4, 1.6]"
        );
        assert!(rows(60).contains('─'), "{}", rows(60));
    }
}
