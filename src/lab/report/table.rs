//! Numbers as tables: the values of a figure, and the events that were counted, or could not be, beside the
//! times of an experiment.

use maud::{Markup, html};

use super::text::prose;
use super::view::{
    AxisView, CountedView, CurveView, Figure, Form, PredictionView, ReferenceView, Value,
};
use crate::counters::Quantity;
use crate::experiment::{Counting, Experiment, Point, Shape};
use crate::lab::chart::{heading, number, place};
use crate::order::{self, grouped, least_first, unique};
use crate::stats::NOISY;

/// Maximum number of cells of a table in which every interval is shown.
const CROWDED: usize = 1000;

/// A table of the curves of one machine.
struct Table<'a> {
    title: String,
    x: &'a AxisView,
    columns: Vec<(&'a str, Vec<Value>)>,
}

/// Renders a folded table for this machine, one for the prediction, and one per machine of the document.
/// Charts refer to a number by the index of its table and its column: the script reads it there.
pub(super) fn tables<'a>(figure: &'a Figure) -> Markup {
    let ours = Table::of_curves("Numbers of this machine", figure, &figure.curves);
    let column = |of: &&'a ReferenceView| {
        let exact = of.points.iter().map(|&(x, y)| Value::exact(x, y));
        (of.label.as_str(), exact.collect())
    };
    let theirs = sources(figure).into_iter().map(|of| {
        let title = format!("Numbers of the document ({})", of[0].machine);
        let columns = of.iter().map(column).collect();
        (Table { title: titled(&title, &figure.unit), x: &figure.x, columns }, &of[0].source)
    });
    let drawn = |of: &&PredictionView| !of.curves.is_empty();
    let predicted = figure.prediction.as_ref().filter(drawn);
    let predicted = predicted.map(|of| Table::of_curves("Predicted", figure, &of.curves));
    html! {
        (folded(&ours, None))
        @if let Some(predicted) = &predicted { (folded(predicted, None)) }
        @for (table, source) in theirs { (folded(&table, Some(source))) }
    }
}

/// Groups the curves of the document by source and machine, for a table each.
pub(super) fn sources(figure: &Figure) -> Vec<Vec<&ReferenceView>> {
    let references = figure.references.iter();
    let keyed = references.map(|of| ((&of.source, &of.machine), of));
    grouped(keyed).into_iter().map(|(_, of)| of).collect()
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
                p.source {
                    "Intervals are shown if they reach more than " (100.0 * NOISY) " % to a side."
                }
            }
            div.scroll role="region" tabindex="0" aria-label=(table.title) {
                @if table.places().len() == 1 { (table.of_labels()) } @else { (table.of_places()) }
            }
        }
    }
}

impl<'a> Table<'a> {
    /// Creates a table of curves of `figure` or of its prediction.
    fn of_curves(title: &str, figure: &'a Figure, curves: &'a [CurveView]) -> Self {
        let curves = curves.iter();
        let columns = curves.map(|curve| (curve.label.as_str(), curve.points.clone()));
        Table { title: titled(title, &figure.unit), x: &figure.x, columns: columns.collect() }
    }

    fn places(&self) -> Vec<f64> {
        let points = self.columns.iter().flat_map(|column| &column.1);
        order::distinct_numbers(points.map(|value| value.x))
    }

    /// Returns whether the table has more than [`CROWDED`] cells, so that narrow intervals are left out.
    fn is_crowded(&self) -> bool {
        self.columns.len() * self.places().len() > CROWDED
    }

