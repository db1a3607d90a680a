//! Measures the ladder and the cases, and records each point. A first finding is printed as soon as an
//! experiment has been measured in every pass.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::Result;

use super::resume::{PointStore, place};
use super::{Experiment, Machine, Point, PointLine, Progress, Recorder, Rig, Schedule};
use crate::experiment::{
    Case, Doubt, Evidence, Judging, LOOKS, State, calibrating, ladder_limit, sparse_of_pass,
};
use crate::lab::answer::findings;
use crate::lab::consistency::share;
use crate::lab::record::{Header, MACHINE, VerdictLine, points_of};
use crate::lab::size::show;
use crate::lab::undecided::{self, experiments_of, undecided};
use crate::measure::Ended;
use crate::recorded::{cache_of, machine_of, reported_sizes};

/// The state of a run while it measures.
pub(super) struct RunState<'a> {
    pub(super) store: PointStore,
    rig: Rig<'a>,
    /// The result of each set-up in this pass, and the experiment that measured it. Figures share curves,
    /// and a curve need not be measured twice in a pass.
    setups: HashMap<String, (String, State)>,
}

impl<'a> RunState<'a> {
    /// Continues from the points `recorded`.
    pub(super) fn new(recorder: Recorder, rig: Rig<'a>, recorded: Vec<PointLine>) -> Self {
        RunState { store: PointStore::new(recorder, recorded), rig, setups: HashMap::new() }
    }

    /// Returns the point store and frees the memory of the measurement: under a tight RLIMIT_AS the report needs
    /// it.
    pub(super) fn close(self) -> PointStore {
        self.store
    }
}

/// Returns whether a point was cut short when the run was stopped. A resumed run measures it again.
pub(super) fn cut_short(point: &Point) -> bool {
    let measured = point.measured();
    measured.is_some_and(|measured| measured.ended == Ended::Stopped)
}

/// Measures the ladder in `passes`, and returns the machine that follows from it. Uses the recorded ladder
/// if it is complete, which the first point of an experiment proves.
pub(super) fn machine(state: &mut RunState<'_>, header: &Header, passes: u32) -> Result<Machine> {
    let RunState { store, rig, .. } = state;
    if store.points.iter().all(|line| line.experiment == MACHINE) {
        for pass in 0..passes {
            let mut written = Ok(());
            ladder(rig, header, pass, |pass, point| {
                if written.is_ok() {
                    written = store.add(PointLine::new(MACHINE, pass, point.clone()));
                }
            });
            written?;
            rig.move_house();
        }
        calibrate(state, header, passes)?;
    }
    Ok(machine_of(header, &state.store.ladder()))
}

/// Measures the further series that predictions use. The ladder determines their cases.
fn calibrate(state: &mut RunState<'_>, header: &Header, passes: u32) -> Result<()> {
    let RunState { store, rig, .. } = state;
    let machine = machine_of(header, &store.ladder());
    let cases = calibrating(&machine);
    let mut progress = Progress::new(cases.len() as u64 * u64::from(passes));
    progress.begin("the machine".to_owned());
    for pass in 0..passes {
        for case in &cases {
            progress.next(&format!("{}, {}", case.series, place_name(case.x)));
            let point = rig.measure(case).filter(|point| !cut_short(point));
            let Some(point) = point else { return Ok(()) };
            progress.measured();
            store.add(PointLine::new(MACHINE, pass, point))?;
        }
        rig.move_house();
    }
    progress.end();
    progress.finish();
    Ok(())
}

