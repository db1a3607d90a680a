//! Tables in Markdown, as GitHub reads them.

use super::{Output, Sheet};

/// A heading and a table a sheet.
pub(super) fn render(output: &dyn Output) -> String {
    let mut text = format!("# {}\n", escaped(&output.name()));
    for sheet in output.sheets() {
        text += &format!("\n## {}\n\n{}", escaped(&sheet.title), table(&sheet));
    }
    text
}

fn table(sheet: &Sheet) -> String {
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

/// A text of a cell or a heading: one line, in which nothing is markup.
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
    use super::super::tests::Planted;
    use super::*;

    #[test]
    fn a_row_stays_one_line_of_as_many_cells() {
        let text = render(&Planted);
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
        assert_eq!(
            rows,
            [
                "| id | a\\|b |",
                "| --- | --- |",
                "| 1 | one \\| two<br>three |"
            ]
        );
        assert!(text.starts_with("# linefill &lt;planted>\n"), "{text}");
    }
}
