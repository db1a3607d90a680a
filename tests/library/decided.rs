//! The decisions of runs on planted machines: the value of each point is known, and the passes differ as in
//! the stored records.
#![cfg(feature = "lab")]

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use linefill::experiment::{
    Case, Doubt, Evidence, Judging, Kind, LOOKS, Machine, Point, Quality, Residence, Verdict,
    merged,
};
use linefill::lab::analysis::{Analysis, Answer};
use linefill::lab::undecided::{Measured, in_doubt, is_whole, keep_judged, undecided};
use linefill::pattern::Rng;
use linefill::stats::Interval;

use super::passes::{Moments, Points, Shape, Spread, kept};
use super::records::last;
use super::verdicts::{machines, planted};

/// A machine whose points have known values and whose passes have known noise.
struct Planted {
    machine: Machine,
    /// The points with exact values.
    values: Measured,
    /// For each experiment of `values`, its cases.
    cases: Vec<Vec<Case>>,
    /// For each point of `values`, the distribution of its passes if they differ: the same in every run.
    noise: Vec<Vec<Option<Spread>>>,
}

/// The passes of a planted run: for each experiment and each point, the result of each pass.
type Passes = Vec<Vec<Vec<Point>>>;

/// The relative half width of a pass's interval.
const WITHIN: f64 = 0.002;

/// The time that remains after the first passes, in passes over everything: a quick run of 170 s measured
/// 3,477 points once, 2,320 of them a second time, and 2,474 more points.
const LEFT: f64 = 0.7;

impl Planted {
    /// The machine of the latest record, with the noise that was observed on the machine `noise`.
    fn new(noise: &str, shape: Shape) -> Self {
        let Analysis { machine, answers, .. } = last().analysis();
        let exact = |point: &Point| {
            let mut point = point.clone();
            if let Some(measured) = point.measured_mut() {
                measured.ticks.interval = Interval::exact(measured.ticks.median);
                measured.passes.clear();
                measured.quality = Quality::Clean;
            }
            point
        };
        // The record is older than some cases. A run measures all cases, and looks for undecided claims only
        // in complete experiments.
        let whole = |answer: &&Answer| is_whole(answer.experiment, machine, &answer.points);
        let points = answers.iter().filter(whole).map(|answer| {
            let points = answer.points.iter().map(exact).collect();
            (answer.experiment, points)
        });
        let values: Measured = points.collect();
        let cases = values.iter().map(|(of, _)| (of.cases)(machine));
        let cases: Vec<Vec<Case>> = cases.collect();
        let noise = kept(noise);
        let spreads = values.iter().zip(&cases).map(|((of, points), cases)| {
            let spread = |point: &Point| {
                let deviations = deviations(&noise, machine, of.id, point, cases);
                deviations.map(|deviations| shape.spread(deviations))
            };
            points.iter().map(spread).collect()
        });
        Planted { noise: spreads.collect(), machine: machine.clone(), values, cases }
    }

    /// Adds a pass to those points of the experiment `at` that are `wanted`, in order. Returns their number.
    fn measure(
        &self,
        at: usize,
        passes: &mut [Vec<Point>],
        (rng, moments): (&mut Rng, &mut Moments),
        wanted: impl Fn(&Point) -> bool,
    ) -> usize {
        let mut measured = 0;
        let values = self.values[at].1.iter().zip(&self.noise[at]);
        for ((value, noise), passes) in values.zip(passes) {
            if wanted(value) {
                passes.push(pass(value, noise.as_ref(), moments.next(rng)));
                measured += 1;
            }
        }
        measured
    }

    fn together(&self, passes: &Passes) -> Measured {
        let of = self.values.iter().zip(passes);
        of.map(|((experiment, _), passes)| (*experiment, merged(passes.concat()))).collect()
    }

