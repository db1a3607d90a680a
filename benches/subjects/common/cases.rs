//! Cases of experiments, picked by series and x, prepared and timed.

use std::collections::BTreeSet;
use std::hint::black_box;

use criterion::Throughput;
use linefill::cpu::{Caches, Features, Identity};
use linefill::experiment::{
    Arena, Case, Context, Counting, CpuOrder, Experiment, Linux, Machine, PreparedCase, Ranges,
    Run, SampleOf, Shape, Timing, Unit, Untestable, Workload, find,
};
use linefill::host::ThreadGroup as _;
use linefill::kernel::Work;
use linefill::os::{RoundOptions, Sysfs, allowed, current_cpu, thread_group};
use linefill::time::{Rate, start, stop};

use super::driver::{Driver, Timed, is_test, ticks};

/// Seed of every random layout.
const SEED: u64 = 1;

const MIB: usize = 1 << 20;

/// Ticks from the call of a round to its start: 20 to 50 microseconds.
const AHEAD: u64 = 100_000;

/// What a bench of experiments needs: the machine that the cases depend on, memory, and clocks.
pub struct Bench {
    /// Times code that is no case of an experiment.
    pub driver: Driver,
    /// The machine as CPUID describes it.
    pub machine: Machine,
    context: Context,
    arena: Arena,
}

/// The times of a case, and its place on the horizontal axis.
#[derive(Clone, Debug, Default)]
pub struct Sampled {
    place: String,
    timed: Timed,
}

/// An experiment and its cases on this machine.
pub struct Cases {
    experiment: &'static Experiment,
    cases: Vec<Case>,
}

impl Bench {
    /// A bench whose cases `driver` times. Says so if what it calls memory may lie in the last level.
    pub fn new(driver: Driver) -> Self {
        let machine = machine(driver.rate());
        if let Err(reason) = machine.memory_size() {
            driver.say(&format!("what is called memory here may lie in the last level: {reason}"));
        }
        let context = Context { features: Features::detect(), host: &Linux };
        Bench { driver, machine, context, arena: Arena::on(&Linux) }
    }

    /// The cases of the experiment `id`.
    pub fn cases(&self, id: &str) -> Cases {
        let Some(experiment) = find(id) else {
            panic!("there is no experiment {id}");
        };
        Cases { experiment, cases: (experiment.cases)(&self.machine) }
    }

    /// Times the case of `series` whose x is nearest to `x`.
    ///
    /// Skips a case that this machine cannot run, and prints the reason.
    pub fn time(&mut self, cases: &Cases, series: &str, x: f64) -> Sampled {
        let Some(case) = cases.nearest(series, x) else {
            let id = cases.experiment.id;
            self.driver.say(&format!("{series}: skipped: {id} has no such case here"));
            return Sampled::default();
        };
        let place = cases.place(case);
        let name = cases.name(case);
        let prepared = PreparedCase::new(case, &mut self.arena, case.pages, self.context);
        match prepared.and_then(timeable) {
            Ok(mut prepared) => {
                let work = prepared.work();
                let speed = cases.throughput(work);
                let run = &mut |operations| run(&mut prepared.workload, operations);
                let timed = self.driver.time(&name, speed, run);
                // Cases are compared by their floating-point operations, if they have any, because the size
                // of an operation differs among cases.
                Sampled::of(place, timed, work.flops.max(1) as f64)
            }
            Err(reason) => {
                self.driver.say(&format!("{name}: skipped: {reason}"));
                Sampled::default()
            }
        }
    }

    /// Prints the ratio of the times of `of` and `to`, if both were sampled: in core cycles, or in ticks if
    /// there is no yardstick. The times are per floating-point operation if there are any, else per
    /// operation.
    pub fn ratio(&self, what: &str, of: &Sampled, to: &Sampled) {
        let over = |of: Option<f64>, to: Option<f64>| Some(of? / to?);
        let (a, b) = (of.timed, to.timed);
        let ratio = over(a.cycles, b.cycles).or_else(|| over(a.ticks, b.ticks));
        if let Some(ratio) = ratio {
            let place = if of.place == to.place { of.place.as_str() } else { "" };
            self.driver.say(&format!("{what}{place}: {ratio:.2}"));
        }
    }
}

impl Sampled {
    /// The times per part of an operation, if an operation has `parts` parts.
    pub fn of(place: String, timed: Timed, parts: f64) -> Self {
        Sampled {
            place,
            timed: Timed {
                ticks: timed.ticks.map(|ticks| ticks / parts),
                cycles: timed.cycles.map(|cycles| cycles / parts),
            },
        }
    }
}

impl Cases {
    /// The case of `series` nearest to `x` by ratio, because most axes are logarithmic.
    fn nearest(&self, series: &str, x: f64) -> Option<&Case> {
        let distance = |case: &&Case| ((case.x + 1.0) / (x + 1.0)).ln().abs();
        self.cases
            .iter()
            .filter(|case| case.series == series)
            .min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }

    /// A name for `case` that tells the meaning of its numbers.
    fn name(&self, case: &Case) -> String {
        let series = &case.series;
        let place = self.place(case);
        match self.experiment.plot.map(|plot| plot.shape) {
            Some(Shape::Surface { depth } | Shape::Heat { depth, .. }) => {
                format!("{depth} {series}{place}")
            }
            _ => format!("{series}{place}"),
        }
    }

    /// The place of `case` on the horizontal axis, as a suffix for a name.
    fn place(&self, case: &Case) -> String {
        let x = case.x;
        match self.experiment.plot.map(|plot| plot.x) {
            Some(axis) if axis.bytes => format!(", {}", bytes_in_words(x)),
            Some(axis) if axis.label.ends_with(')') => {
                named(axis.label, x).map_or(String::new(), |name| format!(", {name}"))
            }
            Some(axis) => format!(", {} {x}", axis.label),
            None => format!(", {x}"),
        }
    }

