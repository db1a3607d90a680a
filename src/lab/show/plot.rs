//! Plots of figures as text.
//!
//! Written here because the plotting crates for terminals have neither logarithmic axes nor labels for
//! several curves, and nearly every figure needs both.

use anstyle::{AnsiColor, Style};

use crate::lab::chart::{number, place};
use crate::lab::format::Sheet;
use crate::lab::report::view::{AxisView, CurveView, Figure, Form, Value};
use crate::lab::terminal::{FAINT, Screen, paragraph};
use crate::order::{self, unique};

/// Height of a plot in lines.
const HEIGHT: usize = 16;
/// Maximum width of a plot in columns. More would gain nothing.
const WIDEST: usize = 100;
/// Width of the labels on the left in columns.
const LABELS: usize = 9;
/// Maximum number of curves, bars, rows and columns that are drawn. The report has all.
const CURVES: usize = 6;
const BARS: usize = 30;
const ROWS: usize = 24;

/// The colours of the curves. Each curve has a letter too.
const COLOURS: [AnsiColor; CURVES] = [
    AnsiColor::Blue,
    AnsiColor::Magenta,
    AnsiColor::Green,
    AnsiColor::Yellow,
    AnsiColor::Cyan,
    AnsiColor::Red,
];

/// The mark of the document's own values.
const DOCUMENT: char = '+';

/// Draws a figure in at most `width` columns.
pub(super) fn plot(figure: &Figure, width: u16) -> Screen {
    let width = usize::from(width);
    match &figure.form {
        Form::Lines => lines(figure, width),
        Form::Bars => bars(figure, width),
        Form::Surface(depth) | Form::Heat { depth, .. } => shades(figure, depth, width),
        Form::Table => Screen::default(),
    }
}

/// Returns the numbers of a figure, with a row per position and a column per curve. `None` if there are too
/// many to read.
pub(super) fn numbers(figure: &Figure) -> Option<Sheet> {
    const PLACES: usize = 40;
    const COLUMNS: usize = 8;
    let places = places(&figure.curves);
    if figure.curves.len() > COLUMNS || places.len() > PLACES {
        return None;
    }
    let labels = figure.curves.iter().map(|curve| curve.label.as_str());
    let headings: Vec<&str> = [figure.x.label.as_str()].into_iter().chain(labels).collect();
    let mut sheet = Sheet::new(&figure.unit, &headings);
    for x in places {
        let cell = |curve: &CurveView| {
            let value = curve.points.iter().find(|value| value.x == x);
            value.map_or_else(|| "-".to_owned(), |value| value_in_words(*value))
        };
        let cells = figure.curves.iter().map(cell);
        sheet.rows.push([place(&figure.x, x)].into_iter().chain(cells).collect());
    }
    Some(sheet)
}

/// Formats a value with its interval.
fn value_in_words(Value { lo, mid, hi, .. }: Value) -> String {
    if lo == hi { number(mid) } else { format!("{} [{}, {}]", number(mid), number(lo), number(hi)) }
}

/// Returns the positions on the horizontal axis, each once, from left to right.
fn places(curves: &[CurveView]) -> Vec<f64> {
    order::distinct_numbers(curves.iter().flat_map(|c| &c.points).map(|at| at.x))
}

/// Returns at most `most` items, evenly spread, with the first and the last.
fn some<T>(all: &[T], most: usize) -> Vec<&T> {
    match all.len() {
        count if count <= most => all.iter().collect(),
        count => (0..most).map(|index| &all[index * (count - 1) / (most - 1)]).collect(),
    }
}

/// An axis measured in characters.
struct Scale {
    log: bool,
    lo: f64,
    hi: f64,
    /// Number of characters from end to end.
    steps: usize,
}