/// Measures the ladder of a pass. Calls `each` with every rung that was measured to its end and with the
/// number of its pass: the sparse walks have more passes.
pub(super) fn ladder(
    rig: &mut Rig<'_>,
    header: &Header,
    pass: u32,
    mut each: impl FnMut(u32, &Point),
) {
    let limit = ladder_limit(reported(header), header.largest);
    let seed = header.seed.wrapping_add(u64::from(pass));
    let sparse: Vec<(u32, Case)> = sparse_of_pass(limit, header.seed, pass).collect();
    let mut progress = Progress::new(rungs(limit) + sparse.len() as u64);
    progress.begin("the machine".to_owned());
    progress.next("a ladder of random walks, to find its caches");
    rig.ladder(limit, seed, reported(header), |point| {
        progress.measured();
        progress.next(&format!("a random walk over {} and more", show(point.x)));
        if !cut_short(point) {
            each(pass, point);
        }
    });
    let mut last = None;
    for (draw, case) in sparse {
        if last.replace(draw).is_some_and(|last| last != draw) {
            rig.move_house();
        }
        progress.next(&format!("a {}, {}", case.series, show(case.x)));
        let point = rig.measure(&case).filter(|point| !cut_short(point));
        let Some(point) = point else { break };
        progress.measured();
        each(draw, &point);
    }
    progress.end();
    progress.finish();
}

/// Returns the number of rungs from 4 KiB to `limit` bytes, two per octave.
fn rungs(limit: usize) -> u64 {
    let octaves = (limit as f64 / 4096.0).log2();
    (2.0 * octaves).max(0.0) as u64 + 1
}

fn reported(header: &Header) -> [Option<f64>; 3] {
    let caches: Vec<_> = header.cpu.caches.iter().filter_map(cache_of).collect();
    reported_sizes(&caches)
}

