//! The documents' published numbers: the files of `reference/`, embedded, and the curves in them.

use anyhow::{Context as _, Result, bail};

/// A file of `reference/`.
#[derive(Clone, Copy, Debug)]
pub struct File {
    pub name: &'static str,
    text: &'static str,
}

/// Every CSV file of the folder, by name. The build script lists them.
pub const FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/references.rs"));

/// Returns the embedded file of this name.
///
/// # Errors
/// If there is no such file.
pub fn file(name: &str) -> Result<&'static File> {
    let file = FILES.iter().find(|file| file.name == name);
    file.with_context(|| format!("reference/{name} is not embedded"))
}

impl File {
    /// Returns the comment at the head of the file, which says where its numbers come from.
    pub fn source(&self) -> String {
        let lines = self.text.lines().map_while(|line| line.strip_prefix('#'));
        lines.map(str::trim).collect::<Vec<_>>().join(" ")
    }

    /// Returns the points of column `y` over column `x`, in the file's order. Skips rows in which either
    /// cell is empty.
    ///
    /// # Errors
    /// If a column is missing or holds something other than numbers.
    pub fn curve(&self, x: &str, y: &str) -> Result<Vec<(f64, f64)>> {
        let (header, rows) = self.rows()?;
        let (x_at, y_at) = (self.column(&header, x)?, self.column(&header, y)?);
        let mut points = Vec::new();
        for row in rows {
            let (x_cell, y_cell) = (&row[x_at], &row[y_at]);
            if !x_cell.is_empty() && !y_cell.is_empty() {
                points.push((self.number(x, x_cell)?, self.number(y, y_cell)?));
            }
        }
        Ok(points)
    }

    /// Returns the columns whose names are letters and a number, such as `len9`, each with its number.
    ///
    /// # Errors
    /// If the file is not CSV.
    pub fn numbered_columns(&self) -> Result<Vec<(String, String)>> {
        let (header, _) = self.rows()?;
        let numbered = |name: &str| {
            let number = name.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
            let digits = number.bytes().all(|byte| byte.is_ascii_digit());
            (digits && !number.is_empty()).then(|| (name.to_owned(), number.to_owned()))
        };
        Ok(header.iter().filter_map(|name| numbered(name)).collect())
    }

    /// Returns the heading, and the rows, which all have as many cells as the heading.
    fn rows(&self) -> Result<(Vec<String>, Vec<Vec<String>>)> {
        let name = self.name;
        let mut header: Option<Vec<String>> = None;
        let mut rows = Vec::new();
        let lines = self.text.lines().zip(1..);
        for (line, number) in lines.filter(|(line, _)| !line.is_empty() && !line.starts_with('#')) {
            let unclosed = || format!("reference/{name}: line {number}: a quote is not closed");
            let cells = cells(line).with_context(unclosed)?;
            match &header {
                None => header = Some(cells),
                Some(header) if header.len() == cells.len() => rows.push(cells),
                Some(header) => {
                    let (have, want) = (cells.len(), header.len());
                    bail!("reference/{name}: line {number}: {have} cells under {want} headings");
                }
            }
        }
        Ok((header.with_context(|| format!("reference/{name}: no heading"))?, rows))
    }

    fn column(&self, header: &[String], column: &str) -> Result<usize> {
        header.iter().position(|name| name == column).with_context(|| {
            let has = header.join("`, `");
            format!("reference/{} has no column `{column}`, only `{has}`", self.name)
        })
    }

    fn number(&self, column: &str, cell: &str) -> Result<f64> {
        cell.parse().ok().with_context(|| {
            format!("reference/{}, column `{column}`: `{cell}` is not a number", self.name)
        })
    }
}

/// Splits a line of CSV (RFC 4180) into cells. A quoted cell may contain commas; two quotation marks in it
/// stand for one. `None` if a quotation is not closed.
fn cells(line: &str) -> Option<Vec<String>> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        let cell = cells.last_mut()?;
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => cell.extend(letters.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            _ => cell.push(letter),
        }
    }
    (!quoted).then_some(cells)
}

/// A curve of at most this number of points is not thinned.
const WHOLE: usize = 200;