impl Scale {
    /// Creates an axis over these values; `None` if no value can be shown.
    fn over(values: impl Iterator<Item = f64>, axis: &AxisView, steps: usize) -> Option<Self> {
        let shown = values.filter(|value| value.is_finite() && (!axis.log || *value > 0.0));
        let (lo, hi) = shown.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), value| {
            (lo.min(value), hi.max(value))
        });
        // On a linear axis, bars and curves start at 0.
        let lo = if axis.log { lo } else { lo.min(0.0) };
        lo.is_finite().then_some(Scale { log: axis.log, lo, hi, steps })
    }

    fn along(&self, value: f64) -> f64 {
        let of = |value: f64| if self.log { value.ln() } else { value };
        let (lo, hi) = (of(self.lo), of(self.hi));
        if hi > lo { ((of(value) - lo) / (hi - lo)).clamp(0.0, 1.0) } else { 0.5 }
    }

    /// Returns the character at which a value lies.
    fn at(&self, value: f64) -> usize {
        (self.along(value) * (self.steps - 1) as f64).round() as usize
    }

    /// Returns the value at a character.
    fn value(&self, step: usize) -> f64 {
        let share = step as f64 / (self.steps - 1) as f64;
        match self.log {
            true => self.lo * (self.hi / self.lo).powf(share),
            false => self.lo + (self.hi - self.lo) * share,
        }
    }
}

type Mark = (char, Style);

fn lines(figure: &Figure, width: usize) -> Screen {
    let shown = some(&figure.curves, CURVES);
    let columns = width.min(WIDEST).saturating_sub(LABELS + 2).max(10);
    let measured = || shown.iter().flat_map(|curve| &curve.points);
    let document = || figure.references.iter().flat_map(|curve| &curve.points);
    let xs = measured().map(|at| at.x);
    let ys = measured().map(|at| at.mid).chain(document().map(|at| at.1));
    let (Some(x), Some(y)) =
        (Scale::over(xs, &figure.x, columns), Scale::over(ys, &figure.y, HEIGHT))
    else {
        return Screen::default();
    };
    let x = Scale { lo: measured().map(|at| at.x).fold(x.hi, f64::min), ..x };

    let mut cells: Vec<Vec<Option<Mark>>> = vec![vec![None; columns]; HEIGHT];
    let on_page = |at: f64, value: f64| {
        let drawn = at >= x.lo && at <= x.hi && value >= y.lo && value <= y.hi;
        drawn.then(|| (x.at(at), y.at(value)))
    };
    for rule in &figure.rules {
        if rule.x > x.lo && rule.x < x.hi {
            let column = x.at(rule.x);
            cells.iter_mut().for_each(|row| row[column] = Some(('|', FAINT)));
        }
    }
    for &(at, value) in document() {
        if let Some((column, row)) = on_page(at, value) {
            cells[row][column] = Some((DOCUMENT, FAINT));
        }
    }
    // The first curve is drawn last, so that no other curve covers it.
    for (index, curve) in shown.iter().enumerate().rev() {
        let style = style(index);
        let at: Vec<(usize, usize)> =
            curve.points.iter().filter_map(|value| on_page(value.x, value.mid)).collect();
        for pair in at.windows(2) {
            for (column, row) in between(pair[0], pair[1]) {
                cells[row][column] = Some(('.', style));
            }
        }
        for (column, row) in at {
            cells[row][column] = Some((letter(index), style));
        }
    }
    let mut screen = Screen::default();
    let unit = [figure.y.label.as_str(), figure.unit.as_str()];
    let unit = unit.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>();
    screen.add(&format!("{}\n", unit.join(", ")));
    for (row, cells) in cells.iter().enumerate().rev() {
        let label = match row % 3 == 0 || row + 1 == HEIGHT {
            true => number(y.value(row)),
            false => String::new(),
        };
        screen.paint(FAINT, &format!("{label:>LABELS$} |"));
        for cell in cells {
            match cell {
                Some((mark, style)) => screen.paint(*style, &mark.to_string()),
                None => screen.add(" "),
            };
        }
        screen.end();
    }
    screen.paint(FAINT, &ticks(figure, &x));
    screen.end().append(&legend(figure, &shown, width));
    screen
}

/// Returns the characters between two points of a line, column by column.
fn between(from: (usize, usize), to: (usize, usize)) -> impl Iterator<Item = (usize, usize)> {
    let rise = to.1 as f64 - from.1 as f64;
    (from.0 + 1..to.0).map(move |column| {
        let share = (column - from.0) as f64 / (to.0 - from.0) as f64;
        (column, (from.1 as f64 + share * rise).round() as usize)
    })
}

