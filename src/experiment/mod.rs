//! The claims of the source documents as data: cases, kernels, verdicts.
//!
//! An [`Experiment`] defines what varies, what is measured and which claims follow. It is defined once
//! and has several users: the [`Rig`] measures its cases for the lab, Criterion times the same cases in
//! the benches, and their kernels yield traces for simulators. Experiments print and draw nothing.

pub mod baseline;
pub mod claim;
pub mod events;
pub mod quality;
pub mod shared;
pub mod topics;

mod case;
#[cfg(feature = "std")]
mod linux;
mod machine;
mod point;
mod prediction;
mod prelude;
mod rig;
mod sync;
mod untestable;

pub use crate::experiment::baseline::calibrating;
pub use crate::experiment::baseline::ladder::{
    LADDER, LAPS, SPARSE, ladder_limit, rung_of, sparse_of_pass,
};
pub use crate::experiment::claim::evidence::{Curve, Evidence};
pub use crate::experiment::claim::reading::{Reading, Value};
pub use crate::experiment::claim::statement::{
    Claim, Document, Kind, Origin, Then, computed, counted, drepper, measured, ours, reported,
    sestoft, simulated, startin, tensor,
};
pub use crate::experiment::claim::takeaway::{Shown, Takeaway, Touches};
pub use crate::experiment::claim::verdict::{
    Judged, Judgement, Verdict, all_of, at_least, at_most, between, noted,
};
pub use crate::experiment::events::{Count, Counting};
pub use crate::experiment::machine::calibration::{Calibration, Left, ROUND_TRIP, Reach, Stream};
pub use crate::experiment::machine::cpu_order::{CpuOrder, Placement};
pub use crate::experiment::machine::predict::{Basis, Forecast, Model, Parameters};
pub use crate::experiment::machine::ranges::{Capacity, Range, Ranges, Rung, steps};
pub use crate::experiment::quality::doubt::{Doubt, Residence, possible};
pub use crate::experiment::quality::passes::mark_remote;

pub(crate) use crate::experiment::quality::passes::side_by_side;
pub use crate::experiment::quality::passes::{merged, merged_by_number};
pub use crate::experiment::quality::{Judging, LOOKS};
pub use crate::experiment::rig::arena::Arena;
pub use crate::experiment::rig::prepared::PreparedCase;
use crate::prelude::*;
pub use case::{Case, Context, LapsFrom, PageRequest, Run, SampleOf, Setup, Timing, Workload};
#[cfg(feature = "std")]
pub use linux::Linux;
pub use machine::Machine;
pub use point::distribution::{Distribution, Percentile, in_words};
pub use point::pass::{Pass, Quality, ThreadStats};
pub use point::{Confidence, Measured, Point, Priors, State, Unit};
pub use prediction::{Compared, Outcome, Prediction, prediction};
pub use rig::{Effort, Rig};
pub use topics::{Named, all, find, find_claim, nearest};
pub use untestable::{Testable, Untestable};

use crate::pmu::Quantity;
use case::Cases;

/// An experiment: a figure, table or claim of a source document, or a question of our own.
#[derive(Debug)]
pub struct Experiment {
    /// The permanent id: `D14`.
    pub id: &'static str,
    /// The name: `drepper-fig-3.10`.
    pub name: &'static str,
    /// A title for readers.
    pub title: &'static str,
    /// The question in a sentence.
    pub question: &'static str,
    /// Document, section and figure.
    pub source: &'static str,
    /// What the hardware does, whatever the verdicts.
    pub about: &'static str,
    /// Observations on particular cores.
    pub seen: &'static [Seen],
    /// How the points are drawn, if they are.
    pub plot: Option<Plot>,
    /// The cases measured on this machine, in order.
    pub cases: Cases,
    /// The function that returns the curves to draw from the points.
    pub curves: fn(&Evidence<'_>) -> Vec<Curve>,
    /// The events counted beside each time where possible, to explain the times.
    pub events: &'static [Quantity],
    /// The claims of the source, as code.
    pub claims: &'static [Claim],
}

impl Experiment {
    /// The defaults of an experiment: no note on a core, no plot, a curve per series, no events.
    pub(crate) const PLAIN: Experiment = Experiment {
        id: "",
        name: "",
        title: "",
        question: "",
        source: "",
        about: "",
        seen: &[],
        plot: None,
        cases: |_| Vec::new(),
        curves: |e| e.curves(),
        events: &[],
        claims: &[],
    };