/// Measures every case that is not recorded yet, pass by pass over all experiments, until stopped.
///
/// Each pass uses new memory: other physical pages and, because its seed differs, other random orders.
/// Sampling is shortened if the run is behind schedule. Experiments that still do not fit into its time are
/// left out of the pass. Points that undecided claims depend on are measured [further](further) while there
/// is time, among them points that were disturbed in every pass.
pub(super) fn cases(
    state: &mut RunState<'_>,
    machine: &Machine,
    experiments: &[&'static Experiment],
    passes: u32,
    mut schedule: Schedule,
    stop: &AtomicBool,
) -> Result<()> {
    let mut progress: Option<Progress> = None;
    for pass in 0..passes {
        let mut plan = planned(experiments, machine, pass);
        let points =
            |plan: &[Planned]| plan.iter().map(|(_, cases)| cases.len() as u64).sum::<u64>();
        let all = points(&plan);
        let progress = progress.get_or_insert_with(|| Progress::new(all * u64::from(passes)));
        if pass > 0 {
            keep_judged(&mut plan, &state.store, machine, pass);
            progress.less(all - points(&plan));
        }
        for (experiment, cases) in &plan {
            schedule.plan(experiment.id, cases);
        }
        state.rig.move_house();
        state.setups.clear();
        let schedule = &mut schedule;
        let mut this = Pass { state, progress, number: pass, of: passes, machine, schedule, stop };
        let left_out = this.measure(&plan)?;
        if stop.load(Ordering::Relaxed) {
            break;
        }
        if pass == 0 && !left_out.is_empty() {
            progress.found(&format!(
                "no time is left for {}; more is measured with a larger --budget",
                left_out.join(", ")
            ));
        }
    }
    if let Some(mut progress) = progress {
        state.rig.sample_for(FURTHER);
        let over = || stop.load(Ordering::Relaxed) || schedule.is_over(passes);
        further(state, machine, experiments, &mut progress, &over)?;
        progress.finish();
    }
    Ok(())
}

/// The share of its usual time that sampling gets in further passes. Passes differ more than the samples of one pass,
/// so that more passes decide more than longer ones.
const FURTHER: f64 = 0.4;

/// A pass over all experiments.
struct Pass<'a, 'r> {
    state: &'a mut RunState<'r>,
    progress: &'a mut Progress,
    number: u32,
    /// The number of passes.
    of: u32,
    machine: &'a Machine,
    schedule: &'a mut Schedule,
    stop: &'a AtomicBool,
}

/// An experiment and its cases in a pass.
pub(super) type Planned = (&'static Experiment, Vec<Case>);

impl Pass<'_, '_> {
    /// Measures the experiments, and returns the ids of those that were not measured to their end.
    fn measure(&mut self, plan: &[Planned]) -> Result<Vec<&'static str>> {
        let experiments: Vec<&Experiment> = plan.iter().map(|(of, _)| *of).collect();
        let (mut late, mut left_out) = (Vec::new(), Vec::new());
        for (index, planned) in plan.iter().enumerate() {
            let rest = &experiments[index..];
            if self.schedule.leaves(rest, self.number) {
                late.push(planned);
                continue;
            }
            let passes = self.of - self.number - 1;
            let sampling = self.schedule.sampling(rest, passes, &experiments);
            if !self.experiment(planned, sampling)? {
                left_out.push(planned.0.id);
            }
        }
        // The others may have taken less time than expected.
        let cost = |(experiment, _): &Planned| self.schedule.shortest(&[experiment])[0];
        late.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
        for planned in late {
            let (experiment, cases) = planned;
            let fits = self.schedule.fits(experiment, self.number);
            let sampling = self.schedule.sampling(&[experiment], 0, &[]);
            if !fits {
                self.progress.less(cases.len() as u64);
            }
            if !fits || !self.experiment(planned, sampling)? {
                left_out.push(experiment.id);
            }
        }
        Ok(left_out)
    }

    /// Measures an experiment. Returns whether there was time for all its cases.
    fn experiment(&mut self, (experiment, cases): &Planned, sampling: f64) -> Result<bool> {
        let Pass { state, progress, .. } = self;
        state.rig.sample_for(sampling);
        let began = Instant::now();
        let (number, of) = (self.number + 1, self.of);
        let (id, title) = (experiment.id, experiment.title);
        progress.begin(format!("{number}/{of} {id} {title}"));
        for (index, case) in cases.iter().enumerate() {
            if self.stop.load(Ordering::Relaxed) || self.schedule.is_over(self.number) {
                progress.less((cases.len() - index) as u64);
                return Ok(false);
            }
            one(state, experiment, self.number, case, progress)?;
        }
        self.schedule.took(id, began.elapsed(), sampling);
        progress.end();
        if number == of
            && let Some(found) = so_far(&state.store, experiment, self.machine)
        {
            progress.found(&found);
        }
        Ok(true)
    }
}

/// Returns the cases of a pass.
pub(super) fn planned(
    experiments: &[&'static Experiment],
    machine: &Machine,
    pass: u32,
) -> Vec<Planned> {
    let machine = Machine { seed: machine.seed.wrapping_add(u64::from(pass)), ..machine.clone() };
    let cases = |experiment: &&'static Experiment| (*experiment, (experiment.cases)(&machine));
    experiments.iter().map(cases).collect()
}

/// Drops the cases that need no further pass after the passes before this one. A third of the points of a quick pass,
/// and nine tenths of those of a full one, are only drawn.
fn keep_judged(plan: &mut [Planned], store: &PointStore, machine: &Machine, pass: u32) {
    let lines = store.points.iter();
    let measured = experiments_of(lines.filter(|line| line.pass < pass));
    for (experiment, cases) in plan {
        let mut points = measured.iter();
        if let Some((_, points)) = points.find(|(of, _)| of.id == experiment.id) {
            undecided::keep_judged(experiment, machine, points, cases);
        }
    }
}

/// Measures the points that undecided claims depend on in further passes, look by look. Which claims are
/// undecided depends only on the passes before a look, so that a resumed run continues with the same claims.
fn further(
    state: &mut RunState<'_>,
    machine: &Machine,
    experiments: &[&'static Experiment],
    progress: &mut Progress,
    over: &dyn Fn() -> bool,
) -> Result<()> {
    for (look, next) in LOOKS.into_iter().zip(LOOKS.into_iter().skip(1)) {
        if over() {
            return Ok(());
        }
        let lines = state.store.points.iter();
        let measured = experiments_of(lines.filter(|line| line.pass < look));
        let doubt = Doubt::of(machine, &measured).judged(Judging::Look);
        let uncertain = share(machine, &state.store.ladder(), &measured);
        let open = undecided(machine, uncertain, &doubt, &measured);
        for pass in look..next {
            let plan = planned(experiments, machine, pass);
            state.rig.move_house();
            state.setups.clear();
            for of in &open {
                let (experiment, claim) = (of.experiment, of.claim);
                let cases = plan.iter().find(|(of, _)| of.id == experiment.id);
                let cases = of.cases(cases.map_or(&[][..], |(_, cases)| cases));
                progress.more(cases.len() as u64);
                progress.begin(format!("{}/{next} {claim} is open", pass + 1));
                for case in cases {
                    if over() {
                        return Ok(());
                    }
                    one(state, experiment, pass, case, progress)?;
                }
                progress.end();
            }
        }
    }
    Ok(())
}

/// Measures a case, unless the record has it, or this pass has measured the same set-up before.
fn one(
    state: &mut RunState<'_>,
    experiment: &Experiment,
    pass: u32,
    case: &Case,
    progress: &mut Progress,
) -> Result<()> {
    let key = format!(
        "{:?} in {:?} on {:?}, {:?}, {:?}",
        case.setup,
        state.rig.pages_for(case),
        case.policy,
        case.laps_from,
        case.runs_of
    );
    let place = place(experiment.id, pass, &case.series, case.x);
    if let Some(line) = state.store.find(&place) {
        let known = (experiment.id.to_owned(), line.point.state.clone());
        state.setups.entry(key).or_insert(known);
        progress.known();
        return Ok(());
    }
    if let Some((id, known)) = state.setups.get(&key).filter(|_| !case.in_turn) {
        let mut point = Point { series: case.series.clone(), x: case.x, state: known.clone() };
        let same_as = id.clone();
        // The other experiment may have counted fewer events.
        let missing = state.rig.missing(&point, experiment.events);
        if let State::Measured(measured) = &mut point.state
            && !missing.is_empty()
        {
            measured.counts.extend(state.rig.counts(case, &missing));
        }
        progress.known();
        return state.store.add(PointLine {
            same_as: Some(same_as),
            ..PointLine::new(experiment.id, pass, point)
        });
    }
    progress.next(&format!("{}, {}", case.series, place_name(case.x)));
    let measured =
        state.rig.measure_and_count(case, experiment.events).filter(|point| !cut_short(point));
    let Some(point) = measured else { return Ok(()) };
    progress.measured();
    let known = (experiment.id.to_owned(), point.state.clone());
    state.store.add(PointLine::new(experiment.id, pass, point))?;
    state.setups.insert(key, known);
    Ok(())
}

/// Formats a position on the horizontal axis: large whole numbers are mostly bytes, small numbers are not.
fn place_name(x: f64) -> String {
    if x >= 1024.0 && x.fract() == 0.0 { show(x) } else { x.to_string() }
}

/// Formats the greatest change that an experiment shows, in a line. Further passes may change its number.
fn so_far(store: &PointStore, experiment: &Experiment, machine: &Machine) -> Option<String> {
    let points = points_of(&store.points, experiment.id);
    let evidence = Evidence::new(machine, &points, experiment.unit());
    let claims = experiment.claims.iter().filter(|claim| claim.takeaway.is_some());
    let judged = claims.map(|claim| VerdictLine::new(experiment, claim, claim.decide(&evidence)));
    let judged: Vec<VerdictLine> = judged.collect();
    let findings = findings(&judged, 1);
    let finding = findings.first()?;
    Some(format!("{}: {}; then {}", experiment.id, finding.headline(), finding.then_text()))
}
