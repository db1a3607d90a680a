//! The rows of each table.

use super::{Cell, Column, Kind, Row, What};
use crate::cpu::CacheKind;
use crate::experiment::{
    Axis, Experiment, Machine, Measured, Point, SPARSE, State, Unit, Untestable,
};
use crate::lab::analysis::{Analysis, ExperimentPoints, points_by_experiment};
use crate::lab::answer::{MachineName, machine_name};
use crate::lab::chart::Value;
use crate::lab::record::{EndLine, Header, PrefetchersLine, Record, RoundLine, VerdictLine};
use crate::lab::watch::Timeline;
use crate::recorded::{cache_of, core_of};
use crate::stats::Interval;
use Kind::{Number, Text, Whole};

/// The first columns of every table: the record that a row comes from.
const OF: [Column; 4] = [("record", Text), ("machine", Text), ("core", Text), ("host", Text)];

/// Columns of the rows of a kind, each with what gives its cell.
type Cells<F> = [(&'static str, Kind, F)];

const POINTS: &Cells<fn(&PointRow<'_>) -> Cell> = &[
    ("experiment", Text, |of| of.of.id.into()),
    ("name", Text, |of| of.of.experiment.map(|of| of.name).into()),
    ("series", Text, |of| of.point.series.as_str().into()),
    ("x", Number, |of| of.point.x.into()),
    ("x_name", Text, |of| axis_name(of.axis)),
    ("x_unit", Text, |of| axis_unit(of.axis)),
    ("outcome", Text, |of| match of.point.state {
        State::Measured(_) => "timed".into(),
        State::Counted(_) => "counted".into(),
        State::Untestable(_) => "untestable".into(),
    }),
    ("value", Number, |of| of.value().map(Interval::center).into()),
    ("lo", Number, |of| of.value().map(|value| value.lo).into()),
    ("hi", Number, |of| of.value().map(|value| value.hi).into()),
    ("unit", Text, |of| {
        let unit = of.in_unit.map(|(unit, _)| unit.label());
        unit.filter(|_| !matches!(of.point.state, State::Counted(_))).into()
    }),
    ("nanoseconds", Number, |of| {
        let rate = of.machine.rate;
        of.measured().and_then(|of| of.median(Unit::Nanoseconds, rate)).into()
    }),
    ("passes", Whole, |of| of.measured().map(|of| of.passes.len().max(1)).into()),
    ("samples", Whole, |of| of.measured().map(|of| of.ticks.n).into()),
    ("disturbed", Whole, |of| of.measured().map(|of| of.disturbed).into()),
    ("pages", Text, |of| of.measured().map(|of| of.pages.as_str()).into()),
    ("interrupts", Whole, |of| of.measured().and_then(|of| of.interrupts).into()),
    ("reason", Text, |of| match &of.point.state {
        State::Untestable(Untestable(reason)) => reason.as_str().into(),
        _ => Cell::Nothing,
    }),
];

const CURVES: &Cells<fn(&CurveRow<'_>) -> Cell> = &[
    ("experiment", Text, |of| of.id.into()),
    ("name", Text, |of| of.experiment.map(|of| of.name).into()),
    ("series", Text, |of| of.label.into()),
    ("x", Number, |of| of.at.x.into()),
    ("x_name", Text, |of| axis_name(of.axis)),
    ("x_unit", Text, |of| axis_unit(of.axis)),
    ("value", Number, |of| of.at.mid.into()),
    ("lo", Number, |of| of.at.lo.into()),
    ("hi", Number, |of| of.at.hi.into()),
    ("unit", Text, |of| of.unit.into()),
];

/// The columns of a round. The columns of a curve follow.
const ROUNDS: &Cells<fn(&RoundLine) -> Cell> = &[
    ("round", Whole, |round| round.number.into()),
    ("started", Whole, |round| round.started.into()),
    ("at", Number, |round| round.at.into()),
    ("took", Number, |round| round.took.into()),
];

const VERDICTS: &Cells<fn(&VerdictLine) -> Cell> = &[
    ("experiment", Text, |line| line.experiment.as_str().into()),
    ("claim", Text, |line| line.name().into()),
    ("says", Text, |line| line.claim.as_str().into()),
    ("origin", Text, |line| line.origin.as_str().into()),
    ("found", Text, |line| line.found.map(|kind| kind.name()).into()),
    ("verdict", Text, |line| line.verdict.name().into()),
    ("value", Number, |line| line.now.map(center).into()),
    ("lo", Number, |line| line.now.map(|[lo, _]| lo).into()),
    ("hi", Number, |line| line.now.map(|[_, hi]| hi).into()),
    ("then_lo", Number, |line| line.then.as_ref().map(|then| then.lo).into()),
    ("then_hi", Number, |line| line.then.as_ref().map(|then| then.hi).into()),
    ("then_machine", Text, |line| line.then.as_ref().map(|then| then.machine.as_str()).into()),
    ("over_then", Number, |line| {
        let both = line.now.zip(line.then.as_ref());
        both.map(|(now, then)| center(now) / center([then.lo, then.hi])).into()
    }),
    ("passes", Whole, |line| line.passes.into()),
    ("numbers", Text, |line| line.numbers.as_str().into()),
];

const MACHINES: &Cells<fn(&MachineRow<'_>) -> Cell> = &[
    ("vendor", Text, |of| of.header.cpu.vendor.as_str().into()),
    ("brand", Text, |of| of.header.cpu.brand.trim().into()),
    ("family", Whole, |of| of.header.cpu.family.into()),
    ("model", Whole, |of| of.header.cpu.model.into()),
    ("stepping", Whole, |of| of.header.cpu.stepping.into()),
    ("microarchitecture", Text, |of| of.header.cpu.microarchitecture.as_deref().into()),
    ("features", Text, |of| of.header.cpu.features.join(" ").into()),
    ("cpus", Whole, |of| of.name.cpus.map(|(cpus, _)| cpus).into()),
    ("cores", Whole, |of| of.name.cpus.map(|(_, cores)| cores).into()),
    ("memory_bytes", Whole, |of| of.header.memory.into()),
    ("l1d_bytes", Whole, |of| of.cache(1)),
    ("l2_bytes", Whole, |of| of.cache(2)),
    ("l3_bytes", Whole, |of| of.cache(3)),
    ("ghz", Number, |of| of.name.gigahertz.into()),
    ("tick_hz", Number, |of| of.header.tick_hz.into()),
    ("core_per_tick", Number, |of| of.header.core_per_tick.into()),
    ("os", Text, |of| of.header.os.as_deref().into()),
    ("hypervisor", Text, |of| of.header.hypervisor.as_deref().into()),
    ("bios", Text, |of| {
        let parts = ["BIOS vendor", "BIOS version", "BIOS date"].into_iter();
        let parts: Vec<&str> = parts.filter_map(|name| of.setting(name)).collect();
        parts.join(" ").into()
    }),
    ("microcode", Text, |of| of.setting("microcode").into()),
    ("governor", Text, |of| of.setting("governor").into()),
    ("transparent_huge_pages", Text, |of| of.setting("transparent huge pages").into()),
    ("prefetchers", Text, |of| match &of.header.prefetchers {
        Some(PrefetchersLine::Set(text)) => text.as_str().into(),
        _ => Cell::Nothing,
    }),
    ("settings", Text, |of| {
        let settings = of.header.settings.iter().map(|of| format!("{}: {}", of.name, of.value));
        settings.collect::<Vec<_>>().join("; ").into()
    }),
    ("isolated_by", Text, |of| of.header.isolation.as_ref().map(|of| of.by.as_str()).into()),
    ("pinned", Whole, |of| of.header.pinned.into()),
    ("started", Whole, |of| of.header.started.into()),
    ("seconds", Number, |of| of.end.map(|end| end.seconds).into()),
    ("interrupted", Text, |of| match of.end {
        Some(end) if !end.interrupted => "no".into(),
        _ => "yes".into(),
    }),
    ("profile", Text, |of| of.header.profile.as_str().into()),
    ("selection", Text, |of| of.header.selection.join(" ").into()),
    ("pages", Text, |of| of.header.pages.as_deref().into()),
    ("nodes", Whole, |of| match of.header.nodes.len() {
        0 => Cell::Nothing,
        nodes => nodes.into(),
    }),
    ("node", Whole, |of| of.header.node.into()),
    ("placement", Text, |of| of.header.placement.as_deref().into()),
    ("seed", Whole, |of| of.header.seed.into()),
    ("largest_bytes", Whole, |of| of.header.largest.into()),
    ("linefill", Text, |of| of.header.linefill.as_str().into()),
    ("rustc", Text, |of| of.header.rustc.as_str().into()),
    ("notes", Text, |of| of.header.notes.join("; ").into()),
];

struct PointRow<'r> {
    of: &'r ExperimentPoints<'r>,
    point: &'r Point,
    axis: Option<Axis>,
    machine: &'r Machine,
    /// The point's value, in the experiment's unit or in nanoseconds.
    in_unit: Option<(Unit, Interval)>,
}

impl<'r> PointRow<'r> {
    fn value(&self) -> Option<Interval> {
        self.in_unit.map(|(_, value)| value)
    }

    fn measured(&self) -> Option<&'r Measured> {
        self.point.measured()
    }
}

