//! Comma-separated values as RFC 4180 has them, with line feeds alone.

use std::borrow::Cow;

use super::Output;

/// The tables, each with a line of headings; an empty line stands between two.
pub(super) fn render(output: &dyn Output) -> String {
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

/// A text with quotation marks around it where it has what ends a cell or a row.
pub(in crate::lab) fn quoted(text: &str) -> Cow<'_, str> {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")).into(),
        false => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Planted;
    use super::*;

    #[test]
    fn what_ends_a_cell_or_a_row_is_quoted() {
        assert_eq!(render(&Planted), "id,a|b\n1,\"one | two\nthree\"\n");
        assert_eq!(quoted("a, \"b\""), "\"a, \"\"b\"\"\"");
    }
}
