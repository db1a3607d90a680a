//! The rows of each table.

use super::{Cell, Column, Kind, Row, What};
use crate::cpu::CacheKind;
use crate::experiment::{
    Axis, Experiment, Machine, Measured, Point, SPARSE, State, Unit, Untestable,
};
use crate::lab::analysis::{Analysis, ExperimentPoints, points_by_experiment};
use crate::lab::answer::machine_name;
use crate::lab::record::{Header, PrefetchersLine, Record, VerdictLine};
use crate::lab::watch::Timeline;
use crate::recorded::{cache_of, core_of};
use crate::stats::Interval;
use Kind::{Number, Text, Whole};

/// The first columns of every table: the record that a row comes from.
const OF: [Column; 4] = [
    ("record", Text),
    ("machine", Text),
    ("core", Text),
    ("host", Text),
];

const POINTS: [Column; 18] = [
    ("experiment", Text),
    ("name", Text),
    ("series", Text),
    ("x", Number),
    ("x_name", Text),
    ("x_unit", Text),
    ("outcome", Text),
    ("value", Number),
    ("lo", Number),
    ("hi", Number),
    ("unit", Text),
    ("nanoseconds", Number),
    ("passes", Whole),
    ("samples", Whole),
    ("disturbed", Whole),
    ("pages", Text),
    ("interrupts", Whole),
    ("reason", Text),
];

const CURVES: [Column; 10] = [
    ("experiment", Text),
    ("name", Text),
    ("series", Text),
    ("x", Number),
    ("x_name", Text),
    ("x_unit", Text),
    ("value", Number),
    ("lo", Number),
    ("hi", Number),
    ("unit", Text),
];

/// The columns of a round. The columns of a curve follow.
const ROUNDS: [Column; 4] = [
    ("round", Whole),
    ("started", Whole),
    ("at", Number),
    ("took", Number),
];

const VERDICTS: [Column; 15] = [
    ("experiment", Text),
    ("claim", Text),
    ("says", Text),
    ("origin", Text),
    ("found", Text),
    ("verdict", Text),
    ("value", Number),
    ("lo", Number),
    ("hi", Number),
    ("then_lo", Number),
    ("then_hi", Number),
    ("then_machine", Text),
    ("over_then", Number),
    ("passes", Whole),
    ("numbers", Text),
];

const MACHINES: [Column; 40] = [
    ("vendor", Text),
    ("brand", Text),
    ("family", Whole),
    ("model", Whole),
    ("stepping", Whole),
    ("microarchitecture", Text),
    ("features", Text),
    ("cpus", Whole),
    ("cores", Whole),
    ("memory_bytes", Whole),
    ("l1d_bytes", Whole),
    ("l2_bytes", Whole),
    ("l3_bytes", Whole),
    ("ghz", Number),
    ("tick_hz", Number),
    ("core_per_tick", Number),
    ("os", Text),
    ("hypervisor", Text),
    ("bios", Text),
    ("microcode", Text),
    ("governor", Text),
    ("transparent_huge_pages", Text),
    ("prefetchers", Text),
    ("settings", Text),
    ("isolated_by", Text),
    ("pinned", Whole),
    ("started", Whole),
    ("seconds", Number),
    ("interrupted", Text),
    ("profile", Text),
    ("selection", Text),
    ("pages", Text),
    ("nodes", Whole),
    ("node", Whole),
    ("placement", Text),
    ("seed", Whole),
    ("largest_bytes", Whole),
    ("linefill", Text),
    ("rustc", Text),
    ("notes", Text),
];

/// Returns the columns of a table.
pub(super) fn columns(what: What) -> Vec<Column> {
    let own: &[&[Column]] = match what {
        What::Points => &[&POINTS],
        What::Curves => &[&CURVES],
        What::Rounds => &[&ROUNDS, &CURVES],
        What::Verdicts => &[&VERDICTS],
        What::Machines => &[&MACHINES],
    };
    let own = own.iter().copied().flatten();
    OF.iter().chain(own).copied().collect()
}

