//! The curves of several records in one plot.
//!
//! A series has the same colour in every record, and a record the same dashes in every series. A
//! plot of a single series gives the colours to the records.

use plotly::common::{DashType, HoverInfo, Line, Marker, Mode};
use plotly::{Bar, Plot, Scatter};

use crate::lab::report::axes::layout;
use crate::lab::report::chart::{
    Chart, Entry, Group, SLOTS, colour, error_bars, hover, symbol, text,
};
use crate::lab::report::scale::place;
use crate::lab::report::view::{AxisView, CurveView, Figure, Form, Value};

/// A record's name and its figure.
pub(super) type Named<'a> = (&'a str, &'a Figure);

/// Draws lines or bars of all `figures`, at least one.
pub(super) fn draw(figures: &[Named<'_>]) -> Chart {
    let whole = merged(figures);
    let alone = whole.form == Form::Bars && one_place(&whole);
    let labels = labels(figures);
    let mut plot = Plot::new();
    let mut legend = Vec::new();
    let mut trace = 0;
    for (side, (name, figure)) in figures.iter().enumerate() {
        let mut group = Group {
            who: (*name).to_owned(),
            faint: false,
            entries: Vec::new(),
        };
        let curves = match alone {
            true => vec![across(figure)],
            false => figure.curves.clone(),
        };
        for curve in &curves {
            let series = labels.iter().position(|label| *label == curve.label);
            let style = Style {
                slot: if alone || labels.len() == 1 {
                    side
                } else {
                    series.unwrap_or(0)
                },
                side,
            };
            match (&whole.form, alone) {
                (_, true) => plot.add_trace(bars_alone(figure, name, style)),
                (Form::Bars, _) => plot.add_trace(bars(figure, name, curve, style)),
                _ => plot.add_trace(line(figure, name, curve, style)),
            }
            group.entries.push(Entry {
                trace,
                label: if alone {
                    "all".to_owned()
                } else {
                    curve.label.clone()
                },
                slot: style.slot % SLOTS + 1,
                dashed: side > 0,
            });
            trace += 1;
        }
        legend.push(group);
    }
    let whole = match alone {
        // The places are the series.
        true => Figure {
            x: AxisView::default(),
            ..whole
        },
        false => whole,
    };
    plot.set_layout(layout(&whole, false));
    Chart {
        json: plot.to_json(),
        legend,
    }
}

/// How a curve is drawn.
#[derive(Clone, Copy)]
struct Style {
    /// Its colour, from 0.
    slot: usize,
    /// Its record, from 0.
    side: usize,
}

/// All curves in one figure, so that the axes span them.
fn merged(figures: &[Named<'_>]) -> Figure {
    let mut whole = figures[0].1.clone();
    whole.curves = figures
        .iter()
        .flat_map(|(_, of)| of.curves.clone())
        .collect();
    // The sizes of caches differ from machine to machine, and the document's curve is in the
    // reports.
    whole.rules.clear();
    whole.references.clear();
    whole.prediction = None;
    whole
}

/// Every label, in the order in which they first occur.
fn labels<'a>(figures: &[Named<'a>]) -> Vec<&'a str> {
    let mut labels: Vec<&str> = Vec::new();
    for curve in figures.iter().flat_map(|(_, figure)| &figure.curves) {
        if !labels.contains(&curve.label.as_str()) {
            labels.push(&curve.label);
        }
    }
    labels
}

/// Whether every curve of every record is one number.
fn one_place(figure: &Figure) -> bool {
    figure.curves.iter().all(|curve| curve.points.len() < 2)
}

/// The single values of a figure as one curve.
fn across(figure: &Figure) -> CurveView {
    let values = figure
        .curves
        .iter()
        .filter_map(|curve| curve.points.first());
    CurveView {
        label: String::new(),
        points: values.copied().collect(),
    }
}

/// A curve whose hover boxes name the record.
fn named(name: &str, curve: &CurveView) -> CurveView {
    CurveView {
        label: format!("{name}: {}", curve.label),
        points: curve.points.clone(),
    }
}

fn line(figure: &Figure, name: &str, curve: &CurveView, style: Style) -> Box<Scatter<f64, f64>> {
    let (x, y) = curve
        .points
        .iter()
        .map(|value| (value.x, value.mid))
        .unzip();
    let colour = colour(style.slot);
    Scatter::new(x, y)
        .name(text(&curve.label))
        .mode(Mode::LinesMarkers)
        .line(
            Line::new()
                .color(colour.clone())
                .width(2.0)
                .dash(dash(style.side)),
        )
        .marker(
            Marker::new()
                .color(colour.clone())
                .size(6)
                .symbol(symbol(style.slot)),
        )
        .error_y(error_bars(curve, colour))
        .hover_info(HoverInfo::Text)
        .hover_text_array(hover(figure, &named(name, curve)))
}

fn dash(side: usize) -> DashType {
    match side % 5 {
        0 => DashType::Solid,
        1 => DashType::Dash,
        2 => DashType::Dot,
        3 => DashType::DashDot,
        _ => DashType::LongDash,
    }
}

/// A bar a place, paler from record to record.
fn bars(figure: &Figure, name: &str, curve: &CurveView, style: Style) -> Box<Bar<String, f64>> {
    let places = curve.points.iter().map(|value| place(&figure.x, value.x));
    bar(places.collect(), curve, style)
        .opacity(1.0 / (1.0 + style.side as f64))
        .hover_text_array(hover(figure, &named(name, curve)))
}

/// A bar a series.
fn bars_alone(figure: &Figure, name: &str, style: Style) -> Box<Bar<String, f64>> {
    let numbered = figure
        .curves
        .iter()
        .filter(|curve| !curve.points.is_empty());
    let hovers = numbered
        .clone()
        .flat_map(|curve| hover(figure, &named(name, curve)));
    let labels = numbered.clone().map(|curve| text(&curve.label));
    bar(labels.collect(), &across(figure), style).hover_text_array(hovers.collect())
}

fn bar(places: Vec<String>, curve: &CurveView, style: Style) -> Box<Bar<String, f64>> {
    let heights = curve.points.iter().map(|value: &Value| value.mid);
    Bar::new(places, heights.collect())
        .name(text(&curve.label))
        .marker(Marker::new().color(colour(style.slot)))
        .error_y(error_bars(curve, "--ink".to_owned()))
        .hover_info(HoverInfo::Text)
}
