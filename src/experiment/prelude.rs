//! Names that experiments and their set-ups use.

pub(crate) use crate::mem::{LINE, PAGE, Region};
pub(crate) use crate::prelude::*;
pub(crate) use crate::stats::Interval;

pub(crate) use super::claim::paired::{paired, paired_at, paired_points, slowdown};
pub(crate) use super::claim::reading::{minus, plus, ratio, signed_ratio};
pub(crate) use super::claim::verdict::{LESS, LONGER};
pub(crate) use super::{
    Axis, Basis, Capacity, Case, Claim, Context, CpuOrder, Curve, Evidence, Experiment, Forecast,
    Judged, Judgement, Machine, Model, PENTIUM_4, Parameters, Pass, Plot, Range, Reading,
    Reference, Run, SampleOf, Setup, Shape, Shown, State, Testable, Timing, Touches, Unit,
    Untestable, Verdict, Workload, all_of, at_least, at_most, between, computed, counted, drepper,
    events, measured, noted, ours, reported, seen, sestoft, side_by_side, simulated, startin,
    tensor,
};
