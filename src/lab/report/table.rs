//! The numbers behind a plot as tables, for those who read rather than look.

use maud::{Markup, html};

use super::view::{AxisView, Figure, PredictionView, ReferenceView, Value};
use crate::lab::chart::{heading, number, place};
use crate::stats::NOISY;

/// Cells of a table that has all of its intervals.
const CROWDED: usize = 1000;

/// A table of the curves of one machine.
struct Table<'a> {
    title: String,
    x: &'a AxisView,
    columns: Vec<(&'a str, Vec<Value>)>,
}

/// A table for this machine, one of what is predicted, then one for each machine of the source; all folded up.
/// Charts name their numbers by the table's index and the column: the script reads them here.
pub(super) fn tables(figure: &Figure) -> Markup {
    let ours = Table {
        title: titled("Numbers of this machine", &figure.unit),
        x: &figure.x,
        columns: figure
            .curves
            .iter()
            .map(|curve| (curve.label.as_str(), curve.points.clone()))
            .collect(),
    };
    let theirs = sources(figure).into_iter().map(|of| Table {
        title: titled(
            &format!("Numbers of the document ({})", of[0].machine),
            &figure.unit,
        ),
        x: &figure.x,
        columns: of
            .iter()
            .map(|reference| {
                let points = reference.points.iter();
                let exact = points.map(|&(x, y)| Value::exact(x, y));
                (reference.label.as_str(), exact.collect())
            })
            .collect(),
    });
    let drawn = |of: &&PredictionView| !of.curves.is_empty();
    let predicted = figure.prediction.as_ref().filter(drawn).map(|of| Table {
        title: titled("Predicted", &figure.unit),
        x: &figure.x,
        columns: of
            .curves
            .iter()
            .map(|curve| (curve.label.as_str(), curve.points.clone()))
            .collect(),
    });
    html! {
        (folded(&ours, None))
        @if let Some(predicted) = &predicted { (folded(predicted, None)) }
        @for (of, table) in sources(figure).iter().zip(theirs) { (folded(&table, Some(&of[0].source))) }
    }
}

/// The curves of the document, those of one machine from one source together: a table each.
pub(super) fn sources(figure: &Figure) -> Vec<Vec<&ReferenceView>> {
    let mut sources: Vec<Vec<&ReferenceView>> = Vec::new();
    for reference in &figure.references {
        let same = sources
            .iter_mut()
            .find(|of| of[0].source == reference.source && of[0].machine == reference.machine);
        match same {
            Some(of) => of.push(reference),
            None => sources.push(vec![reference]),
        }
    }
    sources
}

fn titled(title: &str, unit: &str) -> String {
    match unit {
        "" => title.to_owned(),
        unit => format!("{title}, {unit}"),
    }
}

fn folded(table: &Table<'_>, source: Option<&str>) -> Markup {
    html! {
        details.numbers {
            summary { (table.title) }
            @if let Some(source) = source { p.source { (source) } }
            @if table.is_crowded() {
                p.source { "Intervals are shown if they reach more than " (100.0 * NOISY) " % to a side." }
            }
            div.scroll role="region" tabindex="0" aria-label=(table.title) {
                @if table.has_one_x() { (table.of_labels()) } @else { (table.of_places()) }
            }
        }
    }
}

impl Table<'_> {
    fn places(&self) -> Vec<f64> {
        let points = self.columns.iter().flat_map(|column| &column.1);
        let mut places: Vec<f64> = points.map(|value| value.x).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        places
    }

    /// Whether it has so many cells that narrow intervals would drown its numbers.
    fn is_crowded(&self) -> bool {
        self.columns.len() * self.places().len() > CROWDED
    }

    fn has_one_x(&self) -> bool {
        self.places().len() == 1
    }

    /// One row per place on the horizontal axis, one column per curve.
    fn of_places(&self) -> Markup {
        let crowded = self.is_crowded();
        html! {
            table {
                thead {
                    tr {
                        th scope="col" { (heading(self.x)) }
                        @for (label, _) in &self.columns { th scope="col" { (label) } }
                    }
                }
                tbody {
                    @for x in self.places() {
                        tr {
                            th scope="row" { (place(self.x, x)) }
                            @for (_, points) in &self.columns {
                                td { @if let Some(value) = points.iter().find(|v| v.x == x) { (cell(value, crowded)) } }
                            }
                        }
                    }
                }
            }
        }
    }

    /// A row a curve: each has a single point.
    fn of_labels(&self) -> Markup {
        html! {
            table {
                tbody {
                    @for (label, points) in &self.columns {
                        tr {
                            th scope="row" { (label) }
                            @for value in points { td { (cell(value, false)) } }
                        }
                    }
                }
            }
        }
    }
}

/// A value with its interval; if it is `crowded`, with one that makes it noisy only.
fn cell(value: &Value, crowded: bool) -> Markup {
    let narrow = |end: f64| (end / value.mid - 1.0).abs() <= NOISY;
    let exact = value.lo == value.hi || crowded && narrow(value.lo) && narrow(value.hi);
    html! {
        (number(value.mid))
        @if !exact {
            " " small { "[" (number(value.lo)) ", " (number(value.hi)) "]" }
        }
    }
}
