//! Validates the lines of a record once, as they are read, so that later code need not check its numbers.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::RangeInclusive;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{EndLine, Header, Line, MACHINE, PointLine, RoundLine, VerdictLine};
use crate::experiment::{Distribution, LADDER, Placement, SPARSE, ThreadStats};
use crate::host::RunAhead;
use crate::lab::plain;
use crate::recorded::{Raw, Timed};
use crate::time::yardstick::RATIOS;

/// Why a line of a record is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The wrong field, as a path: `timed.samples[3]`. Empty if the error concerns the line as a whole.
    pub field: String,
    /// The problem, and what would be accepted.
    pub problem: String,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.field.as_str() {
            "" => f.write_str(&self.problem),
            field => write!(f, "field `{field}`: {}", self.problem),
        }
    }
}

type Check = Result<(), Wrong>;

fn wrong(field: &str, problem: impl fmt::Display) -> Wrong {
    Wrong { field: field.to_owned(), problem: problem.to_string() }
}

/// Maximum number of CPUs of a system: Linux is built for 8,192.
const MOST_CPUS: usize = 8192;

/// Maximum of a number of a verdict, in any unit.
const MOST_OF_A_CLAIM: f64 = 1e15;

/// Maximum number of memory nodes of a system: Linux is built for 1,024.
const MOST_NODES: usize = 1024;

/// Maximum number of rungs of a ladder: half octaves from 1 KiB to the largest memory are 80.
const MOST_RUNGS: usize = 256;

/// Maximum number of points of an experiment, with passes over the same point counted once: the surface of a
/// full run of E18 has 16,384.
const MOST_POINTS: usize = 20_000;

/// Maximum number of series of an experiment.
const MOST_SERIES: usize = 1000;

/// Limit up to which JSON readers with only floating point represent every whole number.
const MOST_EXACT: u64 = 1 << 53;

/// Accepted magnitudes of a position on the horizontal axis other than 0.
const PLACES: RangeInclusive<f64> = 1e-9..=1e15;

/// Accepted times in ticks, and counts: 10^15 ticks are three days.
const TICKS: RangeInclusive<f64> = -1e15..=1e15;

/// Accepted rates of a time-stamp counter in Hz.
const RATES: RangeInclusive<f64> = 1e6..=1e12;

/// Accepted dates in seconds since 1970, up to the year 9999.
const DATES: RangeInclusive<u64> = 0..=253_402_300_799;

/// Maximum duration of a run in seconds: 30,000 years.
const MOST_SECONDS: f64 = 1e12;

/// Accepted values of the largest working set in bytes: from a page to an address space.
const LARGEST: RangeInclusive<u64> = 4096..=1 << 52;

/// Maximum size and number of sets of a cache, and maximum size of a page, in bytes.
const MOST_CACHE: u64 = 1 << 50;

/// Maximum number of samples of a point.
const MOST_SAMPLES: usize = 1 << 20;

/// Validates the lines of a record, one after the other.
#[derive(Debug, Default)]
pub struct Checked {
    /// The positions of the points so far, by experiment.
    experiments: HashMap<String, Places>,
}

/// The positions of an experiment's points on the horizontal axis, by series.
#[derive(Debug, Default)]
struct Places {
    series: HashMap<String, HashSet<u64>>,
    /// The number of positions in all series.
    points: usize,
}

impl Checked {
    /// Parses and validates the next line. Control characters in its texts are spelled out.
    ///
    /// # Errors
    /// If the line is invalid: the wrong field, and what would be accepted.
    pub fn line(&mut self, text: &[u8]) -> Result<Line, Wrong> {
        let source = Source::of(text)?;
        let Kind { kind } = source.read()?;
        Ok(match kind.as_str() {
            "header" => {
                let header = source.read()?;
                check_header(&header)?;
                Line::Header(Box::new(header))
            }
            "point" => Line::Point(Box::new(self.point(source.read()?)?)),
            "round" => Line::Round(Box::new(self.round(source.read()?)?)),
            "verdict" => {
                let verdict = source.read()?;
                check_verdict(&verdict)?;
                Line::Verdict(verdict)
            }
            "end" => {
                let end: EndLine = source.read()?;
                within("seconds", end.seconds, 0.0..=MOST_SECONDS)?;
                Line::End(end)
            }
            other => {
                let problem = format!(
                    "`{other}` is not a kind of line; header, point, round, verdict and end are"
                );
                return Err(wrong("kind", problem));
            }
        })
    }

    fn point(&mut self, raw: Raw) -> Result<PointLine, Wrong> {
        check_point(&raw)?;
        self.count(&raw)?;
        PointLine::try_from(raw).map_err(|problem| wrong("", problem))
    }

