//! Lines and bars as a plotly chart, and the legend that switches them.
//!
//! Colours are names of CSS custom properties (`--series-1`); the page's script puts the values
//! of the theme in force in their place.

use plotly::common::{DashType, ErrorData, ErrorType, HoverInfo, Line, Marker, MarkerSymbol, Mode};
use plotly::{Plot, Scatter};

use super::axes::layout;
use super::bars::{bars, bars_of_one_x, faint_bars, only_one_x};
use super::scale::{number, place};
use super::view::{CurveView, Figure, Form, ReferenceView, Value};

/// Series colours that `style.css` defines; further series repeat them with another symbol.
pub(in crate::lab) const SLOTS: usize = 8;

/// A chart ready for the page.
#[derive(Debug)]
pub(in crate::lab) struct Chart {
    /// What plotly draws.
    pub(in crate::lab) json: String,
    /// The legend, group by group.
    pub(in crate::lab) legend: Vec<Group>,
}

/// The traces of one machine.
#[derive(Debug)]
pub(in crate::lab) struct Group {
    /// The machine.
    pub(in crate::lab) who: String,
    /// Whether it is the document's, drawn faint.
    pub(in crate::lab) faint: bool,
    /// The traces.
    pub(in crate::lab) entries: Vec<Entry>,
}

/// A trace in the legend.
#[derive(Debug)]
pub(in crate::lab) struct Entry {
    /// Its index among the chart's traces.
    pub(in crate::lab) trace: usize,
    /// Its label.
    pub(in crate::lab) label: String,
    /// Its colour, from 1.
    pub(in crate::lab) slot: usize,
    /// Whether the colour has its second turn.
    pub(in crate::lab) dashed: bool,
}

/// Draws lines or bars.
pub(in crate::lab) fn draw(figure: &Figure) -> Chart {
    let mut plot = Plot::new();
    let alone = figure.form == Form::Bars && only_one_x(figure);
    let legend = if alone {
        bars_of_one_x(figure, &mut plot)
    } else {
        traces(figure, &mut plot)
    };
    plot.set_layout(layout(figure, alone));
    Chart {
        json: plot.to_json(),
        legend,
    }
}

/// A trace a curve: this machine's first, then those of the source, machine by machine.
fn traces(figure: &Figure, plot: &mut Plot) -> Vec<Group> {
    let mut ours = Group {
        who: "this machine".to_owned(),
        faint: false,
        entries: Vec::new(),
    };
    for (slot, curve) in figure.curves.iter().enumerate() {
        match figure.form {
            Form::Bars => plot.add_trace(bars(figure, curve, slot)),
            _ => plot.add_trace(line(figure, curve, slot)),
        }
        ours.entries.push(Entry {
            trace: slot,
            label: curve.label.clone(),
            slot: slot % SLOTS + 1,
            dashed: slot >= SLOTS,
        });
    }
    let mut groups = vec![ours];
    for (index, reference) in figure.references.iter().enumerate() {
        let slot = slot_of(figure, reference, index);
        match figure.form {
            Form::Bars => plot.add_trace(faint_bars(figure, reference, slot)),
            _ => plot.add_trace(dots(figure, reference, slot)),
        }
        let entry = Entry {
            trace: figure.curves.len() + index,
            label: reference.label.clone(),
            slot: slot % SLOTS + 1,
            dashed: slot >= SLOTS,
        };
        match groups
            .iter_mut()
            .find(|group| group.who == reference.machine)
        {
            Some(group) => group.entries.push(entry),
            None => groups.push(Group {
                who: reference.machine.clone(),
                faint: true,
                entries: vec![entry],
            }),
        }
    }
    groups.extend(predicted(figure, plot));
    groups
}

/// Dashed lines, or paler bars, in the colours of the curves that they predict; behind all others.
fn predicted(figure: &Figure, plot: &mut Plot) -> Option<Group> {
    let prediction = figure.prediction.as_ref()?;
    if prediction.curves.is_empty() {
        return None;
    }
    let first = figure.curves.len() + figure.references.len();
    let mut group = Group {
        who: "predicted".to_owned(),
        faint: false,
        entries: Vec::new(),
    };
    for (index, curve) in prediction.curves.iter().enumerate() {
        let drawn = figure.curves.iter();
        let slot = drawn.clone().position(|of| of.label == curve.label)?;
        let named = CurveView {
            label: format!("predicted: {}", curve.label),
            points: curve.points.clone(),
        };
        match figure.form {
            Form::Bars => plot.add_trace(bars(figure, &named, slot).opacity(0.5)),
            _ => plot.add_trace(dashes(figure, &named, slot)),
        }
        group.entries.push(Entry {
            trace: first + index,
            label: curve.label.clone(),
            slot: slot % SLOTS + 1,
            dashed: true,
        });
    }
    Some(group)
}