/// Formats the axis, the labels of its positions, and the label of the axis.
fn ticks(figure: &Figure, x: &Scale) -> String {
    let places = places(&figure.curves);
    let mut line = vec![' '; LABELS + 2 + x.steps];
    let mut free = 0;
    for at in places.iter().filter(|at| (x.lo..=x.hi).contains(*at)) {
        let label: Vec<char> = place(&figure.x, *at).chars().collect();
        let first = LABELS + 2 + x.at(*at);
        let first = first.min((LABELS + 2 + x.steps).saturating_sub(label.len()));
        if first >= free && first + label.len() <= line.len() {
            line[first..first + label.len()].copy_from_slice(&label);
            free = first + label.len() + 2;
        }
    }
    let line: String = line.into_iter().collect();
    let indent = " ".repeat(LABELS + 2);
    let axis = "-".repeat(x.steps);
    format!("{indent}{axis}\n{}\n{indent}{}\n", line.trim_end(), figure.x.label)
}

/// Formats the meaning of the letters and marks.
fn legend(figure: &Figure, shown: &[&CurveView], width: usize) -> Screen {
    let mut screen = Screen::default();
    for (index, curve) in shown.iter().enumerate() {
        screen.add("  ").paint(style(index), &letter(index).to_string());
        screen.add(&format!("  {}\n", indented(&curve.label, width)));
    }
    if figure.curves.len() > shown.len() {
        let more = figure.curves.len() - shown.len();
        screen.add(&format!("     and {more} more curves, in the report\n"));
    }
    for machine in unique(figure.references.iter().map(|of| &of.machine)) {
        let text = indented(&format!("the document's: {machine}"), width);
        screen.paint(FAINT, &format!("  {DOCUMENT}  {text}\n"));
    }
    for rule in &figure.rules {
        screen.paint(FAINT, &format!("  |  {}\n", indented(&rule.meaning, width)));
    }
    screen
}

/// Wraps a text that follows a mark, and indents its further lines.
fn indented(text: &str, width: usize) -> String {
    let options = textwrap::Options::new(width);
    let text = textwrap::fill(text, options.initial_indent("     ").subsequent_indent("     "));
    text.trim_start().to_owned()
}

fn letter(index: usize) -> char {
    char::from(b'a' + index as u8)
}

fn style(index: usize) -> Style {
    COLOURS[index % COLOURS.len()].on_default()
}

fn bars(figure: &Figure, width: usize) -> Screen {
    let mut all: Vec<(String, usize, Value)> = Vec::new();
    for x in places(&figure.curves) {
        for (index, curve) in figure.curves.iter().enumerate() {
            let at = curve.points.iter().find(|value| value.x == x);
            all.extend(at.map(|value| {
                let name = format!("{} {}", place(&figure.x, x), curve.label);
                (name, index, *value)
            }));
        }
    }
    let shown = some(&all, BARS);
    let names = shown.iter().map(|(name, ..)| name.chars().count());
    let name = names.max().unwrap_or(0).min(width / 3);
    let numbers = 10;
    let columns = width.min(WIDEST).saturating_sub(name + numbers + 4).max(5);
    let values = shown.iter().map(|(.., value)| value.mid);
    // The length of a bar is proportional to its value, whatever the axis of the report's chart.
    let linear = AxisView { log: false, ..figure.y.clone() };
    let Some(scale) = Scale::over(values, &linear, columns + 1) else { return Screen::default() };
    let mut screen = Screen::of(&format!("{}\n", figure.unit));
    for (label, index, value) in &shown {
        let label: String = label.chars().take(name).collect();
        screen.add(&format!("  {label:<name$}{:>numbers$} ", number(value.mid)));
        screen.paint(style(*index), &"#".repeat(scale.at(value.mid)));
        screen.end();
    }
    if all.len() > shown.len() {
        let more = all.len() - shown.len();
        screen.add(&format!("  and {more} more bars, in the report\n"));
    }
    screen
}