/// Thins a long curve: keeps a point if `y` changed by more than 5 % or `x` by more than 10 % since the last
/// point that was kept. A curve that was traced from a drawing has a point per pixel.
pub(super) fn thinned(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    if points.len() <= WHOLE {
        return points;
    }
    let far = |a: f64, b: f64, share: f64| (a - b).abs() > share * a.abs().max(b.abs());
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for (index, &(x, y)) in points.iter().enumerate() {
        let Some(&(last_x, last_y)) = kept.last() else {
            kept.push((x, y));
            continue;
        };
        let steep = far(y, last_y, 0.05);
        // Where the curve bends, the point before the bend is kept too.
        if steep && points[index - 1].0 > last_x {
            kept.push(points[index - 1]);
        }
        if steep || far(x, last_x, 0.1) || index + 1 == points.len() {
            kept.push((x, y));
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_in_quotes_holds_commas_and_quotes() {
        assert_eq!(cells("1,,\"a, \"\"b\"\"\",").unwrap(), ["1", "", "a, \"b\"", ""]);
        assert_eq!(cells("1,\"a"), None);
    }

    #[test]
    fn rows_of_another_length_and_files_without_a_heading_are_refused() {
        let why = |text| File { name: "f", text }.curve("x", "y").unwrap_err().to_string();
        assert_eq!(why("# a\nx,y\n1\n"), "reference/f: line 3: 1 cells under 2 headings");
        assert_eq!(why("# a\n"), "reference/f: no heading");
        assert_eq!(why("x,\"y\n"), "reference/f: line 1: a quote is not closed");
    }

    #[test]
    fn every_file_names_its_source() {
        for file in FILES {
            assert!(file.source().len() > 20, "{}", file.name);
            assert!(!file.source().starts_with('#'), "{}", file.name);
        }
    }

    #[test]
    fn a_curve_has_the_numbers_of_the_figure() {
        let figure = file("drepper-fig-3.10.csv").unwrap();
        let curve = figure.curve("working_set_bytes", "value").unwrap();
        assert_eq!(curve[0], (1024.0, 4.010));
        assert_eq!(curve.len(), 20);
    }

    #[test]
    fn the_surface_of_figure_6_5_is_there_as_a_curve_a_list_length() {
        let figure = file("drepper-fig-6.5.csv").unwrap();
        let columns = figure.numbered_columns().unwrap();
        assert_eq!(columns.len(), 16);
        assert_eq!(columns[8], ("len9".to_owned(), "9".to_owned()));
        let at = |column: &str| figure.curve("distance_elements", column).unwrap()[63];
        assert!(at("len8").1 < 3.1);
        assert!(at("len10").1 > 10.0);
    }

    #[test]
    fn what_is_missing_is_named() {
        assert_eq!(
            file("fig-9.9.csv").unwrap_err().to_string(),
            "reference/fig-9.9.csv is not embedded"
        );
        let figure = file("drepper-fig-6.7.csv").unwrap();
        assert_eq!(
            figure.curve("working_set_bytes", "Two").unwrap_err().to_string(),
            "reference/drepper-fig-6.7.csv has no column `Two`, only `log2_working_set`, \
             `working_set_bytes`, `One Thread`, `With Prefetch`"
        );
        let table = file("drepper-table-6.1.csv").unwrap();
        assert_eq!(
            table.curve("store_kind", "inner_loop_row_s").unwrap_err().to_string(),
            "reference/drepper-table-6.1.csv, column `store_kind`: `Normal` is not a number"
        );
    }

    #[test]
    fn a_curve_of_hundreds_of_points_keeps_its_course() {
        let step = |x: u32| (f64::from(x), if x < 300 { 4.0 } else { 20.0 });
        let few: Vec<_> = (1..=WHOLE as u32).map(step).collect();
        assert_eq!(thinned(few.clone()), few);
        let thin = thinned((1..=600).map(step).collect());
        assert!(thin.len() < WHOLE, "{}", thin.len());
        assert!(thin.contains(&step(299)) && thin.contains(&step(300)));
        assert_eq!((thin[0], thin[thin.len() - 1]), (step(1), step(600)));
    }
}
