//! The value estimated from passes: planted passes differ as in the stored records.
#![cfg(feature = "lab")]

use std::collections::BTreeMap;
use std::f64::consts::PI;
use std::path::{Path, PathBuf};

use linefill::experiment::{Case, Point, Quality, Residence, Verdict};
use linefill::lab::analysis::Analysis;
use linefill::lab::read::read;
use linefill::lab::record::Record;
use linefill::pattern::Rng;
use linefill::stats::{Interval, Prior, quantile};

/// The deviations of a point's passes from the mean of their run, in hundredths of a percent, by machine and
/// kind of point. [`table`] printed them from records.
const KEPT: &str = include_str!("../fixtures/passes.csv");

/// Points of one kind, each with the possible deviations of its passes from its value, as logarithms.
pub type Points = Vec<Vec<f64>>;

/// The deviations for a machine, by the kind of the points, and within a kind by experiment id.
pub fn kept(machine: &str) -> BTreeMap<String, BTreeMap<String, Points>> {
    let mut kinds: BTreeMap<String, BTreeMap<String, Points>> = BTreeMap::new();
    for line in KEPT.lines().filter(|line| !line.starts_with('#')) {
        let mut cells = line.split(',');
        let [of, kind, id] = [(); 3].map(|()| cells.next().unwrap());
        if of == machine {
            let residuals = cells.map(|cell| cell.parse::<f64>().unwrap() / 1e4);
            let residuals: Vec<f64> = residuals.collect();
            let of_kind = kinds.entry(kind.to_owned()).or_default();
            of_kind.entry(id.to_owned()).or_default().push(residuals);
        }
    }
    kinds
}

/// The kind of the distribution of planted passes around their value.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// A stored deviation of the point's passes, with a random sign. There are nine passes, some of them
    /// disturbed.
    Kept,
    /// A normal distribution with the variance of the stored passes, because four passes are too few to draw
    /// from.
    Normal,
}

/// The distribution of a point's passes around its value, as logarithms.
pub enum Spread {
    /// The possible deviations in ascending order.
    Kept(Vec<f64>),
    /// The standard deviation.
    Normal(f64),
}

impl Shape {
    /// The distribution of this kind for a point with these stored deviations.
    pub fn spread(self, residuals: &[f64]) -> Spread {
        match self {
            Shape::Kept => {
                let mut both: Vec<f64> = residuals.iter().flat_map(|log| [*log, -log]).collect();
                both.sort_by(f64::total_cmp);
                Spread::Kept(both)
            }
            Shape::Normal => {
                let squares = residuals.iter().map(|log| log * log).sum::<f64>();
                Spread::Normal((squares / residuals.len() as f64).sqrt())
            }
        }
    }
}

impl Spread {
    /// The time of a pass relative to its value, for the normally distributed slowness `normal`.
    pub fn pass(&self, normal: f64) -> f64 {
        let log = match self {
            Spread::Kept(both) => both[(share_below(normal) * both.len() as f64) as usize],
            Spread::Normal(deviation) => deviation * normal,
        };
        log.exp()
    }
}

/// A number with approximately normal distribution: the sum of twelve uniform numbers.
fn normal(rng: &mut Rng) -> f64 {
    const STEPS: usize = 1 << 20;
    let uniform = |_| rng.below(STEPS) as f64 / STEPS as f64;
    (0..12).map(uniform).sum::<f64>() - 6.0
}

/// The share of normally distributed numbers below `normal`, less than 1, accurate to 0.2 per mille (Page
/// 1977, Approximations to the cumulative normal function and its inverse for use on a pocket calculator).
fn share_below(normal: f64) -> f64 {
    let cubed = 0.044_715 * normal.powi(3);
    let share = 1.0 / (1.0 + (-2.0 * (2.0 / PI).sqrt() * (normal + cubed)).exp());
    share.min(1.0 - f64::EPSILON)
}

/// Correlated slowness of passes over points that are measured one after the other.
#[derive(Debug, Default)]
pub struct Moments(Option<f64>);

impl Moments {
    /// The correlation of neighbours. In the stored records, neighbours that were measured in turn have 0.40,
    /// 0.78 and 0.64 (printed by [`neighbours`]).
    const SHARED: f64 = 0.6;