    /// Validates a round; each of its points is checked like a point of a run.
    fn round(&mut self, raw: RawRound) -> Result<RoundLine, Wrong> {
        let inside = |index: usize, of: Wrong| {
            let field = format!("points[{index}].{}", of.field);
            Wrong { field: field.trim_end_matches('.').to_owned(), ..of }
        };
        within("started", raw.started, DATES)?;
        within("number", raw.number, 0..=MOST_EXACT)?;
        within("at", raw.at, 0.0..=MOST_SECONDS)?;
        within("took", raw.took, 0.0..=MOST_SECONDS)?;
        let mut points = Vec::new();
        for (index, point) in raw.points.into_iter().enumerate() {
            points.push(self.point(point).map_err(|of| inside(index, of))?);
        }
        let RawRound { number, started, at, took, .. } = raw;
        Ok(RoundLine { number, started, at, took, points })
    }

    /// Counts a point, and refuses too many: the cost of an analysis grows faster than their number.
    fn count(&mut self, point: &Raw) -> Check {
        let experiment = self.experiments.entry(point.experiment.clone());
        let experiment = experiment.or_default();
        let series = experiment.series.entry(point.series.clone()).or_default();
        experiment.points += usize::from(series.insert((point.x + 0.0).to_bits()));
        let rungs = if point.experiment == MACHINE { series.len() } else { 0 };
        for (field, count, of, most, what) in [
            ("x", rungs, "series", MOST_RUNGS, "places"),
            ("series", experiment.series.len(), "experiment", MOST_SERIES, "series"),
            ("experiment", experiment.points, "experiment", MOST_POINTS, "points"),
        ] {
            if count > most {
                return Err(wrong(field, format!("the {of} has more than {most} {what}")));
            }
        }
        Ok(())
    }
}

/// The kind of a line.
#[derive(Deserialize)]
struct Kind {
    kind: String,
}

/// A round as it is in its line.
#[derive(Deserialize)]
struct RawRound {
    number: u64,
    started: u64,
    at: f64,
    took: f64,
    points: Vec<Raw>,
}

/// The text of a line, with control characters spelled out, which may change its columns.
struct Source<'a> {
    text: Cow<'a, [u8]>,
}

impl<'a> Source<'a> {
    fn of(text: &'a [u8]) -> Result<Self, Wrong> {
        // In JSON, control characters occur only as escape sequences, as DEL, or beyond ASCII.
        let text = match text.iter().any(|byte| matches!(byte, b'\\' | 0x7F..)) {
            false => Cow::Borrowed(text),
            true => {
                let broken = |error| wrong("", json_error(&error, true));
                let mut value = serde_json::from_slice(text).map_err(broken)?;
                make_plain(&mut value);
                Cow::Owned(serde_json::to_vec(&value).map_err(broken)?)
            }
        };
        Ok(Self { text })
    }

    fn read<T: DeserializeOwned>(&self) -> Result<T, Wrong> {
        let own = matches!(self.text, Cow::Borrowed(_));
        let mut reader = serde_json::Deserializer::from_slice(&self.text);
        let read = serde_path_to_error::deserialize(&mut reader);
        if read.is_ok() {
            reader.end().map_err(|error| wrong("", json_error(&error, own)))?;
        }
        read.map_err(|error| {
            let field = match error.path().to_string() {
                root if root == "." => String::new(),
                path => path,
            };
            wrong(&field, json_error(error.inner(), own))
        })
    }
}

/// Formats the error of the JSON reader without its line number, which is always 1. The column is kept only
/// if it is a column of the record.
fn json_error(error: &serde_json::Error, with_column: bool) -> String {
    let text = error.to_string();
    let (text, place) = match text.rsplit_once(" at line 1 column ") {
        Some((text, column)) if with_column => (text, format!(" (column {column})")),
        Some((text, _)) => (text, String::new()),
        None => (text.as_str(), String::new()),
    };
    format!("{}{place}", plain::word(text))
}

