//! Event counts per operation for each case: what `linefill counters` prints, as tables or as JSON.

use std::sync::atomic::{AtomicBool, Ordering};

use comfy_table::CellAlignment;
use serde_json::{Value, json};

use super::progress::Progress;
use crate::counters::{Each, Named};
use crate::experiment::{Axis, Experiment, Machine, Rig, Untestable};
use crate::lab::record::Header;
use crate::lab::size::show;
use crate::lab::terminal::{self, table_text};
use crate::order::grouped;
use crate::os::perf::{Counter, Event, Refusal, Software};

/// The unit of all counts but that of the thread's clock.
const EVENTS: &str = "events per operation";

/// The events that are counted, with the names under which they were requested.
#[derive(Clone, Debug)]
pub struct Counted(Vec<(String, Event)>);

/// The events that are not counted, each with the reason.
#[derive(Clone, Debug)]
pub struct Refused(Vec<(String, Refusal)>);

/// The counts of a case.
#[derive(Clone, Debug)]
pub struct CaseRun {
    pub experiment: &'static Experiment,
    pub series: String,
    /// The position on the horizontal axis.
    pub x: f64,
    /// The count of each event, or why the case cannot run here.
    pub outcome: Result<Vec<Result<Each, Refusal>>, Untestable>,
}

impl Counted {
    /// Splits `events` into events that the kernel counts for this thread and events that it refuses.
    pub fn open(events: Vec<Named>) -> (Self, Refused) {
        let (mut counted, mut refused) = (Vec::new(), Vec::new());
        for Named { name, event } in events {
            match event.and_then(|event| Counter::open(&event).map(|_| event)) {
                Ok(event) => counted.push((name, event)),
                Err(refusal) => refused.push((name, refusal)),
            }
        }
        (Counted(counted), Refused(refused))
    }

    /// Returns whether no event is counted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn events(&self) -> Vec<Event> {
        self.0.iter().map(|(_, event)| *event).collect()
    }

    /// Returns the unit of each event's count.
    fn units(&self) -> impl Iterator<Item = &'static str> {
        let clock = Event::software(Software::TaskClock);
        self.0.iter().map(move |(_, event)| match *event == clock {
            true => "ns per operation",
            false => EVENTS,
        })
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }
}

impl Refused {
    /// Returns whether no event was refused.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns which events were refused, why, and what would help: `A, B: no PMU (...)`.
    pub fn in_words(&self) -> String {
        let reasons = grouped(self.0.iter().map(|(name, refusal)| (refusal, name.as_str())));
        let words = reasons.into_iter().map(|(refusal, names)| {
            format!("{}: {refusal} ({})", names.join(", "), refusal.mend())
        });
        words.collect::<Vec<_>>().join("; ")
    }
}