    /// The verdicts on measured claims by id. Without a doubt, they are judged on the observed passes.
    fn judge(&self, points: &Measured, doubt: Option<&Doubt>) -> HashMap<&'static str, Verdict> {
        let mut verdicts = HashMap::new();
        for (experiment, points) in points {
            let judged = match doubt {
                Some(doubt) => in_doubt(experiment, &self.machine, doubt, points),
                None => points.clone(),
            };
            let evidence = Evidence {
                machine: &self.machine,
                points: &judged,
                unit: experiment.unit(),
                uncertain: None,
            };
            let claims = experiment.claims.iter();
            for claim in claims.filter(|claim| claim.kind == Kind::Measured) {
                verdicts.insert(claim.id, claim.decide(&evidence).verdict);
            }
        }
        verdicts
    }

    /// A run: two passes over everything, then undecided claims while time remains. Returns three sets of
    /// verdicts: on the spread of the first two passes, on the value estimated from these, and at the end of
    /// the run.
    fn run(&self, seed: u64) -> [HashMap<&'static str, Verdict>; WAYS.len()] {
        let rng = &mut Rng::new(seed);
        let mut passes: Passes =
            self.values.iter().map(|(_, points)| vec![Vec::new(); points.len()]).collect();
        let mut all = 0;
        for _ in 0..LOOKS[0] {
            let moments = &mut Moments::default();
            let each = passes.iter_mut().enumerate();
            let each = each.map(|(at, passes)| self.measure(at, passes, (rng, moments), |_| true));
            all = each.sum();
        }
        let two = self.together(&passes);
        let spread = self.judge(&two, None);
        let doubt = Doubt::of(&self.machine, &two).judged(Judging::Last);
        let first = self.judge(&two, Some(&doubt));
        let mut left = LEFT * all as f64;
        for (look, next) in LOOKS.into_iter().zip(LOOKS.into_iter().skip(1)) {
            let points = self.together(&passes);
            let doubt = Doubt::of(&self.machine, &points).judged(Judging::Look);
            let open = undecided(&self.machine, None, &doubt, &points);
            for _ in look..next {
                let mut known: HashSet<(&str, &str, u64)> = HashSet::new();
                let moments = &mut Moments::default();
                for of in &open {
                    let id = of.experiment.id;
                    let mut experiments = self.values.iter();
                    let at = experiments.position(|(of, _)| of.id == id).unwrap();
                    let cases = of.cases(&self.cases[at]).into_iter();
                    let places = cases.map(|case| (id, case.series.as_str(), case.x.to_bits()));
                    let new: HashSet<_> = places.filter(|of| !known.contains(of)).collect();
                    if left > 0.0 {
                        let is_new = |point: &Point| {
                            new.contains(&(id, point.series.as_str(), point.x.to_bits()))
                        };
                        let passes = &mut passes[at];
                        left -= self.measure(at, passes, (rng, moments), is_new) as f64;
                    }
                    known.extend(new);
                }
            }
        }
        let points = self.together(&passes);
        let doubt = Doubt::of(&self.machine, &points).judged(Judging::Last);
        [spread, first, self.judge(&points, Some(&doubt))]
    }
}

/// The stored deviations that the passes over a point have, drawn from those of similar points. `None` if
/// nothing is timed.
fn deviations<'a>(
    noise: &'a BTreeMap<String, BTreeMap<String, Points>>,
    machine: &Machine,
    id: &str,
    point: &Point,
    cases: &[Case],
) -> Option<&'a [f64]> {
    let measured = point.measured().filter(|of| of.ticks.median > 0.0)?;
    let case = cases.iter().find(|case| case.is_at(point));
    let bytes = case.map_or(0, |case| case.setup.bytes());
    let kind = format!("{:?}", Residence::of(machine, measured, bytes));
    let alike = noise.get(&kind).unwrap_or(&noise["Memory"]);
    let alike: Vec<&Vec<f64>> = match alike.get(id) {
        Some(points) => points.iter().collect(),
        None => alike.values().flatten().collect(),
    };
    let mut hash = DefaultHasher::new();
    (id, &point.series, point.x.to_bits()).hash(&mut hash);
    Some(alike[(hash.finish() % alike.len() as u64) as usize])
}