/// Spells out control characters in every text of `value`.
fn make_plain(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(plain) = plain::word(text) {
                *text = plain;
            }
        }
        Value::Array(values) => values.iter_mut().for_each(make_plain),
        Value::Object(fields) => fields.values_mut().for_each(make_plain),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn check_header(header: &Header) -> Check {
    within("started", header.started, DATES)?;
    within_if_known("resumed", header.resumed, DATES)?;
    within("earlier", header.earlier, 0.0..=MOST_SECONDS)?;
    within("tick_hz", header.tick_hz, RATES)?;
    within_if_known("stated_tick_hz", header.stated_tick_hz, RATES)?;
    within_if_known("core_per_tick", header.core_per_tick, RATIOS)?;
    within("largest", header.largest, LARGEST)?;
    within_if_known("budget", header.budget, 0.0..=MOST_SECONDS)?;
    within_if_known("watch", header.watch, 0.0..=MOST_SECONDS)?;
    within_if_known("load_to_use", header.load_to_use, 1..=1000)?;
    if let Some(ports) = header.ports {
        for (name, widths) in [("ports.loads", ports.loads), ("ports.stores", ports.stores)] {
            for bytes in widths {
                within(name, bytes, 0..=4096)?;
            }
        }
    }
    within_if_known("prefetchers_off", header.prefetchers_off, 1..=MOST_CPUS)?;
    at_most("seats", "CPUs", header.locations.len(), MOST_CPUS)?;
    at_most("performance", "CPUs", header.performance.len(), MOST_CPUS)?;
    check_nodes(header)?;
    if let Some(name) = header.placement.as_deref() {
        let known = Placement::ALL.map(Placement::name);
        one_of("placement", name, &known)?;
    }
    one_of("profile", &header.profile, &["quick", "full", "smoke", "bare"])?;
    let caches = [("cpu.caches", &header.cpu.caches), ("kernel_caches", &header.kernel_caches)];
    for (list, caches) in caches {
        for (index, cache) in caches.iter().enumerate() {
            let name = |field: &str| format!("{list}[{index}].{field}");
            within(&name("level"), cache.level, 1..=8)?;
            within(&name("bytes"), cache.bytes, 0..=MOST_CACHE)?;
            within(&name("line"), cache.line, 0..=1 << 16)?;
            within(&name("sets"), cache.sets, 0..=MOST_CACHE)?;
            within(&name("ways"), cache.ways, 0..=1 << 24)?;
        }
    }
    for (index, tlb) in header.cpu.tlbs.iter().enumerate() {
        let name = |field: &str| format!("cpu.tlbs[{index}].{field}");
        within(&name("level"), tlb.level, 1..=8)?;
        within(&name("entries"), tlb.entries, 0..=1 << 24)?;
        for bytes in &tlb.pages {
            within(&name("pages"), *bytes, 1..=MOST_CACHE)?;
        }
    }
    Ok(())
}

fn at_most(field: &str, what: &str, count: usize, most: usize) -> Check {
    if count > most { Err(wrong(field, format!("{count} {what}: at most {most}"))) } else { Ok(()) }
}

fn check_nodes(header: &Header) -> Check {
    at_most("nodes", "nodes", header.nodes.len(), MOST_NODES)?;
    for (index, node) in header.nodes.iter().enumerate() {
        let name = |field: &str| format!("nodes[{index}].{field}");
        within(&name("id"), node.id, 0..=MOST_NODES - 1)?;
        at_most(&name("cpus"), "CPUs", node.cpus.len(), MOST_CPUS)?;
        at_most(&name("distances"), "distances", node.distances.len(), MOST_NODES)?;
        for distance in &node.distances {
            within(&name("distances"), *distance, 0..=255)?;
        }
    }
    within_if_known("node", header.node, 0..=MOST_NODES - 1)
}

fn check_point(point: &Raw) -> Check {
    let x = point.x;
    let ladder = point.experiment == MACHINE && [LADDER, SPARSE].contains(&point.series.as_str());
    if ladder && !(1.0..=*PLACES.end()).contains(&x) {
        let problem = format!("{x:e} bytes: a working set is from 1 to {:e}", PLACES.end());
        return Err(wrong("x", problem));
    }
    if x != 0.0 && !PLACES.contains(&x.abs()) {
        let (least, most) = (PLACES.start(), PLACES.end());
        let problem =
            format!("{x:e}: a place is 0, or from {least:e} to {most:e} but for its sign");
        return Err(wrong("x", problem));
    }
    within_if_known("counted", point.counted, TICKS)?;
    point.timed.as_deref().map_or(Ok(()), check_timed)
}

/// Checks that a number lies in a range. NaN lies in no range.
fn within<T: PartialOrd + fmt::Debug>(field: &str, value: T, range: RangeInclusive<T>) -> Check {
    if range.contains(&value) {
        return Ok(());
    }
    let (least, most) = (range.start(), range.end());
    Err(wrong(field, format!("{value:?}: {least:?} to {most:?} is accepted")))
}

fn check_verdict(verdict: &VerdictLine) -> Check {
    let interval = |field: &str, [lo, hi]: [f64; 2]| {
        let name = |part: &str| format!("{field}.{part}");
        for (part, value) in [("lo", lo), ("hi", hi)] {
            within(&name(part), value, -MOST_OF_A_CLAIM..=MOST_OF_A_CLAIM)?;
        }
        ascending(&[(&name("lo"), lo), (&name("hi"), hi)])
    };
    verdict.now.map_or(Ok(()), |now| interval("now", now))?;
    verdict.then.as_ref().map_or(Ok(()), |then| interval("then", [then.lo, then.hi]))
}

