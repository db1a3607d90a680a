//! What a report shows, as plain data: no record and no experiment is needed to render it.

use crate::experiment::Outcome;
use crate::lab::answer::Summary;
use crate::lab::chart::Shape;
pub use crate::lab::chart::{AxisView, Rule, Value};
use crate::lab::record::VerdictLine;
use crate::lab::sheet::Row;

/// A whole report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportView {
    /// What a person takes away from it.
    pub summary: Summary,
    /// When the run began, in words.
    pub date: String,
    /// How long it took; empty if it did not come to its end.
    pub duration: String,
    /// What changes the answer: the run was stopped early, ...
    pub warnings: Vec<String>,
    /// What else stands in the notes, in a few words each.
    pub caveats: Vec<&'static str>,
    /// Whether the hardware prefetchers were switched off for the run.
    pub prefetchers_off: bool,
    /// What is known of the run: name and value.
    pub facts: Vec<(String, String)>,
    /// What a reader must know before trusting the numbers.
    pub notes: Vec<String>,
    /// The machine sheet.
    pub sheet: Vec<Row>,
    /// The experiments that were run.
    pub sections: Vec<Section>,
    /// Ids and titles of the experiments that were not.
    pub not_run: Vec<(String, String)>,
    /// What the predictions come to, if any point tests a model.
    pub predicted: Option<Outcome>,
}

impl ReportView {
    /// The sections with a prediction.
    pub fn predictions(&self) -> impl Iterator<Item = (&Section, &PredictionView)> {
        self.sections.iter().filter_map(|section| {
            let prediction = section.figure.as_ref()?.prediction.as_ref()?;
            Some((section, prediction))
        })
    }

    /// Every claim with its section.
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
    /// Title.
    pub title: String,
    /// The question.
    pub question: String,
    /// Document, section and figure.
    pub source: String,
    /// What the hardware does, whatever the verdicts are.
    pub about: String,
    /// Names of cores, and what was seen on each.
    pub seen: Vec<(String, String)>,
    /// The claims and what they come to.
    pub claims: Vec<VerdictLine>,
    /// Its numbers, unless no point has any.
    pub figure: Option<Figure>,
    /// What was counted beside its times, if anything was.
    pub counted: Option<CountedView>,
    /// The points that could not be tested.
    pub untestable: Vec<UntestableView>,
    /// The points in two steady states, in words.
    pub states: Vec<String>,
}

/// Points of one series that could not be tested, for one reason.
#[derive(Clone, Debug, PartialEq)]
pub struct UntestableView {
    /// The series.
    pub series: String,
    /// How many points.
    pub points: usize,
    /// The reason.
    pub reason: String,
}

/// What was counted beside the times of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct CountedView {
    /// A curve a series and what was counted of it.
    pub figure: Figure,
    /// What was counted, and the vendor's name of the event.
    pub events: Vec<(String, String)>,
    /// Whether some events shared a counter.
    pub multiplexed: bool,
}

/// The numbers of an experiment and how they are drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// The form.
    pub form: Form,
    /// The horizontal axis.
    pub x: AxisView,
    /// The vertical axis; of a map, what its colours show.
    pub y: AxisView,
    /// The unit of the vertical axis; may be empty.
    pub unit: String,
    /// How long a core cycle took, if it is known.
    pub ns_per_cycle: Option<f64>,
    /// The curves of this machine.
    pub curves: Vec<CurveView>,
    /// The curves of the source.
    pub references: Vec<ReferenceView>,
    /// Vertical rules.
    pub rules: Vec<Rule>,
    /// What the machine's parameters predict, if there is a model.
    pub prediction: Option<PredictionView>,
}

/// What the machine's parameters predict.
#[derive(Clone, Debug, PartialEq)]
pub struct PredictionView {
    /// The predicted curves, labelled as those that were measured.
    pub curves: Vec<CurveView>,
    /// The median of |predicted / measured - 1| over the points that test a model, if there are any.
    pub error: Option<f64>,
    /// How many points those are.
    pub points: usize,
    /// How many others are predicted from their own quantity.
    pub own_quantity: usize,
    /// The error up to which the prediction counts as good.
    pub bar: f64,
    /// The models it is from.
    pub models: Vec<String>,
    /// What they leave out of the points that miss the bar.
    pub lacks: Vec<String>,
}

impl PredictionView {
    /// Whether half of the points miss the bar.
    pub fn poor(&self) -> bool {
        self.error.is_some_and(|error| error > self.bar)
    }
}

/// How numbers are drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// A line a curve.
    #[default]
    Lines,
    /// A bar a curve and x.
    Bars,
    /// A map over two axes: the labels of the curves are the numbers of the depth axis, whose label this is.
    Surface(String),
    /// A map of pairs: the labels of the curves and their x are the numbers of what is paired.
    Heat {
        /// What the labels are the numbers of.
        depth: String,
        /// Whether what is known of a pair holds for its mirror image, too.
        mirrored: bool,
    },
    /// Not at all: a table alone.
    Table,
}

impl Form {
    /// The shape of its chart. A table alone and a map of pairs have none.
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
    /// Label.
    pub label: String,
    /// Points from left to right.
    pub points: Vec<Value>,
}

/// A curve of the source.
#[derive(Clone, Debug, PartialEq)]
pub struct ReferenceView {
    /// Label.
    pub label: String,
    /// The machine on which it was measured.
    pub machine: String,
    /// Where the numbers come from.
    pub source: String,
    /// Points from left to right.
    pub points: Vec<(f64, f64)>,
}