/// One pass over a point, for the normally distributed slowness `normal`.
fn pass(point: &Point, noise: Option<&Spread>, normal: f64) -> Point {
    let mut point = point.clone();
    if let (Some(measured), Some(noise)) = (point.measured_mut(), noise) {
        let value = measured.ticks.median * noise.pass(normal);
        measured.ticks.median = value;
        measured.ticks.interval = Interval::exact(value).widened(WITHIN);
    }
    point
}

/// The methods of judging a run.
const WAYS: [&str; 3] =
    ["spread of two passes", "value behind two passes", "measured until decided"];

/// Shares of the claims that can be judged, over planted runs.
#[derive(Debug, Default)]
struct Shares {
    claims: f64,
    wrong: f64,
    open: f64,
    /// One of two runs decides that the claim holds, and the other that it does not.
    contrary: f64,
    /// One of two runs decides the claim, and the other does not.
    decided_once: f64,
}

impl Shares {
    fn add(&mut self, truth: Verdict, runs: [Verdict; 2]) {
        let is_open = |verdict: &Verdict| *verdict == Verdict::Inconclusive;
        let count = |is: bool| f64::from(u8::from(is));
        self.claims += 1.0;
        for run in runs {
            let wrong = !is_open(&run) && !is_open(&truth) && run != truth;
            self.wrong += count(wrong) / 2.0;
            self.open += count(is_open(&run)) / 2.0;
        }
        let [one, other] = runs;
        let opens = runs.iter().filter(|run| is_open(run)).count();
        self.contrary += count(one != other && opens == 0);
        self.decided_once += count(opens == 1);
    }

    fn percent(&self) -> [f64; 4] {
        [self.wrong, self.contrary, self.open, self.decided_once].map(|of| 100.0 * of / self.claims)
    }
}

/// The results of pairs of runs for each method. Also the number of claims that are decided both after two
/// passes and at the end, and how many of these are decided differently.
fn pairs(planted: &Planted, count: u64) -> ([Shares; WAYS.len()], [usize; 2]) {
    let truth = planted.judge(&planted.values, None);
    let mut shares = [(); WAYS.len()].map(|()| Shares::default());
    let mut sooner = [0; 2];
    for pair in 0..count {
        let [one, other] = [2 * pair + 1, 2 * pair + 2].map(|seed| planted.run(seed));
        for (way, shares) in shares.iter_mut().enumerate() {
            for (claim, truth) in &truth {
                if *truth != Verdict::Untestable {
                    shares.add(*truth, [one[way][claim], other[way][claim]]);
                }
            }
        }
        for [_, first, last] in [&one, &other] {
            for (claim, verdict) in first {
                let both = [*verdict, last[claim]];
                let decided = |of: &Verdict| matches!(of, Verdict::Holds | Verdict::DoesNotHold);
                if both.iter().all(decided) {
                    sooner[0] += 1;
                    sooner[1] += usize::from(both[0] != both[1]);
                }
            }
        }
    }
    (shares, sooner)
}

