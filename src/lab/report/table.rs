//! The numbers behind a plot as tables, for those who read rather than look.

use maud::{Markup, html};

use super::scale::{heading, number, place};
use super::view::{AxisView, Figure, PredictionView, Value};

/// A table of the curves of one machine.
struct Table<'a> {
    title: String,
    x: &'a AxisView,
    columns: Vec<(&'a str, Vec<Value>)>,
}

/// A table for this machine, then one for each machine of the source; all folded up.
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
    let mut theirs: Vec<(&str, Table<'_>)> = Vec::new();
    for reference in &figure.references {
        let exact = |&(x, y): &(f64, f64)| Value {
            x,
            lo: y,
            mid: y,
            hi: y,
        };
        let column = (
            reference.label.as_str(),
            reference.points.iter().map(exact).collect(),
        );
        let same = theirs.iter_mut().find(|(source, table)| {
            *source == reference.source && table.title.contains(&reference.machine)
        });
        match same {
            Some((_, table)) => table.columns.push(column),
            None => theirs.push((
                &reference.source,
                Table {
                    title: titled(
                        &format!("Numbers of the document ({})", reference.machine),
                        &figure.unit,
                    ),
                    x: &figure.x,
                    columns: vec![column],
                },
            )),
        }
    }
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
        @for (source, table) in &theirs { (folded(table, Some(source))) }
    }
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

    fn has_one_x(&self) -> bool {
        self.places().len() == 1
    }

    /// A row a place on the horizontal axis, a column a curve.
    fn of_places(&self) -> Markup {
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
                                td { @if let Some(value) = points.iter().find(|v| v.x == x) { (cell(value)) } }
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
                            @for value in points { td { (cell(value)) } }
                        }
                    }
                }
            }
        }
    }
}

fn cell(value: &Value) -> Markup {
    html! {
        (number(value.mid))
        @if value.lo != value.hi {
            " " small { "[" (number(value.lo)) ", " (number(value.hi)) "]" }
        }
    }
}
