//! The marks of a series, and what a script finds out from them.

use maud::{Markup, html};

use super::path::STYLES;
use super::{Drawing, Series, Value, number, place};

/// The marks of a series. Those of its points for which `drawn` is false have none.
///
/// A script finds the numbers in the tables of the figure: `data-c` is the table and the column. A chart
/// without such tables carries them: the label, and the place, value and ends of the interval of each point.
pub(super) fn group(
    drawing: &Drawing<'_>,
    series: &Series<'_>,
    index: usize,
    drawn: &dyn Fn(&Value) -> bool,
    marks: &Markup,
) -> Markup {
    let points = series.points.iter().enumerate();
    let skipped: Vec<String> = points
        .filter(|(_, value)| !drawn(value))
        .map(|(index, _)| index.to_string())
        .collect();
    let column = series
        .column
        .map(|(table, column)| format!("{table} {column}"));
    let carried = series.column.is_none().then(|| {
        let points = series.points.iter().map(|value| told(drawing, value));
        points.collect::<Vec<_>>().join(";")
    });
    html! {
        g.s.(drawing.role(series).class()).{"k" (index % STYLES)} data-o=(series.owner) data-l=(index)
            data-c=[column] data-p=[&carried] data-n=[carried.as_ref().map(|_| series.label)]
            data-skip=[(!skipped.is_empty()).then(|| skipped.join(" "))]
        { (marks) }
    }
}

/// A point with its interval: `4 KiB|4.02|3.98|4.10`.
fn told(drawing: &Drawing<'_>, value: &Value) -> String {
    let place = place(drawing.x, value.x).replace(['|', ';'], ",");
    let mut told = format!("{place}|{}", number(value.mid));
    if value.lo != value.hi {
        told += &format!("|{}|{}", number(value.lo), number(value.hi));
    }
    told
}
