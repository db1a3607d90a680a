//! The list of experiments, as `linefill list` prints it, with the duration of each.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::format::{Check, Outcome, Output, Sheet};
use super::record::{PointLine, Record};
use super::session::{largest, locations, nodes};
use super::terminal::{FAINT, STRONG, Screen, paragraph};
use crate::cpu::{Caches, Identity, tsc_hz};
use crate::experiment::{
    Calibration, Claim, Counting, CpuOrder, Effort, Experiment, Machine, Origin, Placement, Ranges,
    all, topics,
};
use crate::os::Root;
use crate::recorded::reported_sizes;
use crate::time::Rate;

/// The experiments to list, with their durations.
pub(crate) struct Listing {
    pub rows: Vec<&'static Experiment>,
    /// The source of their durations.
    pub durations: Durations,
}

/// The width from which the experiments are a table. On a narrower terminal each is a paragraph.
const WIDE: u16 = 100;

impl Listing {
    fn time(&self, row: &Experiment) -> String {
        self.durations.of(row).map_or_else(String::new, show)
    }

    /// Returns the table, with or without the names.
    fn sheet(&self, names: bool) -> Sheet {
        let headings: &[&str] = match names {
            true => &["id", "family", "section", "takes", "name", "what it claims"],
            false => &["id", "family", "section", "takes", "what it claims"],
        };
        let mut sheet = Sheet::new("Experiments", headings);
        for row in &self.rows {
            let mut cells =
                vec![row.id.to_owned(), family(row).to_owned(), section(row), self.time(row)];
            cells.extend(names.then(|| row.name.to_owned()));
            cells.push(what(row));
            sheet.rows.push(cells);
        }
        sheet
    }
}

impl Output for Listing {
    fn name(&self) -> String {
        "linefill list".to_owned()
    }

    fn screen(&self, width: u16) -> Screen {
        let mut screen = Screen::default();
        if width >= WIDE {
            screen.add(&self.sheet(false).text(width)).add("\n\n");
        } else {
            for row in &self.rows {
                screen.paint(STRONG, row.id);
                let facts = [family(row), &section(row), &self.time(row)].join(", ");
                let room = usize::from(width).saturating_sub(row.id.len() + 2);
                let facts = textwrap::wrap(&facts, room).join("\n  ");
                screen.paint(FAINT, &format!("  {facts}\n"));
                paragraph(&mut screen, None, &format!("  {}", what(row)), width);
            }
            screen.end();
        }
        let shown = format!(
            "{} of {} experiments; `linefill show ID` tells more",
            self.rows.len(),
            all().len()
        );
        paragraph(&mut screen, None, &shown, width);
        let topics = topics::TOPICS.iter().map(|topic| topic.name);
        let topics = topics.collect::<Vec<_>>().join(", ");
        let topics = format!("topics, each several families, to be named like them: {topics}");
        screen.add(&textwrap::fill(&topics, usize::from(width)));
        screen
    }

    fn json(&self) -> Value {
        let claim = |claim: &Claim| {
            json!({
                "id": claim.id,
                "claim": claim.text,
                "origin": claim.origin.to_string(),
                "found": claim.kind.name(),
            })
        };
        let row = |row: &&'static Experiment| {
            json!({
                "id": row.id,
                "name": row.name,
                "topic": topics::topic_of(row.id).map(|topic| topic.name),
                "family": family(row),
                "title": row.title,
                "question": row.question,
                "source": row.source,
                "section": section(row),
                "seconds": self.durations.of(row),
                "claims": row.claims.iter().map(claim).collect::<Vec<_>>(),
            })
        };
        json!({ "experiments": self.rows.iter().map(row).collect::<Vec<_>>() })
    }

    fn sheets(&self) -> Vec<Sheet> {
        vec![self.sheet(true)]
    }

    /// Returns a check per claim, all skipped: listing measures nothing.
    fn checks(&self) -> Vec<Check> {
        let rows = self.rows.iter();
        rows.flat_map(|row| {
            row.claims.iter().map(|claim| Check {
                group: row.id.to_owned(),
                name: claim.id.to_owned(),
                outcome: Outcome::Skipped,
                text: claim.text.to_owned(),
            })
        })
        .collect()
    }
}

fn family(row: &Experiment) -> &'static str {
    topics::of(row.id).map_or("", |family| family.name)
}

/// Returns the origin of an experiment: a section of a document if a claim comes from one, else the origin
/// of its first claim, else its source.
pub(crate) fn section(row: &Experiment) -> String {
    let origins = || row.claims.iter().map(|claim| claim.origin);
    let document = origins().find(|origin| matches!(origin, Origin::Document { .. }));
    document
        .or_else(|| origins().next())
        .map_or_else(|| row.source.to_owned(), |origin| origin.to_string())
}

/// Returns the first claim of an experiment, or its question, and the number of further claims.
fn what(row: &Experiment) -> String {
    let claim = row.claims.first().map_or(row.question, |claim| claim.text);
    match row.claims.len() {
        0 | 1 => claim.to_owned(),
        2 => format!("{claim} (and 1 claim more)"),
        count => format!("{claim} (and {} claims more)", count - 1),
    }
}