    /// Renders a row per position on the horizontal axis and a column per curve.
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
                                td {
                                    @if let Some(value) = points.iter().find(|v| v.x == x) {
                                        (cell(value, crowded))
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    /// Renders a row per curve, each with its single point.
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

/// Renders a value with its interval. A `crowded` table shows only intervals that make the value noisy.
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

/// Returns the counts of `points` as a figure. `None` if nothing was counted.
pub(super) fn counted(
    experiment: &Experiment,
    points: &[Point],
    counting: &Counting,
    x: AxisView,
) -> Option<CountedView> {
    let counts = || {
        let each = points.iter();
        each.flat_map(|point| point.counts().iter().map(move |count| (point, count)))
    };
    let curves = grouped(counts().map(|(point, count)| {
        let label = format!("{}: {}", point.series, count.quantity);
        (label, Value::at(point.x, count.value))
    }));
    if curves.is_empty() {
        return None;
    }
    let curve = |(label, mut points): (String, Vec<Value>)| {
        least_first(&mut points, |of| of.x);
        CurveView { label, points }
    };
    let curves = curves.into_iter().map(curve).collect();
    let quantities = unique(counts().map(|(_, count)| count.quantity));
    let form = match experiment.plot.map(|plot| plot.shape) {
        Some(Shape::Lines) => Form::Lines,
        Some(Shape::Bars) => Form::Bars,
        Some(Shape::Surface { .. } | Shape::Heat { .. }) | None => Form::Table,
    };
    let event = |quantity| counting.event(quantity).unwrap_or("an event").to_owned();
    let events = quantities.into_iter().map(|of| (of.name().to_owned(), event(of)));
    Some(CountedView {
        figure: Figure {
            form,
            x,
            y: AxisView { label: "events".to_owned(), ..AxisView::default() },
            unit: "per operation".to_owned(),
            curves,
            ..Figure::default()
        },
        events: events.collect(),
        multiplexed: counts().any(|(_, count)| count.multiplexed),
    })
}

/// Renders the events of the counts, below the figure.
pub(super) fn legend(counted: &CountedView) -> Markup {
    let events = counted.events.iter();
    let events: Vec<String> = events.map(|(what, by)| format!("{what} by {by}")).collect();
    html! {
        p.source {
            (prose(&format!(
                "Counted as the difference of N and 2N operations: {}.",
                events.join(", ")
            )))
            @if counted.multiplexed {
                " Some events shared a counter and are extrapolated."
            }
        }
    }
}

/// Returns a sentence per reason why this machine does not count quantities of the experiments in `run`.
pub(super) fn uncounted<'c>(run: &[&Experiment], counting: &'c Counting) -> Vec<String> {
    let part = |(quantity, answer): (Quantity, Result<&str, &'c str>)| {
        let reason = answer.err()?;
        let wants = |experiment: &&&Experiment| experiment.events.contains(&quantity);
        let ids: Vec<&str> = run.iter().filter(wants).map(|of| of.id).collect();
        // Many ids would hide the quantities; the sections name their events themselves.
        let part = match ids.len() {
            0 => return None,
            1..=3 => format!("{quantity} ({})", ids.join(", ")),
            many => format!("{quantity} ({many} experiments)"),
        };
        Some((reason, part))
    };
    let reasons = grouped(counting.answers().filter_map(part));
    let sentence = |(reason, parts): (&str, Vec<String>)| {
        format!("Not counted, because {reason}: {}.", parts.join(", "))
    };
    reasons.into_iter().map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::find;

    #[test]
    fn what_is_not_counted_is_said_once_a_reason() {
        let Some(c9) = find("C9") else { panic!("C9 is built") };
        let no_pmu = || Err("there is no PMU".to_owned());
        let counting =
            Counting::of([(Quantity::Cycles, no_pmu()), (Quantity::Instructions, no_pmu())]);
        assert_eq!(
            uncounted(&[c9], &counting),
            ["Not counted, because there is no PMU: instructions (C9)."]
        );
        assert!(uncounted(&[], &counting).is_empty(), "nobody wants it");
        let counts = Counting::of([(Quantity::Instructions, Ok("INST_RETIRED.ANY".into()))]);
        assert!(uncounted(&[c9], &counts).is_empty());
        assert!(uncounted(&[c9], &Counting::default()).is_empty());
    }
}
