//! Axes with their ticks, and the rules that stand at cache sizes.

use plotly::common::{Anchor, DashType, Title};
use plotly::layout::{
    Annotation, Axis, AxisRange, AxisType, BarMode, HoverMode, Layout, Margin, Shape, ShapeLayer,
    ShapeLine, ShapeType, TicksDirection,
};

use super::chart::text;
use super::scale::{heading, place, ticks};
use super::view::{AxisView, Figure, Form, Rule};

/// The label of an axis with its unit.
pub(super) fn titled(axis: &AxisView, unit: &str) -> String {
    match (axis.label.as_str(), unit) {
        (label, "") => text(label),
        ("", unit) => text(unit),
        (label, unit) => text(&format!("{label}, {unit}")),
    }
}

/// The layout of lines or bars; `alone` if each bar is a curve.
pub(in crate::lab) fn layout(figure: &Figure, alone: bool) -> Layout {
    let places = || {
        let ours = figure
            .curves
            .iter()
            .flat_map(|c| c.points.iter().map(|v| v.x));
        let theirs = figure
            .references
            .iter()
            .flat_map(|r| r.points.iter().map(|p| p.0));
        ours.chain(theirs)
    };
    let heights = || {
        let ours = figure
            .curves
            .iter()
            .flat_map(|c| c.points.iter().map(|v| v.mid));
        let theirs = figure
            .references
            .iter()
            .flat_map(|r| r.points.iter().map(|p| p.1));
        ours.chain(theirs)
    };
    let values = axis(&figure.y, &figure.unit, heights());
    let layout = Layout::new()
        .auto_size(true)
        .show_legend(false)
        .hover_mode(HoverMode::Closest)
        .margin(Margin::new().top(26).right(16).bottom(48).left(56));
    if alone {
        // From the top down.
        let count = figure.curves.len() as f64;
        let names = Axis::new()
            .type_(AxisType::Category)
            .range(AxisRange::new(count - 0.5, -0.5))
            .show_grid(false)
            .auto_margin(true);
        let title = titled(&figure.y, &figure.unit).replacen(", ", "<br>", 1);
        return layout
            .x_axis(values.show_grid(true).title(Title::with_text(title)))
            .y_axis(names)
            .bar_mode(BarMode::Group);
    }
    let across = match figure.form {
        Form::Bars => Axis::new()
            .title(Title::with_text(text(heading(&figure.x))))
            .type_(AxisType::Category)
            .auto_margin(true),
        _ => with_ticks(
            axis(&figure.x, "", places()),
            few_places(&figure.x, places()),
        ),
    };
    let layout = layout
        .x_axis(across)
        .y_axis(values)
        .bar_mode(BarMode::Group);
    if figure.form == Form::Bars {
        return layout;
    }
    layout
        .shapes(figure.rules.iter().map(rule).collect())
        .annotations(
            figure
                .rules
                .iter()
                .map(|r| rule_label(r, figure.x.log))
                .collect(),
        )
}

/// An axis over `values`.
pub(super) fn axis(view: &AxisView, unit: &str, values: impl Iterator<Item = f64>) -> Axis {
    let (lo, hi) = values
        .filter(|value| !view.log || *value > 0.0)
        .fold((f64::INFINITY, 0f64), |(lo, hi), value| {
            (lo.min(value), hi.max(value))
        });
    let axis = Axis::new()
        .title(Title::with_text(titled(view, unit)))
        .zero_line(false)
        .ticks(TicksDirection::Outside)
        .tick_length(4)
        .auto_margin(true);
    let axis = if view.log {
        axis.type_(AxisType::Log)
    } else {
        axis
    };
    with_ticks(axis, ticks(view, lo, hi))
}

fn with_ticks(axis: Axis, ticks: Vec<(f64, String)>) -> Axis {
    if ticks.is_empty() {
        return axis;
    }
    let (places, texts) = ticks.into_iter().unzip();
    axis.tick_values(places).tick_text(texts)
}

/// A few places on a logarithmic axis, distances say, are ticks themselves.
fn few_places(view: &AxisView, values: impl Iterator<Item = f64>) -> Vec<(f64, String)> {
    let mut places: Vec<f64> = values.collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    if !view.log || view.bytes || places.len() > 9 {
        return Vec::new();
    }
    let texts = places
        .iter()
        .map(|&value| place(view, value))
        .collect::<Vec<_>>();
    places.into_iter().zip(texts).collect()
}

fn rule(rule: &Rule) -> Shape {
    Shape::new()
        .shape_type(ShapeType::Line)
        .layer(ShapeLayer::Below)
        .x_ref("x")
        .y_ref("paper")
        .x0(rule.x)
        .x1(rule.x)
        .y0(0)
        .y1(1)
        .line(
            ShapeLine::new()
                .color("--rule-color")
                .width(1.0)
                .dash(DashType::Dash),
        )
}

/// Unlike shapes, annotations want the logarithm on a logarithmic axis.
fn rule_label(rule: &Rule, log: bool) -> Annotation {
    Annotation::new()
        .text(text(&rule.label))
        .x_ref("x")
        .y_ref("paper")
        .x(if log { rule.x.log10() } else { rule.x })
        .y(1)
        .y_anchor(Anchor::Bottom)
        .show_arrow(false)
}
