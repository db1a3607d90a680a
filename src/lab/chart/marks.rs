//! Parts of a drawing: SVG paths, whose coordinates have at most one decimal; the marks of a series, with
//! attributes for the script; and the legends of labels and owners.

use std::fmt::Write;

use maud::{Markup, html};

use super::{Drawing, Role, Series, Value, number, place};

/// Number of shades and markers for the series of a chart.
pub(super) const STYLES: usize = 6;

/// Formats a coordinate: `12`, `12.3`.
pub(super) fn px(value: f64) -> String {
    let tenths = (value * 10.0).round();
    match tenths % 10.0 == 0.0 {
        true => format!("{:.0}", tenths / 10.0 + 0.0),
        false => format!("{:.1}", tenths / 10.0),
    }
}

/// The data of an SVG path. The place of a mark is absolute, so that the script can move the mark. The shape
/// of the mark is relative to its place.
#[derive(Default)]
pub(super) struct Path(String);

impl Path {
    pub(super) fn move_to(&mut self, x: f64, y: f64) {
        let _ = write!(self.0, "M{} {}", px(x), px(y));
    }

    pub(super) fn line_to(&mut self, x: f64, y: f64) {
        let _ = write!(self.0, "L{} {}", px(x), px(y));
    }

    /// Adds a vertical line.
    pub(super) fn upright(&mut self, x: f64, from: f64, to: f64) {
        let _ = write!(self.0, "M{} {}V{}", px(x), px(from), px(to));
    }

    /// Adds a horizontal line.
    pub(super) fn level(&mut self, y: f64, from: f64, to: f64) {
        let _ = write!(self.0, "M{} {}H{}", px(from), px(y), px(to));
    }

    /// Adds a marker of the series with this index.
    pub(super) fn marker(&mut self, x: f64, y: f64, index: usize) {
        self.move_to(x, y);
        self.0 += match index % STYLES {
            0 => "m0-3.5a3.5 3.5 0 1 0 .1 0z",
            1 => "m-3-3h6v6h-6z",
            2 => "m0-4.5l4.5 4.5-4.5 4.5-4.5-4.5z",
            3 => "m0-4l4 7h-8z",
            4 => "m0 4l4-7h-8z",
            _ => "m-1-4h2v3h3v2h-3v3h-2v-3h-3v-2h3z",
        };
    }

    /// Adds a model's prediction: a stroke perpendicular to the axis of the values.
    pub(super) fn stroke(&mut self, x: f64, y: f64, upright: bool) {
        self.move_to(x, y);
        self.0 += if upright { "m0-7v14" } else { "m-7 0h14" };
    }