    /// The slowness at the next point.
    pub fn next(&mut self, rng: &mut Rng) -> f64 {
        let own = normal(rng);
        let next = match self.0 {
            Some(before) => Self::SHARED * before + (1.0 - Self::SHARED.powi(2)).sqrt() * own,
            None => own,
        };
        self.0 = Some(next);
        next
    }
}

/// The share of intervals that contain the value, and the median half width, for points with this number of
/// passes. There are several planted runs, each of which estimates its own priors.
fn coverage(machine: &str, shape: Shape, passes: usize, rng: &mut Rng) -> (f64, f64) {
    const RUNS: usize = 4;
    let kept = kept(machine);
    let (mut covered, mut doubts) = (0, Vec::new());
    for _ in 0..RUNS {
        for experiments in kept.values() {
            let mut plant = |points: &Points| -> Points {
                let mut pass = |spread: &Spread| spread.pass(normal(rng)).ln();
                let spreads = points.iter().map(|residuals| shape.spread(residuals));
                let point = |spread| (0..passes).map(|_| pass(&spread)).collect();
                spreads.map(point).collect()
            };
            let planted: Vec<Points> = experiments.values().map(&mut plant).collect();
            let priors = Prior::of_groups(&planted).unwrap();
            for (points, prior) in planted.iter().zip(priors) {
                for point in points {
                    let passes: Vec<Interval> =
                        point.iter().map(|log| Interval::exact(log.exp())).collect();
                    let interval = prior.estimate(&passes, 0.05).unwrap().interval;
                    covered += usize::from(interval.lo <= 1.0 && interval.hi >= 1.0);
                    doubts.push(interval.doubt());
                }
            }
        }
    }
    doubts.sort_by(f64::total_cmp);
    let share = covered as f64 / doubts.len() as f64;
    (share, doubts[doubts.len() / 2])
}

const PLANTED: [(&str, Shape); 3] =
    [("zen4", Shape::Normal), ("zen5", Shape::Normal), ("zen5", Shape::Kept)];