/// Returns the rows of a record.
pub(super) fn rows(name: &str, record: Record, what: What) -> Vec<Row> {
    let header = &record.header;
    let core = core_of(&header.cpu).map(|core| core.name);
    let host = header.host.as_deref().or(header.os.as_deref());
    let first: [Cell; OF.len()] = [
        name.into(),
        machine_name(header).to_string().into(),
        core.into(),
        host.into(),
    ];
    let rows = match what {
        What::Points => points(&record),
        What::Curves => curves(&record),
        What::Rounds => rounds(&record),
        What::Verdicts => {
            let lines = Analysis::of(record).verdicts;
            lines.iter().map(verdict).collect()
        }
        What::Machines => vec![machine(&record)],
    };
    let whole = |row: Row| first.iter().cloned().chain(row).collect();
    rows.into_iter().map(whole).collect()
}

/// Returns the name and the unit of an axis: bytes, or a known unit after the last comma of the label.
fn axis_cells(axis: Option<Axis>) -> [Cell; 2] {
    match axis {
        None => [Cell::Nothing, Cell::Nothing],
        Some(axis) if axis.bytes => [axis.label.into(), "bytes".into()],
        Some(axis) => match axis.label.rsplit_once(", ") {
            Some((name, unit @ ("GB/s" | "byte" | "N"))) => [name.into(), unit.into()],
            _ => [axis.label.into(), Cell::Nothing],
        },
    }
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
            rows.push(point_row(of, point, axis, &machine));
        }
    }
    rows
}

fn point_row(
    of: &ExperimentPoints<'_>,
    point: &Point,
    axis: Option<Axis>,
    machine: &Machine,
) -> Row {
    let unit = of.experiment.map_or(Unit::CoreCycles, Experiment::unit);
    // Core cycles need a yardstick, and some units need a point that moves bytes. Otherwise use nanoseconds.
    let in_unit = |unit| Some((unit, point.interval(unit, machine.rate).ok()?));
    let value = in_unit(unit).or_else(|| in_unit(Unit::Nanoseconds));
    let counted = matches!(point.state, State::Counted(_));
    let unit = value.map(|(unit, _)| unit).filter(|_| !counted);
    let value: Option<Interval> = value.map(|(_, value)| value);
    let measured: Option<&Measured> = point.measured();
    let nanoseconds = measured.and_then(|of| of.median(Unit::Nanoseconds, machine.rate));
    let (outcome, reason) = match &point.state {
        State::Measured(_) => ("timed", None),
        State::Counted(_) => ("counted", None),
        State::Untestable(Untestable(reason)) => ("untestable", Some(reason.as_str())),
    };
    let [x_name, x_unit] = axis_cells(axis);
    vec![
        of.id.into(),
        of.experiment.map(|of| of.name).into(),
        point.series.as_str().into(),
        point.x.into(),
        x_name,
        x_unit,
        outcome.into(),
        value.map(Interval::center).into(),
        value.map(|value| value.lo).into(),
        value.map(|value| value.hi).into(),
        unit.map(Unit::label).into(),
        nanoseconds.into(),
        measured.map(|of| of.passes.len().max(1)).into(),
        measured.map(|of| of.ticks.n).into(),
        measured.map(|of| of.disturbed).into(),
        measured.map(|of| of.pages.as_str()).into(),
        measured.and_then(|of| of.interrupts).into(),
        reason.into(),
    ]
}

fn curves(record: &Record) -> Vec<Row> {
    let (machine, experiments) = points_by_experiment(record);
    let mut rows = Vec::new();
    for of in &experiments {
        let (curves, unit) = of.curves(&machine);
        for curve in curves {
            for (x, value) in curve.points {
                let [x_name, x_unit] = axis_cells(of.axis());
                rows.push(vec![
                    of.id.into(),
                    of.experiment.map(|of| of.name).into(),
                    curve.label.as_str().into(),
                    x.into(),
                    x_name,
                    x_unit,
                    value.center().into(),
                    value.lo.into(),
                    value.hi.into(),
                    unit.label().into(),
                ]);
            }
        }
    }
    rows
}

