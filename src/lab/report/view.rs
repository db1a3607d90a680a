//! The content of a report as plain data, which can be rendered without a record or an experiment.

use crate::experiment::Outcome;
use crate::lab::answer::Summary;
use crate::lab::chart::Shape;
pub use crate::lab::chart::{AxisView, Rule, Value};
use crate::lab::record::VerdictLine;
use crate::lab::sheet::Row;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportView {
    pub summary: Summary,
    /// The date of the run, formatted.
    pub date: String,
    /// The duration of the run; empty if the run did not finish.
    pub duration: String,
    /// Warnings about conditions that change the answer, such as a run that was stopped early.
    pub warnings: Vec<String>,
    /// The topics of the notes, in a few words each.
    pub caveats: Vec<&'static str>,
    /// Whether the hardware prefetchers were switched off for the run.
    pub prefetchers_off: bool,
    /// The facts of the run: name and value.
    pub facts: Vec<(String, String)>,
    /// The notes that a reader must know before trusting the numbers.
    pub notes: Vec<String>,
    pub sheet: Vec<Row>,
    /// The experiments that were run.
    pub sections: Vec<Section>,
    /// Ids and titles of the experiments that were not run.
    pub not_run: Vec<(String, String)>,
    /// The accuracy of the predictions, if any point tests a model.
    pub predicted: Option<Outcome>,
}

impl ReportView {
    pub fn predictions(&self) -> impl Iterator<Item = (&Section, &PredictionView)> {
        self.sections.iter().filter_map(|section| {
            let prediction = section.figure.as_ref()?.prediction.as_ref()?;
            Some((section, prediction))
        })
    }

    /// Returns every claim with its section.
    pub fn claims(&self) -> impl Iterator<Item = (&Section, &VerdictLine)> {
        self.sections
            .iter()
            .flat_map(|section| section.claims.iter().map(move |claim| (section, claim)))
    }
}

/// An experiment that was run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// Id: `D14`.
    pub id: String,
    /// Name: `drepper-fig-3.10`.
    pub name: String,
    pub title: String,
    pub question: String,
    /// Document, section and figure.
    pub source: String,
    /// What the hardware does, independent of the verdicts.
    pub about: String,
    /// Names of cores, and the observations on each.
    pub seen: Vec<(String, String)>,
    /// The claims with their verdicts.
    pub claims: Vec<VerdictLine>,
    /// The figure, unless no point has a value.
    pub figure: Option<Figure>,
    /// The events counted beside the times, if any.
    pub counted: Option<CountedView>,
    /// The points that could not be tested.
    pub untestable: Vec<UntestableView>,
    /// The points in two steady states, in words.
    pub states: Vec<String>,
}

/// The points of a series that could not be tested for the same reason.
#[derive(Clone, Debug, PartialEq)]
pub struct UntestableView {
    pub series: String,
    pub points: usize,
    pub reason: String,
}

/// The events counted beside the times of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct CountedView {
    /// The figure, with a curve per series and quantity.
    pub figure: Figure,
    /// The quantities, each with the vendor's name of its event.
    pub events: Vec<(String, String)>,
    /// Whether some events shared a counter.
    pub multiplexed: bool,
}

/// The values of an experiment, and how they are drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    pub form: Form,
    /// The horizontal axis.
    pub x: AxisView,
    /// The vertical axis; for a map, the quantity that its colours show.
    pub y: AxisView,
    /// The unit of the vertical axis; may be empty.
    pub unit: String,
    /// Duration of a core cycle in nanoseconds, if known.
    pub ns_per_cycle: Option<f64>,
    /// The curves of this machine.
    pub curves: Vec<CurveView>,
    /// The curves of the document.
    pub references: Vec<ReferenceView>,
    /// Vertical rules.
    pub rules: Vec<Rule>,
    /// The prediction from the machine's parameters, if there is a model.
    pub prediction: Option<PredictionView>,
}

/// A prediction from the machine's parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct PredictionView {
    /// The predicted curves, with the labels of the measured curves.
    pub curves: Vec<CurveView>,
    /// The median of |predicted / measured - 1| over the points that test a model, if there are any.
    pub error: Option<f64>,
    /// Number of points that test a model.
    pub points: usize,
    /// Number of points that are predicted from their own quantity, and do not test a model.
    pub own_quantity: usize,
    /// The error up to which the prediction counts as good.
    pub bar: f64,
    pub models: Vec<String>,
    /// Effects that the models leave out, for the points that miss the bar.
    pub lacks: Vec<String>,
}

impl PredictionView {
    /// Returns whether the median error misses the bar.
    pub fn poor(&self) -> bool {
        self.error.is_some_and(|error| error > self.bar)
    }
}

/// How a figure is drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// A line per curve.
    #[default]
    Lines,
    /// A bar per curve and x.
    Bars,
    /// A map over two axes. The curves' labels are the values of the depth axis, and this text is its label.
    Surface(String),
    /// A map of pairs. The curves' labels and x values are the numbers of the paired things.
    Heat {
        /// The kind of thing that the labels number.
        depth: String,
        /// Whether a pair has the same value in both directions.
        mirrored: bool,
    },
    /// Not drawn: only a table.
    Table,
}

impl Form {
    /// Returns the shape of the chart; `None` for a table and for a map of pairs.
    pub(in crate::lab) fn shape(&self) -> Option<Shape<'_>> {
        match self {
            Form::Table | Form::Heat { .. } => None,
            Form::Lines => Some(Shape::Lines),
            Form::Bars => Some(Shape::Bars),
            Form::Surface(depth) => Some(Shape::Cells(depth)),
        }
    }
}

/// A curve of this machine.
#[derive(Clone, Debug, PartialEq)]
pub struct CurveView {
    pub label: String,
    /// Points from left to right.
    pub points: Vec<Value>,
}

/// A curve of the document.
#[derive(Clone, Debug, PartialEq)]
pub struct ReferenceView {
    pub label: String,
    /// The machine on which it was measured.
    pub machine: String,
    /// The source of the numbers.
    pub source: String,
    /// Points from left to right.
    pub points: Vec<(f64, f64)>,
}