/// As [`within`], for a number that may be unknown.
fn within_if_known<T: PartialOrd + fmt::Debug>(
    field: &str,
    value: Option<T>,
    range: RangeInclusive<T>,
) -> Check {
    value.map_or(Ok(()), |value| within(field, value, range))
}

/// Checks that each value is at least the previous one.
fn ascending(parts: &[(&str, f64)]) -> Check {
    match parts.windows(2).find(|pair| pair[0].1 > pair[1].1) {
        Some(pair) => {
            let [(least, low), (field, high)] = [pair[0], pair[1]];
            Err(wrong(field, format!("{high:?} is less than `{least}`, {low:?}")))
        }
        None => Ok(()),
    }
}

fn one_of(field: &str, text: &str, known: &[&str]) -> Check {
    match known.contains(&text) {
        true => Ok(()),
        false => Err(wrong(field, format!("`{text}`: one of {} is accepted", known.join(", ")))),
    }
}

/// Checks that the numbers of a timed point are possible.
fn check_timed(timed: &Timed) -> Check {
    let times = [
        ("timed.median", timed.median),
        ("timed.min", timed.min),
        ("timed.lo", timed.lo),
        ("timed.hi", timed.hi),
    ];
    for (field, value) in times {
        within(field, value, TICKS)?;
    }
    within("timed.mad", timed.mad, 0.0..=*TICKS.end())?;
    ascending(&times[1..3])?;
    ascending(&[times[2], times[0], times[3]])?;
    within_if_known("timed.core_per_tick", timed.core_per_tick, RATIOS)?;
    within("timed.operations", timed.operations, 1..=MOST_EXACT)?;
    within("timed.flops", timed.flops, 0..=MOST_EXACT)?;
    within("timed.instructions", timed.instructions, 0..=MOST_EXACT)?;
    within("timed.n", timed.n, 1..=MOST_SAMPLES)?;
    // A record may omit the samples.
    if !timed.samples.is_empty() && timed.n > timed.samples.len() {
        let problem = format!("{} of {} samples", timed.n, timed.samples.len());
        return Err(wrong("timed.n", problem));
    }
    for (index, sample) in timed.samples.iter().enumerate() {
        for (at, most) in [MOST_EXACT, MOST_EXACT, MOST_EXACT, 1].into_iter().enumerate() {
            if sample[at] > most {
                let field = format!("timed.samples[{index}][{at}]");
                return Err(wrong(&field, format!("{}: 0 to {most}", sample[at])));
            }
        }
    }
    for (index, count) in timed.counts.iter().flatten().enumerate() {
        let name = |field: &str| format!("timed.counts[{index}].{field}");
        within(&name("lo"), count.lo, TICKS)?;
        within(&name("hi"), count.hi, TICKS)?;
        ascending(&[(&name("lo"), count.lo), (&name("hi"), count.hi)])?;
    }
    if let Some(runs) = &timed.runs {
        check_runs(runs)?;
    }
    within_if_known("timed.interrupts", timed.interrupts, 0..=MOST_EXACT)?;
    timed.thread_stats.as_ref().map_or(Ok(()), check_stats)
}

fn check_runs(runs: &Distribution) -> Check {
    within("timed.runs.count", runs.count, 1..=MOST_EXACT)?;
    within("timed.runs.operations", runs.operations, 1..=MOST_EXACT)?;
    within("timed.runs.max", runs.max, 0..=MOST_EXACT)?;
    let places = [
        ("timed.runs.min", runs.min),
        ("timed.runs.p50", runs.p50),
        ("timed.runs.p90", runs.p90),
        ("timed.runs.p99", runs.p99),
        ("timed.runs.p99.9", runs.p999),
        ("timed.runs.max", runs.max),
    ];
    ascending(&places.map(|(field, ticks)| (field, ticks as f64)))
}

fn check_stats(stats: &ThreadStats) -> Check {
    within("timed.crew.members", stats.workers as usize, 1..=MOST_CPUS)?;
    within("timed.crew.cpus", stats.cpus as usize, 1..=MOST_CPUS)?;
    within("timed.crew.fastest", stats.fastest, TICKS)?;
    within("timed.crew.slowest", stats.slowest, TICKS)?;
    within_if_known("timed.crew.round_trip", stats.round_trip, TICKS)?;
    let Some(RunAhead { least, lower, median, upper, most }) = stats.lead else { return Ok(()) };
    let parts = [
        ("timed.crew.lead.least", least),
        ("timed.crew.lead.lower", lower),
        ("timed.crew.lead.median", median),
        ("timed.crew.lead.upper", upper),
        ("timed.crew.lead.most", most),
    ];
    ascending(&parts.map(|(field, value)| (field, f64::from(value))))
}