struct CurveRow<'r> {
    id: &'r str,
    experiment: Option<&'static Experiment>,
    label: &'r str,
    at: Value,
    axis: Option<Axis>,
    unit: &'static str,
}

struct MachineRow<'r> {
    header: &'r Header,
    end: Option<&'r EndLine>,
    name: MachineName,
}

impl<'r> MachineRow<'r> {
    /// Returns the bytes of the data cache of a level.
    fn cache(&self, level: u8) -> Cell {
        let caches = self.header.cpu.caches.iter().filter_map(cache_of);
        let mut caches = caches.filter(|of| of.kind != CacheKind::Instruction);
        caches.find(|of| of.level == level).map(|of| of.size).into()
    }

    fn setting(&self, name: &str) -> Option<&'r str> {
        self.header.settings.iter().find(|of| of.name == name).map(|of| of.value.as_str())
    }
}

fn center([lo, hi]: [f64; 2]) -> f64 {
    Interval::new(lo, hi).center()
}

/// Returns the names and kinds of columns.
fn named<F>(cells: &Cells<F>) -> impl Iterator<Item = Column> {
    cells.iter().map(|(name, kind, _)| (*name, *kind))
}

/// Returns the cells of a row; `of` gives a column's cell.
fn filled<F>(cells: &Cells<F>, of: impl Fn(&F) -> Cell) -> impl Iterator<Item = Cell> {
    cells.iter().map(move |(_, _, cell)| of(cell))
}