/// Returns a row per figure and round.
fn rounds(record: &Record) -> Vec<Row> {
    let mut rows = Vec::new();
    for of in &Timeline::of(record).figures {
        let [x_name, x_unit] = axis_cells(of.experiment.and_then(|of| of.plot).map(|plot| plot.x));
        for value in &of.figure.values {
            let round = &record.rounds[value.host as usize];
            rows.push(vec![
                round.number.into(),
                round.started.into(),
                round.at.into(),
                round.took.into(),
                of.id.as_str().into(),
                of.experiment.map(|of| of.name).into(),
                of.label.as_str().into(),
                of.figure.x.into(),
                x_name.clone(),
                x_unit.clone(),
                f64::from(value.mid).into(),
                f64::from(value.lo).into(),
                f64::from(value.hi).into(),
                of.unit.into(),
            ]);
        }
    }
    rows
}

fn verdict(line: &VerdictLine) -> Row {
    let center = |[lo, hi]: [f64; 2]| Interval::new(lo, hi).center();
    let then = line.then.as_ref().map(|then| [then.lo, then.hi]);
    let over = line.now.zip(then);
    vec![
        line.experiment.as_str().into(),
        line.name().into(),
        line.claim.as_str().into(),
        line.origin.as_str().into(),
        line.found.map(|kind| kind.name()).into(),
        line.verdict.name().into(),
        line.now.map(center).into(),
        line.now.map(|[lo, _]| lo).into(),
        line.now.map(|[_, hi]| hi).into(),
        then.map(|[lo, _]| lo).into(),
        then.map(|[_, hi]| hi).into(),
        line.then.as_ref().map(|then| then.machine.as_str()).into(),
        over.map(|(now, then)| center(now) / center(then)).into(),
        line.passes.into(),
        line.numbers.as_str().into(),
    ]
}

fn machine(record: &Record) -> Row {
    let header = &record.header;
    let cpu = &header.cpu;
    let name = machine_name(header);
    let bytes = |level: u8| {
        let caches = header.cpu.caches.iter().filter_map(cache_of);
        let mut caches = caches.filter(|of| of.kind != CacheKind::Instruction);
        caches.find(|of| of.level == level).map(|of| of.size)
    };
    let set = |name: &str| setting(header, name).map(str::to_owned);
    let bios: Vec<String> = ["BIOS vendor", "BIOS version", "BIOS date"]
        .into_iter()
        .filter_map(set)
        .collect();
    let settings = header.settings.iter();
    let settings: Vec<String> = settings
        .map(|of| format!("{}: {}", of.name, of.value))
        .collect();
    let prefetchers = match &header.prefetchers {
        Some(PrefetchersLine::Set(text)) => Some(text.as_str()),
        _ => None,
    };
    let end = record.end.as_ref();
    vec![
        cpu.vendor.as_str().into(),
        cpu.brand.trim().into(),
        cpu.family.into(),
        cpu.model.into(),
        cpu.stepping.into(),
        cpu.microarchitecture.as_deref().into(),
        cpu.features.join(" ").into(),
        name.cpus.map(|(cpus, _)| cpus).into(),
        name.cpus.map(|(_, cores)| cores).into(),
        header.memory.into(),
        bytes(1).into(),
        bytes(2).into(),
        bytes(3).into(),
        name.gigahertz.into(),
        header.tick_hz.into(),
        header.core_per_tick.into(),
        header.os.as_deref().into(),
        header.hypervisor.as_deref().into(),
        bios.join(" ").into(),
        set("microcode").into(),
        set("governor").into(),
        set("transparent huge pages").into(),
        prefetchers.into(),
        settings.join("; ").into(),
        header.isolation.as_ref().map(|of| of.by.as_str()).into(),
        header.pinned.into(),
        header.started.into(),
        end.map(|end| end.seconds).into(),
        match end {
            Some(end) if !end.interrupted => "no".into(),
            _ => "yes".into(),
        },
        header.profile.as_str().into(),
        header.selection.join(" ").into(),
        header.pages.as_deref().into(),
        (!header.nodes.is_empty())
            .then_some(header.nodes.len())
            .into(),
        header.node.into(),
        header.placement.as_deref().into(),
        header.seed.into(),
        header.largest.into(),
        header.linefill.as_str().into(),
        header.rustc.as_str().into(),
        header.notes.join("; ").into(),
    ]
}

/// Returns the value of the machine's setting of this name.
fn setting<'h>(header: &'h Header, name: &str) -> Option<&'h str> {
    let found = header.settings.iter().find(|of| of.name == name);
    found.map(|of| of.value.as_str())
}