fn dashes(figure: &Figure, curve: &CurveView, slot: usize) -> Box<Scatter<f64, f64>> {
    let (x, y) = curve
        .points
        .iter()
        .map(|value| (value.x, value.mid))
        .unzip();
    Scatter::new(x, y)
        .name(text(&curve.label))
        .mode(Mode::Lines)
        .line(
            Line::new()
                .color(colour(slot))
                .width(1.5)
                .dash(DashType::Dash),
        )
        .hover_info(HoverInfo::Text)
        .hover_text_array(hover(figure, curve))
}

/// A curve of the source has the colour of our curve with the same label, or else its own turn.
fn slot_of(figure: &Figure, reference: &ReferenceView, index: usize) -> usize {
    figure
        .curves
        .iter()
        .position(|curve| curve.label == reference.label)
        .unwrap_or(index)
}

fn line(figure: &Figure, curve: &CurveView, slot: usize) -> Box<Scatter<f64, f64>> {
    let (x, y) = curve
        .points
        .iter()
        .map(|value| (value.x, value.mid))
        .unzip();
    Scatter::new(x, y)
        .name(text(&curve.label))
        .mode(Mode::LinesMarkers)
        .line(Line::new().color(colour(slot)).width(2.0).dash(dash(slot)))
        .marker(
            Marker::new()
                .color(colour(slot))
                .size(6)
                .symbol(symbol(slot)),
        )
        .error_y(error_bars(curve, colour(slot)))
        .hover_info(HoverInfo::Text)
        .hover_text_array(hover(figure, curve))
}

fn dots(figure: &Figure, reference: &ReferenceView, slot: usize) -> Box<Scatter<f64, f64>> {
    let (x, y) = reference.points.iter().copied().unzip();
    Scatter::new(x, y)
        .name(text(&reference.label))
        .mode(Mode::Lines)
        .opacity(0.55)
        .line(
            Line::new()
                .color(colour(slot))
                .width(1.5)
                .dash(DashType::Dot),
        )
        .hover_info(HoverInfo::Text)
        .hover_text_array(faint_hover(figure, reference))
}

pub(in crate::lab) fn colour(slot: usize) -> String {
    format!("--series-{}", slot % SLOTS + 1)
}

/// Series differ in their symbol too, for those who cannot tell the colours apart.
pub(in crate::lab) fn symbol(slot: usize) -> MarkerSymbol {
    match slot % 5 {
        0 => MarkerSymbol::Circle,
        1 => MarkerSymbol::Square,
        2 => MarkerSymbol::Diamond,
        3 => MarkerSymbol::TriangleUp,
        _ => MarkerSymbol::TriangleDown,
    }
}

/// The second turn of the colours is dashed.
fn dash(slot: usize) -> DashType {
    match slot / SLOTS % 2 {
        0 => DashType::Solid,
        _ => DashType::Dash,
    }
}

pub(in crate::lab) fn error_bars(curve: &CurveView, colour: String) -> ErrorData {
    let ends = |end: fn(&Value) -> f64| curve.points.iter().map(end).collect();
    ErrorData::new(ErrorType::Data)
        .symmetric(false)
        .array(ends(|value| value.hi - value.mid))
        .array_minus(ends(|value| value.mid - value.lo))
        .color(colour)
        .thickness(1.5)
        .width(2)
}

pub(in crate::lab) fn hover(figure: &Figure, curve: &CurveView) -> Vec<String> {
    let line = |value: &Value| {
        format!(
            "{} at {}<br><b>{}</b> {}<br>95 % interval {} to {}",
            text(&curve.label),
            place(&figure.x, value.x),
            number(value.mid),
            text(&figure.unit),
            number(value.lo),
            number(value.hi),
        )
    };
    curve.points.iter().map(line).collect()
}

pub(in crate::lab) fn faint_hover(figure: &Figure, reference: &ReferenceView) -> Vec<String> {
    let line = |&(x, y): &(f64, f64)| {
        format!(
            "{}: {} at {}<br><b>{}</b> {}",
            text(&reference.machine),
            text(&reference.label),
            place(&figure.x, x),
            number(y),
            text(&figure.unit),
        )
    };
    reference.points.iter().map(line).collect()
}

/// Text that plotly, which reads a little HTML, shows as it is.
pub(in crate::lab) fn text(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