pub(super) fn columns(what: What) -> Vec<Column> {
    let own: Vec<Column> = match what {
        What::Points => named(POINTS).collect(),
        What::Curves => named(CURVES).collect(),
        What::Rounds => named(ROUNDS).chain(named(CURVES)).collect(),
        What::Verdicts => named(VERDICTS).collect(),
        What::Machines => named(MACHINES).collect(),
    };
    OF.into_iter().chain(own).collect()
}

pub(super) fn rows(name: &str, record: Record, what: What) -> Vec<Row> {
    let header = &record.header;
    let core = core_of(&header.cpu).map(|core| core.name);
    let host = header.host.as_deref().or(header.os.as_deref());
    let first: [Cell; OF.len()] =
        [name.into(), machine_name(&record).to_string().into(), core.into(), host.into()];
    let rows = match what {
        What::Points => points(&record),
        What::Curves => curves(&record),
        What::Rounds => rounds(&record),
        What::Verdicts => {
            let lines = Analysis::of(record).verdicts;
            lines.iter().map(|line| filled(VERDICTS, |cell| cell(line)).collect()).collect()
        }
        What::Machines => vec![machine(&record)],
    };
    let whole = |row: Row| first.iter().cloned().chain(row).collect();
    rows.into_iter().map(whole).collect()
}