/// Counts the cases of `experiments` on `machine` whose series is `chosen`, until stopped. Skips cases that
/// yield a number and have no operations.
pub fn count(
    experiments: &[&'static Experiment],
    machine: &Machine,
    chosen: impl Fn(&str) -> bool,
    counted: &Counted,
    rig: &mut Rig<'_>,
    stop: &AtomicBool,
) -> Vec<CaseRun> {
    let events = counted.events();
    let each = experiments.iter().flat_map(|&experiment| {
        (experiment.cases)(machine).into_iter().map(move |case| (experiment, case))
    });
    let cases: Vec<_> = each.filter(|(_, case)| chosen(&case.series)).collect();
    let mut progress = Progress::new(cases.len() as u64);
    let mut runs = Vec::new();
    for (experiment, case) in cases {
        progress.next(&format!("{} {}, {}", experiment.id, case.series, case.x));
        let outcome = rig.count(&case, &events);
        if stop.load(Ordering::Relaxed) {
            break;
        }
        progress.measured();
        if outcome.as_ref().is_ok_and(Vec::is_empty) {
            continue;
        }
        runs.push(CaseRun { experiment, series: case.series, x: case.x, outcome });
    }
    progress.finish();
    runs
}

/// Returns the horizontal axis of an experiment, or a linear axis `x` if the experiment has no plot.
fn axis(experiment: &Experiment) -> Axis {
    experiment.plot.map_or(Axis::linear("x"), |plot| plot.x)
}

/// Formats a table per experiment, with a row per case and a column per event. Lines below the tables say
/// which counts were scaled, and which events are not counted and why.
pub fn table(counted: &Counted, refused: &Refused, runs: &[CaseRun], width: u16) -> String {
    let mut text = String::new();
    for part in runs.chunk_by(|a, b| a.experiment.id == b.experiment.id) {
        let experiment = part[0].experiment;
        text += &format!("{} {}: events per operation\n", experiment.id, experiment.title);
        text += &of_experiment(axis(experiment), counted, part, width);
        text += "\n\n";
    }
    let shares = shares(runs);
    if let Some((least, most)) = shares {
        text += &format!(
            "* shared its counter: counted {:.0} to {:.0} % of the time, and scaled\n",
            100.0 * least,
            100.0 * most
        );
    }
    if !refused.is_empty() {
        text += &format!("not counted: {}\n", refused.in_words());
    }
    text
}

fn of_experiment(axis: Axis, counted: &Counted, runs: &[CaseRun], width: u16) -> String {
    let mut headings = vec!["series".to_owned(), "at".to_owned()];
    let events = counted.names().zip(counted.units());
    headings.extend(events.map(|(name, unit)| match unit {
        EVENTS => name.to_owned(),
        unit => format!("{name}, {unit}"),
    }));
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    let mut table = terminal::table(&headings, width);
    for run in runs {
        let at = if axis.bytes { show(run.x) } else { run.x.to_string() };
        let counts = match &run.outcome {
            Ok(each) => each.iter().map(cell).collect(),
            Err(reason) => vec![reason.to_string()],
        };
        table.add_row([run.series.clone(), at].into_iter().chain(counts));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table_text(&table)
}

/// Formats a count and the half-width of its interval, with a star if it was scaled.
fn cell(each: &Result<Each, Refusal>) -> String {
    match each {
        Err(refusal) => format!("- ({refusal})"),
        Ok(each) => {
            let star = if each.multiplexed() { "*" } else { "" };
            let middle = each.value.middle();
            let reach = each.value.hi - middle;
            match reach > 0.005 * middle {
                true => format!("{}{star} ±{}", number(middle), number(reach)),
                false => format!("{}{star}", number(middle)),
            }
        }
    }
}

/// Formats a number with three significant digits, or as a whole number if it is large.
fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let magnitude = value.abs().log10().floor();
    match magnitude {
        ..-4.0 => format!("{value:.1e}"),
        _ => format!("{value:.*}", (2.0 - magnitude).max(0.0) as usize),
    }
}

/// Returns the least and the greatest share of the time for which a scaled event had a counter.
fn shares(runs: &[CaseRun]) -> Option<(f64, f64)> {
    let each = runs.iter().filter_map(|run| run.outcome.as_ref().ok());
    let scaled = each.flatten().flatten().filter(|each| each.multiplexed());
    scaled.fold(None, |range, each| {
        let (least, most) = range.unwrap_or((each.counted, each.counted));
        Some((f64::min(least, each.counted), f64::max(most, each.counted)))
    })
}

/// Returns the counts on the CPU that `header` describes, and the refused events.
pub fn json(header: &Header, counted: &Counted, refused: &Refused, runs: &[CaseRun]) -> Value {
    let refused = refused.0.iter().map(|(name, refusal)| {
        json!({ "event": name, "reason": refusal.to_string(), "mend": refusal.mend() })
    });
    json!({
        "cpu": header.cpu.brand,
        "pinned": header.pinned,
        "events": counted.names().collect::<Vec<_>>(),
        "refused": refused.collect::<Vec<_>>(),
        "cases": runs.iter().map(|run| case_json(counted, run)).collect::<Vec<_>>(),
    })
}

fn case_json(counted: &Counted, run: &CaseRun) -> Value {
    let mut value = json!({
        "experiment": run.experiment.id,
        "series": run.series,
        "x": run.x,
    });
    match &run.outcome {
        Ok(each) => {
            let counts = counted.names().zip(counted.units()).zip(each);
            value["counts"] =
                counts.map(|((name, unit), each)| count_json(name, unit, each)).collect();
        }
        Err(reason) => value["untestable"] = reason.to_string().into(),
    }
    value
}

fn count_json(name: &str, unit: &str, each: &Result<Each, Refusal>) -> Value {
    match each {
        Ok(each) => json!({
            "event": name,
            "unit": unit,
            "value": each.value.middle(),
            "lo": each.value.lo,
            "hi": each.value.hi,
            "multiplexed": each.multiplexed(),
            "counted": each.counted,
        }),
        Err(refusal) => json!({ "event": name, "refused": refusal.to_string() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Untestable, find};
    use crate::os::perf::{Event, Software};
    use crate::stats::Interval;

    fn each(lo: f64, hi: f64, counted: f64) -> Result<Each, Refusal> {
        let value = Interval::new(lo, hi);
        Ok(Each { value, counted })
    }

    #[test]
    fn a_table_marks_what_was_scaled_and_names_what_was_refused() {
        let Some(experiment) = find("D14") else { panic!("D14 is built") };
        let run = |x, outcome| CaseRun { experiment, series: "NPAD=0".to_owned(), x, outcome };
        let runs = [
            run(4096.0, Ok(vec![each(2.0, 2.0, 1.0), each(0.1, 0.3, 0.25)])),
            run(8192.0, Ok(vec![each(0.0, 0.0, 1.0), each(7e3, 7e3, 0.5)])),
            run(16384.0, Err(Untestable("no memory".into()))),
        ];
        let event = Event::software(Software::TaskClock);
        let counted = Counted(vec![("instructions".into(), event), ("r0148".into(), event)]);
        let no_pmu = |name: &str| (name.to_owned(), Refusal::NoPmu);
        let refused = Refused(vec![no_pmu("A.B"), ("C".into(), Refusal::Event), no_pmu("D.E")]);
        let text = table(&counted, &refused, &runs, 100);
        for expected in [
            "events per operation",
            "instructions",
            "4 KiB",
            "2.00",
            "0.200* ±0.100",
            "7000*",
            "no memory",
            "counted 25 to 50 % of the time",
            "not counted: A.B, D.E: the kernel sees no PMU",
            "; C: this CPU's PMU does not count such an event (compare",
        ] {
            assert!(text.contains(expected), "{expected}\n{text}");
        }
    }

    #[test]
    fn the_clock_counts_nanoseconds_and_the_others_events() {
        let event = |software: Software| (software.name().to_owned(), Event::software(software));
        let counted = Counted([Software::TaskClock, Software::PageFaults].map(event).into());
        let units: Vec<&str> = counted.units().collect();
        assert_eq!(units, ["ns per operation", "events per operation"]);
    }

    #[test]
    fn numbers_keep_three_digits() {
        let shown = [0.0, 0.00012345, 1.0, 12.34, 123.4, 123_456.7, 1.23e-7].map(number);
        let expected = ["0", "0.000123", "1.00", "12.3", "123", "123457", "1.2e-7"];
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_count_says_how_much_of_the_time_it_was_counted() {
        let each = Each { value: Interval::new(1.0, 2.0), counted: 0.25 };
        let value = count_json("cycles", "events per operation", &Ok(each));
        assert_eq!(value["value"], 1.5);
        assert_eq!(value["multiplexed"], true);
        assert_eq!(value["counted"], 0.25);
        assert_eq!(value["unit"], "events per operation");
        let value = count_json("cycles", "events per operation", &Err(Refusal::Event));
        assert_eq!(value["refused"], "this CPU's PMU does not count such an event");
    }
}