    /// Adds a rectangle.
    pub(super) fn cell(&mut self, x: f64, y: f64, width: f64, height: f64) {
        let _ = write!(self.0, "M{} {}h{}v{}h{}z", px(x), px(y), px(width), px(height), px(-width));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn data(&self) -> &str {
        &self.0
    }
}

/// Returns the approximate width of a text in a chart.
pub(super) fn width(text: &str) -> f64 {
    6.7 * text.chars().count() as f64
}

/// Breaks a text at spaces into lines of about `most` characters.
pub(super) fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("never empty");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + word.chars().count() < most {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// Draws the name of a lane as lines of text that end at `x`, `step` apart, around the height `y`.
pub(super) fn lane_name(lines: &[String], x: f64, y: f64, step: f64) -> Markup {
    let first = y + 4.0 - step * (lines.len() - 1) as f64 / 2.0;
    html! {
        @for (line, text) in lines.iter().enumerate() {
            text.end.lane x=(px(x)) y=(px(first + step * line as f64)) { (text) }
        }
    }
}

/// Keeps the labels, from left to right, that do not overlap the label kept before.
pub(super) fn with_room(mut labels: Vec<(f64, String)>) -> Vec<(f64, String)> {
    let mut last = f64::NEG_INFINITY;
    labels.retain(|(x, text)| {
        let half = width(text) / 2.0;
        let room = x - half > last + 8.0;
        if room {
            last = x + half;
        }
        room
    });
    labels
}

/// Draws the marks of a series. Points for which `drawn` is false have no marks.
///
/// The script finds the numbers in the tables of the figure: `data-c` is the table and the column. A chart
/// without such tables contains the numbers itself: the label in `data-n`, and the place, the value and the
/// ends of the interval of each point in `data-p`.
pub(super) fn group(
    drawing: &Drawing<'_>,
    series: &Series<'_>,
    index: usize,
    drawn: &dyn Fn(&Value) -> bool,
    marks: &Markup,
) -> Markup {
    let points = series.points.iter().enumerate();
    let skipped: Vec<String> =
        points.filter(|(_, value)| !drawn(value)).map(|(index, _)| index.to_string()).collect();
    let column = series.column.map(|(table, column)| format!("{table} {column}"));
    let carried = series.column.is_none().then(|| {
        series.points.iter().map(|value| hover_data(drawing, value)).collect::<Vec<_>>().join(";")
    });
    html! {
        g.s.(drawing.role(series).class()).{"k" (index % STYLES)} data-o=(series.owner)
            data-l=(index) data-c=[column] data-p=[&carried]
            data-n=[carried.as_ref().map(|_| series.label)]
            data-skip=[(!skipped.is_empty()).then(|| skipped.join(" "))]
        { (marks) }
    }
}

/// Formats a point with its interval for the script: `4 KiB|4.02|3.98|4.10`.
fn hover_data(drawing: &Drawing<'_>, value: &Value) -> String {
    let place = place(drawing.x, value.x).replace(['|', ';'], ",");
    let mut data = format!("{place}|{}", number(value.mid));
    if value.lo != value.hi {
        data += &format!("|{}|{}", number(value.lo), number(value.hi));
    }
    data
}

/// Draws the legend of the labels, each with its line and marker; nothing if there is only one label.
pub(super) fn labels(drawing: &Drawing<'_>) -> Markup {
    let labels = drawing.labels();
    html! {
        @if labels.len() > 1 {
            ul.labels {
                @for (index, label) in labels.iter().enumerate() {
                    @let first = drawing.series.iter().find(|series| series.label == *label);
                    @let role = first.map_or(Role::Here, |series| drawing.role(series));
                    li data-l=(index) { (swatch(role, index)) (label) }
                }
            }
        }
    }
}

/// Draws the legend of the owners; nothing if there is only one.
pub(super) fn owners(drawing: &Drawing<'_>) -> Markup {
    let has = |owner: usize| drawing.series.iter().any(|series| series.owner == owner);
    let owners = drawing.owners.iter().enumerate().filter(|(owner, _)| has(*owner));
    let owners: Vec<_> = owners.collect();
    html! {
        @if owners.len() > 1 {
            ul.owners {
                @for (index, owner) in owners {
                    li data-o=(index) { (swatch(owner.role, 0)) (owner.name) }
                }
            }
        }
    }
}

/// Draws a piece of line with a marker, as in the chart.
fn swatch(role: Role, index: usize) -> Markup {
    let what = match role {
        Role::Model | Role::Median => "mark-line".to_owned(),
        Role::Outside => "mark-point".to_owned(),
        _ => format!("mark-{}", index % STYLES),
    };
    html! {
        svg.swatch.(role.class()).{"k" (index % STYLES)} aria-hidden="true" {
            use href={ "#" (what) } {}
        }
    }
}

/// Renders the definitions that swatches refer to, once per page.
pub fn definitions() -> Markup {
    let mut line = Path::default();
    line.level(6.0, 0.0, 24.0);
    let mark = |index| {
        let mut mark = Path::default();
        mark.marker(12.0, 6.0, index);
        mark
    };
    html! {
        svg.definitions aria-hidden="true" {
            path #mark-line d=(line.data()) {}
            path #mark-point d=(mark(0).data()) {}
            @for index in 0..STYLES {
                g id={ "mark-" (index) } { path d=(line.data()) {} path d=(mark(index).data()) {} }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short() {
        let texts = [12.0, 12.34, -0.04, 0.0, 99.96].map(px);
        assert_eq!(texts, ["12", "12.3", "0", "0", "100"]);
    }

    #[test]
    fn texts_break_at_spaces() {
        assert_eq!(wrapped("a store to one word", 8), ["a store", "to one", "word"]);
        assert_eq!(wrapped("", 8), [""]);
    }
}
