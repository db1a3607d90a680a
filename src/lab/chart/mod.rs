//! Charts as SVG, drawn when the page is built, so that they are readable without a script.
//!
//! A [`Drawing`] is plain data. [`draw`] chooses its form: curves in one chart or in several small ones;
//! points in lanes if the horizontal axis is a list of things; or a map of cells if there are too many
//! curves or lanes. Only `chart.css` defines colours. The classes of a mark state its owner (`here`, `then`,
//! `model`, `m1`) and its series (`k0` to `k5`). `chart.js` makes the charts interactive. It reads the
//! places of the marks from the drawing, and their numbers from the tables of the figure.

mod cells;
mod lanes;
mod lines;
mod marks;
mod scale;

use maud::Markup;

use crate::order::{self, unique};
use crate::stats::Interval;

pub(in crate::lab) use cells::step_of;
pub(in crate::lab) use marks::definitions;
pub(in crate::lab) use scale::{heading, number, place, range};

pub(in crate::lab) const STYLE: &str = include_str!("chart.css");
pub(in crate::lab) const SCRIPT: &str = include_str!("chart.js");

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AxisView {
    /// Label, without the unit.
    pub label: String,
    /// Whether the axis is logarithmic.
    pub log: bool,
    /// Whether the values are bytes.
    pub bytes: bool,
}

impl AxisView {
    fn titled(&self, unit: &str) -> String {
        match (self.label.as_str(), unit) {
            (label, "") => label.to_owned(),
            ("", unit) => unit.to_owned(),
            (label, unit) => format!("{label}, {unit}"),
        }
    }
}

/// A value with its 95 % interval; of points of several passes, with the range of all passes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    pub x: f64,
    pub lo: f64,
    /// The value.
    pub mid: f64,
    pub hi: f64,
}

impl Value {
    pub fn at(x: f64, value: Interval) -> Self {
        Value { x, lo: value.lo, mid: value.center(), hi: value.hi }
    }

    /// Creates a value without a known interval.
    pub const fn exact(x: f64, mid: f64) -> Self {
        Value { x, lo: mid, mid, hi: mid }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Label in the plot: `L2`.
    pub label: String,
    /// Meaning, for the caption: `L2 1 MiB, measured`.
    pub meaning: String,
    pub x: f64,
}

/// The data of a chart.
#[derive(Clone, Debug)]
pub struct Drawing<'a> {
    /// Title, for screen readers.
    pub title: &'a str,
    /// The shape that the experiment asks for.
    pub shape: Shape<'a>,
    pub x: &'a AxisView,
    /// The axis of the values.
    pub y: &'a AxisView,
    /// The unit of the values; may be empty.
    pub unit: &'a str,
    /// Nanoseconds per core cycle, if known.
    pub ns_per_cycle: Option<f64>,
    pub owners: Vec<Owner<'a>>,
    pub series: Vec<Series<'a>>,
    pub rules: &'a [Rule],
}

/// The shape of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape<'a> {
    /// One line per series.
    Lines,
    /// One bar per series and place.
    Bars,
    /// One cell per series and place. The labels of the series are places on an axis of this name.
    Cells(&'a str),
}

/// The owner of series: a machine, a document or a model.
#[derive(Clone, Debug)]
pub struct Owner<'a> {
    pub name: &'a str,
    /// Role, which determines the colour.
    pub role: Role,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// This machine.
    Here,
    /// A machine of a document, counted from 0.
    Then(usize),
    Model,
    /// The median of this machine's points over time.
    Median,
    /// Points of this machine far from its median.
    Outside,
    /// A machine among several, counted from 0.
    Machine(usize),
}

impl Role {
    /// Returns the class by which `chart.css` colours the role.
    fn class(self) -> String {
        const THEN: [&str; 3] = ["then", "then then2", "then then3"];
        match self {
            Role::Here => "here".to_owned(),
            Role::Then(index) => THEN[index % THEN.len()].to_owned(),
            Role::Model => "model".to_owned(),
            Role::Median => "here median".to_owned(),
            Role::Outside => "outside".to_owned(),
            Role::Machine(index) => format!("m{}", index % 6 + 1),
        }
    }
}

/// The points of one owner under one label.
#[derive(Clone, Debug)]
pub struct Series<'a> {
    /// Index of the owner.
    pub owner: usize,
    /// Label. Series with the same label belong together.
    pub label: &'a str,
    /// Points, in ascending order of x.
    pub points: Vec<Value>,
    /// Table of the figure, and column of the table, that contain the numbers. If `None`, the chart itself
    /// contains them.
    pub column: Option<(usize, usize)>,
}

/// Number of series of a chart by default. More series are divided among small charts.
const FEW: usize = 5;

/// Maximum number of lanes of a chart. More lanes become cells.
const LANES: usize = 44;

impl<'a> Drawing<'a> {
    /// Returns the labels, each once, in the order in which they first occur.
    fn labels(&self) -> Vec<&'a str> {
        unique(self.series.iter().map(|series| series.label))
    }

    /// Returns the places on the horizontal axis in ascending order, each once.
    fn places(&self) -> Vec<f64> {
        let points = self.series.iter().flat_map(|series| &series.points);
        order::distinct_numbers(points.map(|value| value.x).filter(|x| x.is_finite()))
    }

    fn role(&self, series: &Series<'_>) -> Role {
        self.owners.get(series.owner).map_or(Role::Here, |owner| owner.role)
    }

    fn with(&self, series: Vec<Series<'a>>) -> Self {
        Drawing { series, ..self.clone() }
    }

    /// Returns whether the horizontal axis is a list of things, so that lines between them would mean
    /// nothing.
    fn is_list(&self) -> bool {
        let places = self.places().len();
        let named = heading(self.x).is_empty() && !self.x.label.is_empty();
        self.shape == Shape::Bars
            || named
            || places <= if self.x.bytes || self.x.log { 2 } else { 3 }
    }
}

/// Draws the chart with its legend.
pub fn draw(drawing: &Drawing<'_>) -> Markup {
    let (labels, places) = (drawing.labels().len(), drawing.places().len());
    let crowded = labels > 2 * FEW && places <= FEW;
    let many = crowded || labels * places > LANES;
    match drawing.shape {
        Shape::Cells(depth) => cells::draw(drawing, depth),
        _ if drawing.is_list() && many => cells::draw(drawing, ""),
        Shape::Lines if crowded => cells::draw(drawing, ""),
        Shape::Lines | Shape::Bars if drawing.is_list() => lanes::draw(drawing),
        Shape::Lines | Shape::Bars => lines::draw(drawing),
    }
}