    /// The throughput of an operation that does `work`, if the experiment measures speed.
    fn throughput(&self, work: Work) -> Option<Throughput> {
        match self.experiment.plot?.unit {
            Unit::GigabytesPerSecond => {
                let bytes = u64::from(work.bytes_read + work.bytes_written);
                Some(Throughput::Bytes(bytes))
            }
            Unit::GigaflopsPerSecond => Some(Throughput::Elements(work.flops)),
            _ => None,
        }
    }
}

/// Returns the case, if Criterion can time it.
fn timeable(prepared: PreparedCase<'_>) -> Result<PreparedCase<'_>, Untestable> {
    let why = match &prepared.workload {
        Workload::Steady { beside: Some(_), .. } => "it takes a second process",
        Workload::Threads { timing: Timing::Runs { less: Some(_), .. }, .. } => {
            "it is a difference of two"
        }
        Workload::Threads { timing: Timing::Helped { .. }, .. } => "it takes a helper thread",
        Workload::Count(_) => "it is counted, not timed",
        _ => return Ok(prepared),
    };
    Err(Untestable::because(why))
}

/// Runs `operations` operations of a [timeable] case, and returns the ticks they took: Criterion chooses the
/// operations and takes the samples, which the lab's own timing of the case does itself. The time of a shot
/// includes the clock's own time: without it, a hit would take zero or negative time, which Criterion cannot show.
fn run(workload: &mut Workload<'_>, operations: u64) -> u64 {
    match workload {
        Workload::Steady { kernel, .. } => ticks(kernel.as_mut(), operations),
        Workload::Shot { shot, .. } => {
            let of_one = shot.operations().max(1);
            let shots = operations.div_ceil(of_one);
            let mut ticks = 0;
            for _ in 0..shots {
                shot.prepare();
                let began = start();
                black_box(shot.shoot());
                ticks += stop() - began;
            }
            share_of(ticks, operations, shots * of_one)
        }
        Workload::Threads { workers, timing: Timing::AtOnce { sample, in_step, .. } } => {
            let cpus: BTreeSet<usize> = workers.iter().map(|worker| worker.cpu).collect();
            let keep_on = cpus.len() == workers.len() && !*in_step;
            let options = RoundOptions { ahead: AHEAD, keep_on };
            let ticks =
                thread_group(workers, options, |group| sample.ticks(group.round(operations)));
            // Criterion needs a time even if the threads did not start; the bench prints the error and continues.
            ticks.unwrap_or_else(|error| {
                println!("the threads did not start: {error}");
                1
            })
        }
        Workload::Threads { workers, timing: Timing::Runs { renew, operations: of_one, .. } } => {
            let runs = operations.div_ceil(*of_one);
            let share = *of_one / workers.len() as u64;
            let options = RoundOptions { ahead: AHEAD, keep_on: false };
            let ticks = thread_group(workers, options, |group| {
                let mut run = || {
                    renew(Run::One);
                    SampleOf::Slowest.ticks(group.round(share))
                };
                (0..runs).map(|_| run()).sum()
            });
            // If threads were not available, preparing the case would have failed.
            share_of(ticks.expect("threads"), operations, runs * *of_one)
        }
        Workload::Threads { timing: Timing::Helped { .. }, .. } | Workload::Count(_) => {
            unreachable!("it is not timeable")
        }
    }
}

/// The time of `operations` operations, if `done` operations took `ticks`.
fn share_of(ticks: u64, operations: u64, done: u64) -> u64 {
    (ticks as f64 * operations as f64 / done as f64) as u64
}

/// The name of the place `x` on an axis whose label lists places: `after this (0), after that (1)`.
fn named(label: &str, x: f64) -> Option<&str> {
    let mark = format!(" ({x})");
    label.split(", ").find_map(|name| name.strip_suffix(&mark))
}

fn bytes_in_words(bytes: f64) -> String {
    let kib = bytes / 1024.0;
    match kib {
        kib if kib < 1.0 => format!("{bytes} B"),
        kib if kib < 1024.0 => format!("{kib:.0} KiB"),
        kib => format!("{:.0} MiB", kib / 1024.0),
    }
}

/// The machine from CPUID alone: the lab's measured ladder would take longer than a bench.
fn machine(rate: Rate) -> Machine {
    let caches = Caches::detect();
    // In a test nothing is timed, and a small last level makes small working sets.
    let most = if is_test() { 4 * MIB } else { usize::MAX };
    let reported =
        [1, 2, 3].map(|level| caches.data(level).map(|cache| cache.size.min(most as _) as f64));
    // Four times the last level, where the working set is in memory. Limited, because a small machine has
    // less memory and a bench has little time.
    let last = caches.last_level().map_or(0, |cache| cache.size as usize);
    Machine {
        vendor: Identity::detect().vendor,
        calibration: linefill::experiment::Calibration::default(),
        caches: caches.to_vec(),
        load_to_use: Identity::detect().load_to_use(),
        ports: Identity::detect().ports(),
        counting: Counting::default(),
        cpu_order: CpuOrder::around(current_cpu(), Sysfs::live().locations(&allowed())),
        nodes: Sysfs::live().nodes().unwrap_or_default(),
        rate,
        seed: SEED,
        ladder: Vec::new(),
        ladder_refused: None,
        ranges: Ranges::from_ladder(&[], reported),
        largest: (4 * last).clamp(64 * MIB, 256 * MIB),
        full: false,
        prefetchers_off: false,
    }
}