/// `cargo test --features lab --test library -- --nocapture intervals_cover` prints the figures.
#[test]
fn intervals_cover_the_value_and_narrow_with_the_passes() {
    let mut rng = Rng::new(1);
    let mut wrong = Vec::new();
    for (machine, shape) in PLANTED {
        let mut before = f64::INFINITY;
        for passes in [2, 3, 5, 10, 16] {
            let (share, half) = coverage(machine, shape, passes, &mut rng);
            println!(
                "{machine} {shape:?}, {passes:>2} passes: {:.1} % of intervals hold the value, \
                 median half width {:.2} %",
                100.0 * share,
                100.0 * half
            );
            if !(0.93..=0.97).contains(&share) || half >= before {
                wrong.push((machine, shape, passes, share, half));
            }
            before = half;
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// The records in the folder that `LINEFILL_RECORDS` names; by default those in this repository.
fn records() -> Vec<(PathBuf, Record)> {
    let folder = std::env::var("LINEFILL_RECORDS").unwrap_or_else(|_| "records".to_owned());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let files = folder.read_dir().unwrap();
    let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    let record = |file: PathBuf| Some((file.clone(), read(&file).ok()?.record));
    files.into_iter().filter_map(record).collect()
}

/// A point by its experiment, series and x.
type Place = (String, String, u64);

/// The logarithms of a point's undisturbed passes in core cycles minus their mean. They are scaled up to the
/// expected deviation from the true value, because the mean is of only these passes.
fn residuals(point: &Point) -> Option<Vec<f64>> {
    let measured = point.measured()?;
    let clean = measured
        .passes
        .iter()
        .filter(|pass| pass.quality == Quality::Clean && pass.interval.lo > 0.0);
    let logs: Option<Vec<f64>> =
        clean.map(|pass| Some((pass.interval.middle() * pass.core_per_tick?).ln())).collect();
    let logs = logs.filter(|logs| logs.len() > 1)?;
    let count = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / count;
    let apart = (count / (count - 1.0)).sqrt();
    Some(logs.iter().map(|log| (log - mean) * apart).collect())
}

/// Prints the lines of `tests/fixtures/passes.csv` for one machine. All records in the folder must be from
/// it.
#[test]
#[ignore = "prints a table of kept records"]
fn table() {
    const POINTS: usize = 4;
    let mut places: BTreeMap<(String, Place), Vec<Vec<f64>>> = BTreeMap::new();
    let records = records();
    let machine = std::env::var("LINEFILL_MACHINE").unwrap_or_else(|_| "machine".to_owned());
    for (_, record) in &records {
        let analysis = Analysis::of(record.clone());
        for answer in &analysis.answers {
            for case in (answer.experiment.cases)(&analysis.machine) {
                let point = answer.points.iter().find(|point| case.is_at(point));
                let found = point.and_then(|point| Some((point, residuals(point)?)));
                let Some((point, residuals)) = found else {
                    continue;
                };
                let bytes = case.setup.bytes();
                let kind = Residence::of(&analysis.machine, point.measured().unwrap(), bytes);
                let place =
                    (answer.experiment.id.to_owned(), case.series.clone(), case.x.to_bits());
                let key = (format!("{kind:?}"), place);
                places.entry(key).or_default().push(residuals);
            }
        }
    }
    let mut kinds: BTreeMap<(&String, &String), Points> = BTreeMap::new();
    for ((kind, (id, ..)), of) in &places {
        if of.len() == records.len() {
            kinds.entry((kind, id)).or_default().push(of.concat());
        }
    }
    for ((kind, id), points) in kinds {
        let step = points.len().div_ceil(POINTS);
        for point in points.iter().step_by(step) {
            let cells = point.iter().map(|log| format!("{:.0}", 1e4 * log));
            println!("{machine},{kind},{id},{}", cells.collect::<Vec<_>>().join(","));
        }
    }
}

/// Prints the correlation between neighbours of the difference between the first two passes, for points
/// measured in turn. It uses the upper quartiles of sums and differences, which a few disturbed passes do not
/// change.
#[test]
#[ignore = "prints how passes over neighbours differ"]
fn neighbours() {
    for (path, record) in records() {
        let analysis = Analysis::of(record);
        let [mut sums, mut differences] = [Vec::new(), Vec::new()];
        for answer in &analysis.answers {
            let mut before: Option<(Case, f64)> = None;
            for case in (answer.experiment.cases)(&analysis.machine) {
                let point = answer.points.iter().find(|point| case.is_at(point));
                let logs = point.and_then(residuals);
                let Some([one, other, ..]) = logs.as_deref() else {
                    before = None;
                    continue;
                };
                let apart = one - other;
                if let Some((neighbour, beside)) = &before
                    && neighbour.in_turn
                    && case.in_turn
                    && neighbour.x == case.x
                {
                    sums.push((apart + beside).abs());
                    differences.push((apart - beside).abs());
                }
                before = Some((case, apart));
            }
        }
        let pairs = sums.len();
        let [sum, difference] = [sums, differences].map(|mut of| {
            of.sort_by(f64::total_cmp);
            quantile(&of, 0.75).unwrap().powi(2)
        });
        let shared = (sum - difference) / (sum + difference);
        println!("{}: {shared:.2} of {pairs} pairs", path.display());
    }
}

/// Prints how the stored records are judged now, next to their recorded verdicts.
#[test]
#[ignore = "prints how kept records are judged"]
fn rejudged() {
    for (path, mut record) in records() {
        let before = std::mem::take(&mut record.verdicts);
        let after = Analysis::of(record).verdicts;
        println!("{}", path.display());
        for verdict in Verdict::ALL {
            let before = before.iter().filter(|line| line.verdict == verdict).count();
            let after = after.iter().filter(|line| line.verdict == verdict).count();
            println!("  {:>14}: {before} before, {after} now", verdict.name());
        }
        for line in &after {
            let mut same = before.iter();
            let same = same.find(|of| of.claim == line.claim && of.experiment == line.experiment);
            if let Some(of) = same
                && of.verdict != line.verdict
            {
                let (was, is) = (of.verdict.name(), line.verdict.name());
                println!("  {} {was} -> {is}: {}", line.experiment, line.claim);
                println!("        {}\n        {}", of.numbers, line.numbers);
            }
        }
    }
}