/// The basis of an experiment's duration.
pub(crate) enum Durations {
    /// A record, and the seconds of a run per second of samples.
    Recorded(Box<Record>, f64),
    /// The number of cases on this machine, without a measurement.
    Estimated(Box<Machine>),
}

/// Seconds of a run per second of samples: set-up and warm-up take as long as sampling.
const OVERHEAD: f64 = 2.0;

impl Durations {
    /// Takes the durations from a record.
    pub fn recorded(record: Record) -> Self {
        let sampled = sampled(record.points.iter()) / record.header.tick_hz;
        let seconds = record.end.as_ref().map(|end| end.seconds);
        let overhead = seconds.filter(|_| sampled > 0.0).map(|all| all / sampled);
        Durations::Recorded(Box::new(record), overhead.unwrap_or(OVERHEAD))
    }

    /// Estimates durations from what CPUID and the system say about this machine. Measures nothing.
    pub fn estimated(root: &Root) -> anyhow::Result<Self> {
        let identity = Identity::detect();
        let caches: Vec<_> = Caches::detect().iter().copied().collect();
        let machine = Machine {
            vendor: identity.vendor,
            load_to_use: identity.load_to_use(),
            ports: identity.ports(),
            counting: Counting::default(),
            cpu_order: CpuOrder::placed(None, locations(root, None), Placement::default()),
            nodes: nodes(root),
            rate: Rate::from_hz(tsc_hz().map_or(NOMINAL, |hz| hz as f64)),
            seed: 1,
            ladder: Vec::new(),
            ladder_refused: None,
            ranges: Ranges::from_ladder(&[], reported_sizes(&caches)),
            calibration: Calibration::default(),
            largest: usize::try_from(largest(root)?)?,
            full: false,
            prefetchers_off: false,
            caches,
        };
        Ok(Durations::Estimated(Box::new(machine)))
    }

    /// Returns the seconds that an experiment took in the record, or that a quick run of it alone is
    /// estimated to take, without the ladder. `None` if the record does not have the experiment.
    pub fn of(&self, experiment: &Experiment) -> Option<f64> {
        match self {
            Durations::Recorded(record, overhead) => {
                let lines = record.points.iter();
                let mut own = lines.filter(|line| line.experiment == experiment.id).peekable();
                own.peek()?;
                Some(overhead * sampled(own) / record.header.tick_hz)
            }
            Durations::Estimated(_) if !experiment.is_of_this_machine() => Some(0.0),
            Durations::Estimated(machine) => {
                let cases = (experiment.cases)(machine);
                let setups: HashSet<String> =
                    cases.iter().map(|case| format!("{:?}", case.setup)).collect();
                let Effort { sampling, passes, .. } = Effort::QUICK;
                Some(OVERHEAD * sampling * f64::from(passes) * setups.len() as f64)
            }
        }
    }
}

/// The TSC rate if CPUID does not report it. No duration depends on it here.
const NOMINAL: f64 = 2.5e9;

/// Returns the sum of the ticks of all samples. Those of a point that another experiment measured count there.
fn sampled<'a>(lines: impl Iterator<Item = &'a PointLine>) -> f64 {
    let own = lines.filter(|line| line.same_as.is_none());
    let measured = own.filter_map(|line| line.point.measured());
    let samples = measured.flat_map(|of| &of.samples);
    let ticks = samples.map(|sample| sample.short + sample.long + sample.yardstick);
    ticks.map(|ticks| ticks as f64).sum()
}

/// Formats a duration for planning: `3 s`, `2 min`.
pub(crate) fn show(seconds: f64) -> String {
    match seconds {
        ..1.0 => "<1 s".to_owned(),
        1.0..99.5 => format!("{seconds:.0} s"),
        _ => format!("{:.0} min", seconds / 60.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{all, find};
    use crate::lab::read::parse;
    use crate::measure::Sample;

    #[test]
    fn every_experiment_has_an_estimate_and_arithmetic_takes_none() {
        let durations = Durations::estimated(&Root::live()).unwrap();
        let of = |id: &str| durations.of(find(id).unwrap()).unwrap();
        assert!(of("D14") > 1.0 && of("D14") < 60.0, "{}", of("D14"));
        assert_eq!(show(of("D13")), "<1 s");
        assert!(all().into_iter().all(|row| durations.of(row).is_some()));
    }

    #[test]
    fn a_record_says_how_long_its_own_experiments_took() {
        let planted = include_bytes!("../../tests/fixtures/record/planted.jsonl");
        let durations = Durations::recorded(parse(planted).unwrap().record);
        assert!(durations.of(find("D14").unwrap()).is_some());
        assert!(durations.of(find("E4").unwrap()).is_none());
    }

    #[test]
    fn a_point_of_another_experiment_takes_no_time_again() {
        let planted = include_bytes!("../../tests/fixtures/record/planted.jsonl");
        let mut record = parse(planted).unwrap().record;
        let sample = Sample { short: 10, long: 20, yardstick: 5, disturbed: false };
        for line in &mut record.points {
            if let Some(measured) = line.point.measured_mut() {
                measured.samples.push(sample);
            }
            line.same_as = (line.experiment == "D17").then(|| "D14".to_owned());
        }
        let durations = Durations::recorded(record);
        let of = |id: &str| durations.of(find(id).unwrap()).unwrap();
        assert!(of("D17") == 0.0 && of("D14") > 0.0);
    }
}