    /// Whether any of its claims is measured or counted on this machine. Otherwise arithmetic, the
    /// simulator or CPUID decide all claims.
    pub fn is_of_this_machine(&self) -> bool {
        self.claims.iter().any(|claim| claim.kind.is_of_this_machine())
    }

    /// Returns the unit of the points: the plot's unit, or core cycles if there is no plot or if the
    /// plot shows percentages or plain quotients of points.
    pub fn unit(&self) -> Unit {
        match self.plot.map(|plot| plot.unit) {
            None | Some(Unit::Percent | Unit::Count) => Unit::CoreCycles,
            Some(unit) => unit,
        }
    }
}

/// An observation on one core, printed under the core's name on every machine.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// The core, as named in the table of cores.
    pub core: &'static str,
    /// The observation.
    pub text: &'static str,
}

/// Returns an observation on `core`.
pub const fn seen(core: &'static str, text: &'static str) -> Seen {
    Seen { core, text }
}

/// How the points of an experiment are drawn.
#[derive(Clone, Copy, Debug)]
pub struct Plot {
    /// The shape.
    pub shape: Shape,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The unit of the vertical axis: points are converted to it.
    pub unit: Unit,
    /// The source's own numbers, drawn beside ours.
    pub reference: &'static [Reference],
}

impl Plot {
    /// Returns a plot with a line per series, without the source's own numbers.
    pub const fn lines(x: Axis, y: Axis, unit: Unit) -> Self {
        Plot { shape: Shape::Lines, x, y, unit, reference: &[] }
    }

    /// Returns a plot with a bar per series and x, without the source's own numbers.
    pub const fn bars(x: Axis, y: Axis, unit: Unit) -> Self {
        Plot { shape: Shape::Bars, ..Self::lines(x, y, unit) }
    }

    /// Returns a plot with a line per series, in core cycles per operation.
    pub const fn cycles(x: Axis, y: Axis) -> Self {
        Self::lines(x, y, Unit::CoreCycles)
    }

    /// Returns a plot with a line per series, in nanoseconds per operation.
    pub const fn nanoseconds(x: Axis, y: Axis) -> Self {
        Self::lines(x, y, Unit::Nanoseconds)
    }

    /// Adds the source's own numbers.
    pub const fn beside(self, reference: &'static [Reference]) -> Self {
        Plot { reference, ..self }
    }

    /// Returns a plot of core cycles over the working set, both axes logarithmic, as in most of
    /// Drepper's figures.
    pub const fn over_working_set(reference: &'static [Reference]) -> Option<Self> {
        Some(Self::cycles(Axis::WORKING_SET, Axis::log("time")).beside(reference))
    }
}

/// The shape of a plot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A line per series.
    Lines,
    /// A bar per series and x.
    Bars,
    /// A surface. x is the horizontal axis; the labels of the series are the numbers of the depth axis.
    Surface {
        /// Label of the depth axis.
        depth: &'static str,
    },
    /// A colour per x and series. The labels of the series are the numbers of the depth axis.
    Heat {
        /// Label of the depth axis.
        depth: &'static str,
        /// Whether the mirrored half has the same values and is not measured.
        mirrored: bool,
    },
}

/// An axis.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    /// The label, without the unit.
    pub label: &'static str,
    /// Whether the axis is logarithmic.
    pub log: bool,
    /// Whether the values are bytes, so that cache sizes can be drawn as rules.
    pub bytes: bool,
}

impl Axis {
    /// A logarithmic axis of working sets.
    pub const WORKING_SET: Axis = Axis::bytes("working set");

    /// Returns a logarithmic axis of bytes.
    pub const fn bytes(label: &'static str) -> Self {
        Axis { label, log: true, bytes: true }
    }

    /// Returns a logarithmic axis of plain numbers.
    pub const fn log(label: &'static str) -> Self {
        Axis { label, log: true, bytes: false }
    }

    /// Returns a linear axis of plain numbers.
    pub const fn linear(label: &'static str) -> Self {
        Axis { label, log: false, bytes: false }
    }
}

/// Curves of the source, from a file in `reference/`.
#[derive(Clone, Copy, Debug)]
pub struct Reference {
    /// The file's name.
    pub file: &'static str,
    /// The machine on which it was measured.
    pub machine: &'static str,
    /// The column of x.
    pub x: &'static str,
    /// The columns of y, each with the label to draw it under.
    pub columns: &'static [(&'static str, &'static str)],
}

/// The machine of most figures of Drepper's section 3.3.
pub(crate) const PENTIUM_4: &str = "Pentium 4, 64-bit, 16 KiB L1d, 1 MiB L2 (2007)";