/// The characters of a map, from the least value to the greatest.
const SHADES: [char; 5] = ['.', ':', 'o', 'O', '#'];

fn shades(figure: &Figure, depth: &str, width: usize) -> Screen {
    let rows = some(&figure.curves, ROWS);
    let xs = places(&figure.curves);
    let label = rows.iter().map(|curve| curve.label.chars().count()).max().unwrap_or(0);
    let columns = some(&xs, width.min(WIDEST).saturating_sub(label + 4).max(1));
    let values = rows.iter().flat_map(|curve| &curve.points).map(|value| value.mid);
    let axis = AxisView { log: true, ..figure.y.clone() };
    let Some(scale) = Scale::over(values, &axis, SHADES.len()) else { return Screen::default() };
    let mut screen = Screen::of(&format!("{depth}, by {}\n", figure.x.label));
    for curve in rows.iter().rev() {
        screen.paint(FAINT, &format!("  {:>label$} ", curve.label));
        for x in &columns {
            let value = curve.points.iter().find(|value| value.x == **x);
            let shade = value.map_or(' ', |value| SHADES[scale.at(value.mid)]);
            screen.add(&shade.to_string());
        }
        screen.end();
    }
    let steps = SHADES.iter().enumerate();
    let steps = steps.map(|(step, shade)| format!("{shade} {}", number(scale.value(step))));
    let steps: Vec<String> = steps.collect();
    let scale = format!("  {} {}", steps.join("  "), figure.unit);
    paragraph(&mut screen, None, &scale, width);
    screen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(form: Form, curves: usize) -> Figure {
        let axis = |bytes| AxisView { label: "working set".to_owned(), log: true, bytes };
        let value = |x: f64, mid: f64| Value { x, lo: 0.9 * mid, mid, hi: 1.1 * mid };
        let curve = |index: usize| CurveView {
            label: index.to_string(),
            points: (0..12)
                .map(|step| {
                    value(
                        4096.0 * f64::powi(2.0, step),
                        (index + 1) as f64 * 4.0 * f64::from(step + 1),
                    )
                })
                .collect(),
        };
        Figure {
            form,
            x: axis(true),
            y: axis(false),
            unit: "ns per operation".to_owned(),
            curves: (0..curves).map(curve).collect(),
            ..Figure::default()
        }
    }

    #[test]
    fn every_form_fits_its_width() {
        for form in [Form::Lines, Form::Bars, Form::Surface("depth".to_owned())] {
            for curves in [1, 3, 40] {
                for width in [40, 60, 80, 120] {
                    let text = plot(&figure(form.clone(), curves), width).text();
                    let widest = text.lines().map(|line| line.chars().count()).max();
                    assert!(widest.unwrap() <= usize::from(width), "{form:?} {width}\n{text}");
                    assert!(text.lines().count() <= 40, "{text}");
                }
            }
        }
    }

    #[test]
    fn a_curve_rises_from_the_lower_left_to_the_upper_right() {
        let text = plot(&figure(Form::Lines, 1), 80).text();
        let rows: Vec<&str> = text.lines().skip(1).take(HEIGHT).collect();
        assert_eq!(rows[0].find('a'), rows[0].rfind('a'), "{text}");
        let columns = rows.iter().filter_map(|row| row.split_once('|')?.1.find('a'));
        let columns: Vec<usize> = columns.collect();
        assert!(columns.is_sorted_by(|a, b| a >= b), "{text}");
        assert_eq!(text.matches(" 4 KiB").count(), 1, "{text}");
    }

    #[test]
    fn numbers_are_a_table_unless_they_are_too_many() {
        let sheet = numbers(&figure(Form::Lines, 2)).unwrap();
        assert_eq!((sheet.rows.len(), sheet.headings.len()), (12, 3));
        assert_eq!(sheet.rows[0], ["4 KiB", "4.00 [3.60, 4.40]", "8.00 [7.20, 8.80]"]);
        assert!(numbers(&figure(Form::Lines, 40)).is_none());
    }
}