/// `cargo test --features lab --test library -- --nocapture planted_machines` prints the figures.
/// LINEFILL_PAIRS sets the number of pairs of runs.
#[test]
fn runs_on_planted_machines_decide_rightly() {
    let count = std::env::var("LINEFILL_PAIRS").ok();
    let count = count.and_then(|count| count.parse().ok()).unwrap_or(1);
    for (noise, shape) in [("zen4", Shape::Normal), ("zen5", Shape::Kept)] {
        let planted = Planted::new(noise, shape);
        let (shares, [sooner, contrary]) = pairs(&planted, count);
        let exact = planted.judge(&planted.values, None);
        let of = |open: Verdict| exact.values().filter(|verdict| **verdict == open).count();
        let judged = exact.len() - of(Verdict::Untestable);
        println!(
            "noise of {noise}, {judged} claims, {} runs; {} claims are inconclusive on exact \
             values:",
            2 * count,
            of(Verdict::Inconclusive)
        );
        for (way, of) in WAYS.into_iter().zip(&shares) {
            let [wrong, contrary, open, once] = of.percent();
            println!(
                "  {way}: {wrong:.2} % wrong, {contrary:.2} % contrary in two runs, {open:.1} % \
                 inconclusive, {once:.1} % decided by one of two runs"
            );
        }
        println!("  decided after two passes and at the end: {sooner}, contrarily {contrary}");
        let [_, first, last] = shares.map(|of| of.percent());
        let [wrong, contrary, open, _] = last;
        assert!(wrong <= 1.0, "{wrong} % wrong with the noise of {noise}");
        assert!(contrary <= 2.0, "{contrary} % contrary with the noise of {noise}");
        assert!(open < 0.75 * first[2], "{open} % open, after two passes {}", first[2]);
    }
}

/// The time of a run may not suffice for all open claims.
#[test]
fn of_claims_that_need_as_many_passes_the_cheapest_come_first() {
    let planted = Planted::new("zen4", Shape::Normal);
    let points = &planted.values;
    let wide = points.iter().map(|(experiment, points)| {
        let mut points = points.clone();
        for measured in points.iter_mut().filter_map(Point::measured_mut) {
            measured.ticks.interval = measured.ticks.interval.widened(0.2);
        }
        (*experiment, points)
    });
    let points: Measured = wide.collect();
    let doubt = Doubt::of(&planted.machine, &points).judged(Judging::Look);
    let open = undecided(&planted.machine, None, &doubt, &points);
    let costs = open.iter().map(|of| {
        let cases = (of.experiment.cases)(&planted.machine);
        let cost: f64 = of.cases(&cases).into_iter().map(Case::cost).sum();
        (-of.share, cost)
    });
    let costs: Vec<(f64, f64)> = costs.collect();
    assert!(costs.is_sorted(), "{costs:?}");
    let differ = |pair: &[(f64, f64)]| pair[0].0 == pair[1].0 && pair[0].1 < pair[1].1;
    assert!(costs.windows(2).any(differ), "{costs:?}");
}

/// A full run draws curves, of which claims read few points. A further pass measures only these.
#[test]
fn a_further_pass_of_a_full_run_measures_what_claims_read() {
    let [.., full] = machines::known();
    let levels = [60.0, 20.0, 10.0, 4.0];
    let rate = |_: &str, x: f64| planted::noisy(planted::by_level(&full, x, levels), 0.01);
    let planted = planted::Planted::new("D35", &full, rate);
    let experiment = planted.experiment;
    let place = |point: &Point| (point.series.clone(), point.x.to_bits());
    let kept = |points: &[Point]| {
        let mut cases = (experiment.cases)(&full);
        keep_judged(experiment, &full, points, &mut cases);
        let places = cases.into_iter().map(|case| (case.series, case.x.to_bits()));
        places.collect::<HashSet<_>>()
    };
    let judged = kept(&planted.points);
    let all = planted.points.len();
    assert!((1..all / 3).contains(&judged.len()), "{} of {all}", judged.len());
    // No claim changes if the other points become uncertain.
    let mut points = planted.points.clone();
    let drawn = points.iter_mut().filter(|point| !judged.contains(&place(point)));
    for measured in drawn.filter_map(Point::measured_mut) {
        measured.ticks.interval = measured.ticks.interval.widened(0.5);
    }
    let decide = |points: &[Point]| {
        let evidence = Evidence::new(&full, points, experiment.unit());
        let claims = experiment.claims.iter();
        let each = claims.map(|claim| claim.decide(&evidence).numbers);
        each.collect::<Vec<_>>()
    };
    assert_eq!(decide(&points), decide(&planted.points));
}
