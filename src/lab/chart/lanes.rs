//! Points in horizontal lanes, for a horizontal axis that is a list of things. There is one lane per place
//! and label, with the numbers of all owners on it.

use maud::{Markup, html};

use super::marks::{self, Path, group, lane_name, px, width, with_room, wrapped};
use super::scale::Scale;
use super::{Drawing, Role, Series, Value, heading, place};
use crate::order;

const WIDE: f64 = 540.0;
const RIGHT: f64 = 518.0;
const TOP: f64 = 22.0;

/// Factor by which letters are larger on a narrow screen.
const LARGER: f64 = 1.1;

/// Height of a line of text.
const LINE: f64 = 16.0;
/// Height of a lane in addition to its text.
const AROUND: f64 = 6.0;

/// A lane: its lines of text, and its vertical position.
struct Lane {
    text: Vec<String>,
    y: f64,
}

/// The lanes of a drawing, with headings between them.
struct Lanes {
    /// The place, the index of the label, and the lane.
    lanes: Vec<(f64, usize, Lane)>,
    headings: Vec<Lane>,
    bottom: f64,
}

impl Lanes {
    /// Lays out the lanes. If a place has several labels, each place has a heading, and its lanes have the
    /// labels as names. Otherwise the name of a lane is its label, its place, or both.
    fn of(drawing: &Drawing<'_>) -> Self {
        let (labels, places) = (drawing.labels(), drawing.places());
        let has = |x: f64, label: &str| {
            let mut series = drawing.series.iter().filter(|series| series.label == label);
            series.any(|series| series.points.iter().any(|value| value.x == x))
        };
        let (labels, count) = (&labels, places.len());
        let there = |x: f64| (0..labels.len()).filter(move |&index| has(x, labels[index]));
        let headed = count > 1 && labels.len() > 1 && places.iter().any(|&x| there(x).count() > 1);
        let mut all = Lanes { lanes: Vec::new(), headings: Vec::new(), bottom: TOP };
        for x in places {
            let name = place(drawing.x, x);
            if headed {
                let text = match heading(drawing.x) {
                    "" => name.clone(),
                    axis => format!("{axis}: {name}"),
                };
                all.bottom += AROUND;
                let y = all.step(1);
                all.headings.push(Lane { text: vec![text], y });
            }
            for index in there(x) {
                let text = match (headed || count == 1, labels.len()) {
                    (true, _) => labels[index].to_owned(),
                    (false, 1) => name.clone(),
                    (false, _) => format!("{}, {name}", labels[index]),
                };
                let text = wrapped(&text, 30);
                let y = all.step(text.len());
                all.lanes.push((x, index, Lane { text, y }));
            }
        }
        all
    }

    /// Reserves the next lane, for this many lines of text, and returns its middle.
    fn step(&mut self, lines: usize) -> f64 {
        let height = LINE * lines as f64 + AROUND;
        self.bottom += height;
        self.bottom - height / 2.0
    }

    fn at(&self, x: f64, label: usize) -> Option<f64> {
        let mut lanes = self.lanes.iter();
        let (_, _, lane) = lanes.find(|(place, index, _)| *place == x && *index == label)?;
        Some(lane.y)
    }
}

/// Draws the lanes with their legend.
pub(super) fn draw(drawing: &Drawing<'_>) -> Markup {
    let lanes = Lanes::of(drawing);
    let texts = lanes.lanes.iter().flat_map(|(_, _, lane)| &lane.text);
    let widest = texts.map(|text| width(text)).fold(40.0, f64::max);
    let left = LARGER * widest + 10.0;
    let points = drawing.series.iter().flat_map(|series| &series.points);
    let over = Scale::of_values(drawing.y, points, left, RIGHT);
    let high = lanes.bottom + 24.0;
    let labels = drawing.labels();
    let index = |series: &Series<'_>| labels.iter().position(|label| *label == series.label);
    // This machine is drawn last, in front of the others.
    let mut order: Vec<&Series<'_>> = drawing.series.iter().collect();
    order::by_key(&mut order, |series| drawing.role(series) == Role::Here);
    html! {
        div.chart {
            svg.lanes viewBox=(format!("0 0 {WIDE} {}", px(high))) role="img"
                aria-label=(drawing.title)
                data-v="x" data-s=(over.for_script()) data-u=(drawing.unit)
                data-ns=[drawing.ns_per_cycle.map(|ns| format!("{ns:.6}"))]
            {
                (values(drawing, &over, lanes.bottom))
                @for lane in &lanes.headings {
                    text.head x="0" y=(px(lane.y + 5.0)) { (lane.text.join(" ")) }
                }
                @for (_, _, lane) in &lanes.lanes {
                    (lane_name(&lane.text, left - 10.0, lane.y, LINE))
                }
                @for series in order {
                    (lane_marks(drawing, series, index(series).unwrap_or(0), &lanes, &over))
                }
            }
            (marks::owners(drawing))
        }
    }
}

/// Draws the horizontal axis of the values: its title, its ticks, and grid lines through all lanes.
fn values(drawing: &Drawing<'_>, over: &Scale, bottom: f64) -> Markup {
    let mut grid = Path::default();
    let ticks = over.ticks(drawing.y);
    for (x, _) in &ticks {
        grid.upright(*x, TOP, bottom);
    }
    html! {
        text.title.end x=(px(RIGHT)) y="14" { (drawing.y.titled(drawing.unit)) }
        g.ticks.mid {
            path.grid d=(grid.data()) {}
            @for (x, text) in with_room(ticks) { text x=(px(x)) y=(px(bottom + 16.0)) { (text) } }
        }
    }
}

/// Draws the marks of a series. This machine's values are bars from the start of the axis. The bars are thin
/// if the axis does not start at zero.
fn lane_marks(
    drawing: &Drawing<'_>,
    series: &Series<'_>,
    index: usize,
    lanes: &Lanes,
    over: &Scale,
) -> Markup {
    let own = drawing.role(series) == Role::Here;
    let (mut bars, mut marks, mut whiskers) = (Path::default(), Path::default(), Path::default());
    let at = |value: &Value| Some((over.place(value.mid)?, lanes.at(value.x, index)?));
    for value in &series.points {
        let Some((x, y)) = at(value) else { continue };
        if own {
            bars.level(y, over.from, x);
        }
        match drawing.role(series) {
            Role::Model => marks.stroke(x, y, true),
            _ => marks.marker(x, y, 0),
        }
        let (low, high) = (over.within(value.lo), over.within(value.hi));
        if high - low > 9.0 {
            whiskers.level(y, low, high);
        }
    }
    let drawn = |value: &Value| at(value).is_some();
    let marks = html! {
        @if !bars.is_empty() { path.b.thin[over.value(0.0) != 0.0] d=(bars.data()) {} }
        @if !whiskers.is_empty() { path.e d=(whiskers.data()) {} }
        @if !marks.is_empty() { path.m d=(marks.data()) {} }
    };
    group(drawing, series, 0, &drawn, &marks)
}
