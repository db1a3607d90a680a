//! Cases of experiments, picked by series and x, prepared and timed.

use std::hint::black_box;

use criterion::Throughput;
use linefill::cpu::{Caches, Features, Identity};
use linefill::experiment::{
    Arena, Case, Context, Counting, CpuOrder, Experiment, Linux, Machine, Ranges, Run, SampleOf,
    Shape, Timing, Unit, Untestable, Workload, find,
};
use linefill::host::ThreadGroup as _;
use linefill::kernel::{Kernel, Work};
use linefill::measure::Shot;
use linefill::os::current_cpu;
use linefill::os::{RoundOptions, Sysfs, Worker, WorkerTime, allowed, thread_group};
use linefill::time::{Rate, start, stop};

use super::driver::{Driver, Timed, is_test};

/// Seed of every random layout.
const SEED: u64 = 1;

const MIB: usize = 1 << 20;

/// Ticks from the call of a run to its start: 10 to 20 microseconds.
const AHEAD: u64 = 50_000;

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
    /// A bench named `subject`, unless the command line excludes it.
    pub fn new(subject: &'static str) -> Option<Self> {
        let driver = Driver::new(subject)?;
        let machine = machine(driver.rate());
        if let Err(reason) = machine.memory_size() {
            driver.say(&format!("what is called memory here may lie in the last level: {reason}"));
        }
        Some(Bench {
            machine,
            driver,
            context: Context { features: Features::detect(), host: &Linux },
            arena: Arena::on(&Linux),
        })
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
        let prepared = self
            .arena
            .region(case.setup.bytes(), case.pages)
            .and_then(|(region, _)| case.setup.prepare(region, &self.context))
            .and_then(Stretch::of);
        match prepared {
            Ok(mut stretch) => {
                let work = stretch.work();
                let speed = cases.throughput(work);
                let run = &mut |operations| stretch.run(operations);
                let timed = self.driver.time(&name, speed, run);
                Sampled::of(place, timed, parts(work))
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

/// A prepared case that is timed, and not counted.
enum Stretch<'m> {
    Steady(Box<dyn Kernel + 'm>),
    Shots(Box<dyn Shot + 'm>, Work),
    ThreadGroup(Threads<'m>),
    Runs { workers: Vec<Worker<'m>>, renew: Box<dyn FnMut(Run) + 'm>, operations: u64 },
}

/// Threads that start at the same tick, as in the lab.
struct Threads<'m> {
    workers: Vec<Worker<'m>>,
    pace: SampleOf,
    options: RoundOptions,
}

impl<'m> Threads<'m> {
    /// Ticks from a call to the common start: 20 to 50 microseconds.
    const AHEAD: u64 = 100_000;

    fn new(workers: Vec<Worker<'m>>, pace: SampleOf, in_step: bool) -> Self {
        let mut cpus: Vec<usize> = workers.iter().map(|worker| worker.cpu).collect();
        cpus.sort_unstable();
        cpus.dedup();
        let options =
            RoundOptions { ahead: Self::AHEAD, keep_on: cpus.len() == workers.len() && !in_step };
        Threads { workers, pace, options }
    }

    fn run(&mut self, operations: u64) -> u64 {
        let pace = self.pace;
        let ticks = thread_group(&mut self.workers, self.options, |group| {
            let times = group.round(operations);
            let first = times.first().map_or(0, |time| time.ticks);
            let mut own: Vec<u64> = times.iter().map(|time| time.ticks).collect();
            own.sort_unstable();
            match pace {
                SampleOf::First => first,
                SampleOf::Fastest => own[0],
                SampleOf::Median => own[own.len() / 2],
                SampleOf::Slowest => times.iter().map(WorkerTime::until).fold(0, u64::max),
            }
        });
        // Criterion needs a time even if the threads did not start; the bench prints the error and continues.
        ticks.unwrap_or_else(|error| {
            println!("the threads did not start: {error}");
            1
        })
    }
}

impl<'m> Stretch<'m> {
    fn of(subject: Workload<'m>) -> Result<Self, Untestable> {
        match subject {
            Workload::Steady { beside: Some(_), .. } => {
                Err(Untestable::because("it takes a second process"))
            }
            Workload::Steady { kernel, .. } => Ok(Stretch::Steady(kernel)),
            Workload::Shot { shot, work } => Ok(Stretch::Shots(shot, work)),
            Workload::Threads { workers, timing } => match timing {
                Timing::Runs { renew, operations, less: None } => {
                    Ok(Stretch::Runs { workers, renew, operations })
                }
                Timing::Runs { .. } => Err(Untestable::because("it is a difference of two")),
                Timing::Helped { .. } => Err(Untestable::because("it takes a helper thread")),
                Timing::AtOnce { sample, in_step, .. } => {
                    Ok(Stretch::ThreadGroup(Threads::new(workers, sample, in_step)))
                }
            },
            Workload::Count(_) => Err(Untestable("it is counted, not timed".to_owned())),
        }
    }

    /// The work of one operation.
    fn work(&self) -> Work {
        match self {
            Stretch::Steady(kernel) => kernel.work(),
            Stretch::Shots(_, work) => *work,
            Stretch::Runs { .. } => Work::default(),
            Stretch::ThreadGroup(threads) => {
                let first = threads.workers.first();
                first.map_or_else(Work::default, |worker| worker.kernel.work())
            }
        }
    }

    /// Runs `operations` operations, and returns the ticks they took. The time of a shot includes the clock's
    /// own time: without it, a hit would take zero or negative time, which Criterion cannot show.
    fn run(&mut self, operations: u64) -> u64 {
        match self {
            Stretch::Steady(kernel) => {
                let began = start();
                black_box(kernel.run(black_box(operations)));
                stop() - began
            }
            Stretch::ThreadGroup(threads) => threads.run(operations),
            Stretch::Shots(shot, _) => {
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
            Stretch::Runs { workers, renew, operations: of_one } => {
                let runs = operations.div_ceil(*of_one);
                let share = *of_one / workers.len() as u64;
                let options = RoundOptions { ahead: AHEAD, keep_on: false };
                let ticks = thread_group(workers, options, |group| {
                    let mut run = || {
                        renew(Run::One);
                        let times = group.round(share).iter();
                        times.map(WorkerTime::until).fold(0, u64::max)
                    };
                    (0..runs).map(|_| run()).sum()
                });
                // If threads were not available, preparing the case would have failed.
                share_of(ticks.expect("threads"), operations, runs * *of_one)
            }
        }
    }
}

/// The time of `operations` operations, if `done` operations took `ticks`.
fn share_of(ticks: u64, operations: u64, done: u64) -> u64 {
    (ticks as f64 * operations as f64 / done as f64) as u64
}

/// The number of parts of an operation, by which cases are compared: its floating-point operations, because
/// the size of an operation differs among cases; 1 if it has none.
fn parts(work: Work) -> f64 {
    work.flops.max(1) as f64
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
