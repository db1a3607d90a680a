//! Bars: upright over several places, lying down where each curve is one number.

use plotly::common::{HoverInfo, Marker, Orientation, TextAnchor, TextPosition};
use plotly::{Bar, Plot};

use super::chart::{Entry, Group, colour, error_bars, faint_hover, hover, text};
use super::scale::{number, place};
use super::view::{CurveView, Figure, ReferenceView, Value};

/// A bar a place, beside those of the other curves.
pub(super) fn bars(figure: &Figure, curve: &CurveView, slot: usize) -> Box<Bar<String, f64>> {
    let names = curve.points.iter().map(|value| place(&figure.x, value.x));
    let heights = curve.points.iter().map(|value| value.mid);
    Bar::new(names.collect(), heights.collect())
        .name(text(&curve.label))
        .marker(Marker::new().color(colour(slot)))
        .error_y(error_bars(curve, "--ink".to_owned()))
        .hover_info(HoverInfo::Text)
        .hover_text_array(hover(figure, curve))
}

/// The same for a curve of the source.
pub(super) fn faint_bars(
    figure: &Figure,
    reference: &ReferenceView,
    slot: usize,
) -> Box<Bar<String, f64>> {
    let names = reference
        .points
        .iter()
        .map(|point| place(&figure.x, point.0));
    let heights = reference.points.iter().map(|point| point.1);
    Bar::new(names.collect(), heights.collect())
        .name(text(&reference.label))
        .opacity(0.35)
        .marker(Marker::new().color(colour(slot)))
        .hover_info(HoverInfo::Text)
        .hover_text_array(faint_hover(figure, reference))
}

/// Whether all curves have a single point, at the same x.
pub(super) fn only_one_x(figure: &Figure) -> bool {
    let mut places = figure.curves.iter().flat_map(|curve| &curve.points);
    let first = places.next().map(|value| value.x);
    first.is_some_and(|first| places.all(|value| value.x == first))
}

/// A horizontal bar a curve, with the curves' labels along the vertical axis: one trace a machine.
pub(super) fn bars_of_one_x(figure: &Figure, plot: &mut Plot) -> Vec<Group> {
    let label = |label: &str| wrapped(&text(label));
    let values: Vec<Value> = figure
        .curves
        .iter()
        .filter_map(|curve| curve.points.first().copied())
        .collect();
    let names = figure.curves.iter().map(|curve| label(&curve.label));
    let hovers = figure.curves.iter().flat_map(|curve| hover(figure, curve));
    let whole = CurveView {
        label: String::new(),
        points: values,
    };
    let bars = Bar::new(
        whole.points.iter().map(|value| value.mid).collect(),
        names.collect(),
    )
    .orientation(Orientation::Horizontal)
    .marker(Marker::new().color(colour(0)))
    .error_x(error_bars(&whole, "--ink".to_owned()))
    .text_array(whole.points.iter().map(|value| number(value.mid)).collect())
    .text_position(TextPosition::Auto)
    .inside_text_anchor(TextAnchor::Start)
    .hover_info(HoverInfo::Text)
    .hover_text_array(hovers.collect());
    plot.add_trace(bars);
    let group = |who: &str, trace, faint| Group {
        who: String::new(),
        faint,
        entries: vec![Entry {
            trace,
            label: who.to_owned(),
            slot: 1,
            dashed: false,
        }],
    };
    let mut groups = vec![group("this machine", 0, false)];
    let mut machines: Vec<&str> = figure
        .references
        .iter()
        .map(|reference| reference.machine.as_str())
        .collect();
    machines.dedup();
    for machine in machines {
        let theirs = || {
            figure
                .references
                .iter()
                .filter(move |reference| reference.machine == machine)
                .filter_map(|reference| Some((reference, reference.points.first()?.1)))
        };
        let bars = Bar::new(
            theirs().map(|(_, value)| value).collect(),
            theirs().map(|(curve, _)| label(&curve.label)).collect(),
        )
        .orientation(Orientation::Horizontal)
        .opacity(0.35)
        .marker(Marker::new().color(colour(0)))
        .hover_info(HoverInfo::Text)
        .hover_text_array(
            theirs()
                .flat_map(|(curve, _)| faint_hover(figure, curve))
                .collect(),
        );
        plot.add_trace(bars);
        groups.push(group(machine, groups.len(), true));
    }
    groups
}

/// Broken into lines of twenty characters or so, at spaces.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("never empty");
        if line.is_empty() {
            line.push_str(word);
        } else if line.len() + word.len() < 20 {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines.join("<br>")
}