/// Returns the name and the unit of an axis: bytes, or a known unit after the last comma of the label.
fn axis_cells(axis: Axis) -> (&'static str, Option<&'static str>) {
    match axis.label.rsplit_once(", ") {
        _ if axis.bytes => (axis.label, Some("bytes")),
        Some((name, unit @ ("GB/s" | "byte" | "N"))) => (name, Some(unit)),
        _ => (axis.label, None),
    }
}

fn axis_name(axis: Option<Axis>) -> Cell {
    axis.map(|axis| axis_cells(axis).0).into()
}

fn axis_unit(axis: Option<Axis>) -> Cell {
    axis.and_then(|axis| axis_cells(axis).1).into()
}

fn points(record: &Record) -> Vec<Row> {
    let (machine, experiments) = points_by_experiment(record);
    let mut rows = Vec::new();
    for of in &experiments {
        let (curves, _) = of.curves(&machine);
        for point in &of.points {
            // The `x` of a point is a position on the axis only if a curve draws the point unchanged.
            let drawn = curves.iter().any(|curve| {
                curve.label == point.series && curve.points.iter().any(|(x, _)| *x == point.x)
            });
            let axis = of.axis().filter(|_| drawn || point.series == SPARSE);
            let unit = of.experiment.map_or(Unit::CoreCycles, Experiment::unit);
            // Core cycles need a yardstick, and some units need a point that moves bytes. Otherwise use
            // nanoseconds.
            let in_unit = |unit| Some((unit, point.interval(unit, machine.rate).ok()?));
            let row = PointRow {
                of,
                point,
                axis,
                machine: &machine,
                in_unit: in_unit(unit).or_else(|| in_unit(Unit::Nanoseconds)),
            };
            rows.push(filled(POINTS, |cell| cell(&row)).collect());
        }
    }
    rows
}

fn curves(record: &Record) -> Vec<Row> {
    let (machine, experiments) = points_by_experiment(record);
    let mut rows = Vec::new();
    for of in &experiments {
        let (curves, unit) = of.curves(&machine);
        for curve in curves {
            // Without a plot that says so, a count has no unit.
            let counted = |point: &Point| {
                point.series == curve.label && matches!(point.state, State::Counted(_))
            };
            let unit = match of.plot().is_none() && of.points.iter().any(counted) {
                true => "",
                false => unit.label(),
            };
            for (x, value) in curve.points {
                let row = CurveRow {
                    id: of.id,
                    experiment: of.experiment,
                    label: &curve.label,
                    at: Value::at(x, value),
                    axis: of.axis(),
                    unit,
                };
                rows.push(filled(CURVES, |cell| cell(&row)).collect());
            }
        }
    }
    rows
}

/// Returns a row per figure and round.
fn rounds(record: &Record) -> Vec<Row> {
    let mut rows = Vec::new();
    for of in &Timeline::of(record).figures {
        for value in &of.figure.values {
            let round = &record.rounds[value.host as usize];
            let row = CurveRow {
                id: &of.id,
                experiment: of.experiment,
                label: &of.label,
                at: value.at(of.figure.x),
                axis: of.experiment.and_then(|of| of.plot).map(|plot| plot.x),
                unit: of.unit,
            };
            let row = filled(ROUNDS, |cell| cell(round)).chain(filled(CURVES, |cell| cell(&row)));
            rows.push(row.collect());
        }
    }
    rows
}

fn machine(record: &Record) -> Row {
    let row =
        MachineRow { header: &record.header, end: record.end.as_ref(), name: machine_name(record) };
    filled(MACHINES, |cell| cell(&row)).collect()
}
