//! How long an experiment takes.

use std::collections::HashSet;

use super::record::Record;
use super::session::{largest, nodes, seats};
use crate::cpu::{Caches, Identity, tsc_hz};
use crate::experiment::{
    Calibration, Counting, CpuOrder, Effort, Experiment, Machine, Placement, Point, Ranges,
};
use crate::os::Root;
use crate::recorded::reported_sizes;
use crate::time::Rate;

/// What the time of an experiment follows from.
pub(crate) enum Durations {
    /// The samples of a record, and the seconds of a run per second of samples.
    Recorded(Box<Record>, f64),
    /// The number of cases on this machine.
    Estimated(Box<Machine>),
}

/// Seconds of a run per second of samples: laying out and warming up take as long as sampling.
const OVERHEAD: f64 = 2.0;

impl Durations {
    /// From a record.
    pub fn recorded(record: Record) -> Self {
        let sampled: f64 = record
            .points
            .iter()
            .filter(|line| line.same_as.is_none())
            .map(|line| ticks(&line.point))
            .sum();
        let sampled = sampled / record.header.tick_hz;
        let seconds = record.end.as_ref().map(|end| end.seconds);
        let overhead = seconds.filter(|_| sampled > 0.0).map(|all| all / sampled);
        Durations::Recorded(Box::new(record), overhead.unwrap_or(OVERHEAD))
    }

    /// From what CPUID and the system say of this machine: nothing is measured.
    ///
    /// # Errors
    /// If the memory of this machine is not known.
    pub fn estimated(root: &Root) -> anyhow::Result<Self> {
        let identity = Identity::detect();
        let caches: Vec<_> = Caches::detect().iter().copied().collect();
        let machine = Machine {
            load_to_use: identity.load_to_use(),
            ports: identity.ports(),
            counting: Counting::default(),
            cpu_order: CpuOrder::placed(None, seats(root, None), Placement::default()),
            nodes: nodes(root),
            rate: Rate::from_hz(tsc_hz().map_or(NOMINAL, |hz| hz as f64)),
            seed: 1,
            ladder: Vec::new(),
            ranges: Ranges::from_ladder(&[], reported_sizes(&caches)),
            calibration: Calibration::default(),
            largest: usize::try_from(largest(root)?)?,
            full: false,
            prefetchers_off: false,
            caches,
        };
        Ok(Durations::Estimated(Box::new(machine)))
    }

    /// Seconds of an experiment in a quick run of it alone, without the ladder. `None` if the record
    /// does not have it.
    pub fn of(&self, experiment: &Experiment) -> Option<f64> {
        match self {
            Durations::Recorded(record, overhead) => {
                let lines = record.points.iter();
                let own: Vec<&Point> = lines
                    .filter(|line| line.experiment == experiment.id)
                    .map(|line| &line.point)
                    .collect();
                let ticks: f64 = own.iter().map(|point| ticks(point)).sum();
                (!own.is_empty()).then(|| overhead * ticks / record.header.tick_hz)
            }
            Durations::Estimated(_) if !experiment.is_of_this_machine() => Some(0.0),
            Durations::Estimated(machine) => {
                let cases = (experiment.cases)(machine);
                let setups: HashSet<String> = cases
                    .iter()
                    .map(|case| format!("{:?}", case.setup))
                    .collect();
                let Effort {
                    sampling, passes, ..
                } = Effort::QUICK;
                Some(OVERHEAD * sampling * f64::from(passes) * setups.len() as f64)
            }
        }
    }
}

/// The rate of the counter where CPUID does not tell it: no time follows from it here.
const NOMINAL: f64 = 2.5e9;

/// The ticks of a point's samples.
fn ticks(point: &Point) -> f64 {
    let samples = point.measured().map_or(&[][..], |of| &of.samples);
    let ticks = samples
        .iter()
        .map(|sample| sample.short + sample.long + sample.yardstick);
    ticks.map(|ticks| ticks as f64).sum()
}

/// Seconds as a person plans with them: `3 s`, `2 min`.
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
}
