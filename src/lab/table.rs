//! Tables on the terminal.

use comfy_table::{ContentArrangement, LineStyle, Table, presets};

/// The width if the output is not a terminal.
const PLAIN_WIDTH: u16 = 120;

/// Returns the width to print for, between 60 and 240 columns: the value of `COLUMNS`, or else the width of
/// the terminal on the standard output.
pub fn width() -> u16 {
    let said = std::env::var("COLUMNS").ok();
    let said = said.and_then(|columns| columns.parse().ok());
    let terminal = || terminal_size::terminal_size_of(std::io::stdout());
    said.or_else(|| terminal().map(|(terminal_size::Width(columns), _)| columns))
        .unwrap_or(PLAIN_WIDTH)
        .clamp(60, 240)
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
