//! Made-up points for the cases of an experiment, and the expected results.

use linefill::counters::Quantity;
use linefill::experiment::{
    Claim, Count, Counting, Distribution, Evidence, Experiment, Judgement, Machine, Measured,
    Point, Quality, State, ThreadStats, Unit, Untestable, Verdict, find, merged,
};
use linefill::kernel::Work;
use linefill::measure::Ended;
use linefill::stats::{Interval, Summary};
use linefill::time::Rate;

/// The made-up result of a case.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// A time, or a value in another unit of the experiment.
    Timed(Interval),
    /// The same on a machine where the yardstick gives no value.
    WithoutCoreClock(Interval),
    Counted(f64),
    Untestable(&'static str),
    /// Not measured: the run stopped earlier.
    Missing,
}

/// A precise value: within half a percent.
pub fn time(value: f64) -> Value {
    noisy(value, 0.005)
}

/// A value with the relative noise `share`.
pub fn noisy(value: f64, share: f64) -> Value {
    Value::Timed(Interval::exact(value).widened(share))
}

/// The usual values with a change.
pub fn but<T>(mut usual: T, change: impl FnOnce(&mut T)) -> T {
    change(&mut usual);
    usual
}

/// The experiment with this id.
pub fn experiment(id: &str) -> &'static Experiment {
    find(id).unwrap_or_else(|| panic!("there is no {id}"))
}

/// An experiment's points on a machine.
#[derive(Clone)]
pub struct Planted {
    pub experiment: &'static Experiment,
    pub machine: Machine,
    pub points: Vec<Point>,
}

impl Planted {
    /// Assigns every case of the experiment on `machine` the result of `value`, given its series and x, in
    /// the unit in which the experiment is judged.
    pub fn new(id: &str, machine: &Machine, value: impl Fn(&str, f64) -> Value) -> Self {
        let experiment = experiment(id);
        let points = (experiment.cases)(machine)
            .into_iter()
            .filter_map(|case| {
                let value = value(&case.series, case.x);
                Some(Point {
                    state: state(value, experiment.unit(), machine.rate)?,
                    series: case.series,
                    x: case.x,
                })
            })
            .collect();
        Planted { experiment, machine: machine.clone(), points }
    }

    /// Other values at the same places: the result of `value`, given the number of the place and its x.
    pub fn with_values(&self, value: impl Fn(usize, f64) -> Value) -> Self {
        let (unit, rate) = (self.experiment.unit(), self.machine.rate);
        let places = self.points.iter().enumerate();
        let points = places.filter_map(|(at, place)| {
            Some(Point { state: state(value(at, place.x), unit, rate)?, ..place.clone() })
        });
        Planted {
            experiment: self.experiment,
            machine: self.machine.clone(),
            points: points.collect(),
        }
    }

    /// The same points, judged on another machine.
    pub fn on(self, machine: Machine) -> Self {
        Planted { machine, ..self }
    }

    /// The same points, without those of the series whose names contain one of `words`, for `reason`.
    pub fn lacking(mut self, words: &[&str], reason: &str) -> Self {
        for point in &mut self.points {
            if words.iter().any(|word| point.series.contains(word)) {
                point.state = State::Untestable(Untestable(reason.into()));
            }
        }
        self
    }

    /// Removes the points for which `dropped` is true.
    pub fn without(mut self, dropped: impl Fn(&str, f64) -> bool) -> Self {
        self.points.retain(|point| !dropped(&point.series, point.x));
        self
    }

    pub fn evidence(&self) -> Evidence<'_> {
        Evidence::new(&self.machine, &self.points, self.experiment.unit())
    }

    /// The same points with counts: `count` gives the value for a series, an x, and each event of the
    /// experiment. `None` means that the event was not counted.
    pub fn counting(mut self, count: impl Fn(&str, f64, Quantity) -> Option<Interval>) -> Self {
        for point in &mut self.points {
            let State::Measured(measured) = &mut point.state else {
                continue;
            };
            let wanted = self.experiment.events.iter();
            measured.counts = wanted
                .filter_map(|&quantity| {
                    Some(Count {
                        quantity,
                        value: count(&point.series, point.x, quantity)?,
                        multiplexed: false,
                    })
                })
                .collect();
        }
        self
    }

    /// The same points, measured in these pages.
    pub fn granted(mut self, pages: &str) -> Self {
        let points = self.points.iter_mut();
        for measured in points.filter_map(Point::measured_mut) {
            pages.clone_into(&mut measured.pages);
        }
        self
    }

    /// The same points, measured on several threads. `spread` gives the time of the slowest thread relative
    /// to the fastest for a series, or `None` for points on one thread.
    pub fn with_spread(mut self, spread: impl Fn(&str) -> Option<f64>) -> Self {
        for point in &mut self.points {
            let stats = spread(&point.series).map(|slowest| ThreadStats {
                workers: 2,
                cpus: 2,
                fastest: 10.0,
                slowest: 10.0 * slowest,
                pair: Some([0, 1]),
                misplaced: None,
                round_trip: None,
                lead: None,
            });
            if let State::Measured(measured) = &mut point.state {
                measured.thread_stats = stats;
            }
        }
        self
    }

    /// The same points, each in several passes. `passes` returns the quality of each pass of a series, and the
    /// times of its fastest and its slowest thread.
    pub fn in_passes(mut self, passes: impl Fn(&str) -> Vec<(Quality, [f64; 2])>) -> Self {
        let each = self.points.iter().flat_map(|point| {
            let passes = passes(&point.series).into_iter();
            passes.map(|(quality, [fastest, slowest])| {
                let mut point = point.clone();
                if let State::Measured(measured) = &mut point.state
                    && let Some(stats) = &mut measured.thread_stats
                {
                    (stats.fastest, stats.slowest) = (fastest, slowest);
                    measured.quality = quality;
                }
                point
            })
        });
        self.points = merged(each.collect());
        self
    }

    /// The same points, each in a further pass that took `factor` of x times as long.
    pub fn with_a_slower_pass(mut self, factor: impl Fn(f64) -> f64) -> Self {
        let slower = self.points.iter().cloned().map(|mut point| {
            if let State::Measured(measured) = &mut point.state {
                let factor = factor(point.x);
                measured.ticks.median *= factor;
                measured.ticks.interval = measured.ticks.interval.scaled(factor);
            }
            point
        });
        let both = self.points.iter().cloned().chain(slower);
        self.points = merged(both.collect());
        self
    }

    /// The same points; multi-thread points get a line round trip of `ticks` ticks.
    pub fn with_round_trip(mut self, ticks: Option<f64>) -> Self {
        for point in &mut self.points {
            if let State::Measured(measured) = &mut point.state
                && let Some(stats) = &mut measured.thread_stats
            {
                stats.round_trip = ticks;
            }
        }
        self
    }

    /// The same points with runs that were timed one by one. For a series, `ticks` gives the median and p99
    /// of each pass.
    pub fn with_runs(mut self, ticks: impl Fn(&str) -> Vec<[u64; 2]>) -> Self {
        for point in &mut self.points {
            let runs = ticks(&point.series).into_iter();
            let runs = runs.map(|[p50, p99]| Distribution {
                count: 10_000,
                operations: 100,
                min: p50,
                p50,
                p90: p50,
                p99,
                p999: p99,
                // The counter advances by one tick.
                max: 100 * p99 + 1,
            });
            if let State::Measured(measured) = &mut point.state {
                measured.runs = runs.collect();
            }
        }
        self
    }

    /// The same with a time-stamp counter that advances by so many ticks, which divide the median and p99.
    pub fn in_steps(mut self, of: u64) -> Self {
        let points = self.points.iter_mut();
        for runs in points.filter_map(|point| Some(&mut point.measured_mut()?.runs)) {
            runs.iter_mut().for_each(|runs| runs.max -= runs.max % of);
        }
        self
    }

    /// The same on a machine without counters, for `reason`.
    pub fn counting_nothing(mut self, reason: &str) -> Self {
        let wanted = self.experiment.events.iter();
        let answers = wanted.map(|&quantity| (quantity, Err(reason.to_owned())));
        self.machine.counting = Counting::of(answers);
        self
    }

    /// The same times, measured while the clock of the core was this factor of its usual rate in memory.
    pub fn with_clock_in_memory(self, factor: f64) -> Self {
        let memory = self.machine.ranges.memory;
        self.with_clock(|_, x| if memory.holds(x) { factor } else { 1.0 })
    }

    /// The same times, measured while the clock of the core was these factors of its usual rate.
    pub fn with_clock(mut self, factor: impl Fn(&str, f64) -> f64) -> Self {
        for point in &mut self.points {
            let factor = factor(&point.series, point.x);
            if let State::Measured(measured) = &mut point.state {
                measured.core_per_tick = measured.core_per_tick.map(|rate| rate * factor);
            }
        }
        self
    }

    /// The same, with times in L1d that may be zero.
    pub fn with_doubtful_l1(self) -> Self {
        let l1 = self.machine.ranges.l1.hi;
        self.with_doubtful(|_, x| x <= l1)
    }

    /// The same, with times that may be zero where `doubtful` is true.
    pub fn with_doubtful(mut self, doubtful: impl Fn(&str, f64) -> bool) -> Self {
        for point in &mut self.points {
            if let State::Measured(measured) = &mut point.state
                && doubtful(&point.series, point.x)
            {
                let ticks = &mut measured.ticks;
                ticks.interval = ticks.interval.widened(1.5);
            }
        }
        self
    }

    /// The same, with at least the relative noise `share` on every timed point.
    pub fn with_noise(mut self, share: f64) -> Self {
        for point in &mut self.points {
            if let State::Measured(measured) = &mut point.state {
                let ticks = &mut measured.ticks;
                ticks.interval = ticks.interval.widened(share);
            }
        }
        self
    }
}

fn state(value: Value, unit: Unit, rate: Rate) -> Option<State> {
    Some(match value {
        Value::Timed(value) => measured(value, unit, rate, Some(CORE_PER_TICK)),
        Value::WithoutCoreClock(value) => measured(value, unit, rate, None),
        Value::Counted(count) => State::Counted(count),
        Value::Untestable(reason) => State::Untestable(Untestable(reason.to_owned())),
        Value::Missing => return None,
    })
}

/// Core cycles per tick of the planted machines.
pub const CORE_PER_TICK: f64 = 1.3;

/// The point whose value in `unit` is `value`: inverts the conversions of judging.
fn measured(value: Interval, unit: Unit, rate: Rate, core_per_tick: Option<f64>) -> State {
    let work = Work { loads: 1, bytes_read: 64, flops: 16, instructions: 10, ..Work::default() };
    let ticks_a_nano = rate.hz() / 1e9;
    let interval = match unit {
        Unit::CoreCycles | Unit::Events => value.scaled(1.0 / CORE_PER_TICK),
        Unit::Nanoseconds => value.scaled(ticks_a_nano),
        Unit::GigabytesPerSecond => {
            let ticks = |bandwidth: f64| f64::from(work.bytes_read) / bandwidth * ticks_a_nano;
            Interval::new(ticks(value.lo), ticks(value.hi))
        }
        Unit::BytesPerCycle => {
            let ticks = |bandwidth: f64| f64::from(work.bytes_read) / bandwidth / CORE_PER_TICK;
            Interval::new(ticks(value.lo), ticks(value.hi))
        }
        Unit::CyclesPerMultiplyAdd => value.scaled(work.flops as f64 / 2.0 / CORE_PER_TICK),
        Unit::CyclesPerInstruction => value.scaled(work.instructions as f64 / CORE_PER_TICK),
        Unit::GigaflopsPerSecond => {
            let ticks = |speed: f64| work.flops as f64 / speed * ticks_a_nano;
            Interval::new(ticks(value.lo), ticks(value.hi))
        }
        // A time is not a count, so the point becomes untestable.
        Unit::Count => value,
        Unit::Percent => panic!("no time is measured in {unit:?}"),
    };
    State::Measured(Box::new(Measured {
        ticks: Summary { n: 15, median: interval.middle(), mad: 0.0, min: interval.lo, interval },
        core_per_tick,
        operations: 1,
        work,
        samples: Vec::new(),
        disturbed: 0,
        quality: Quality::Clean,
        ended: Ended::Precise,
        pages: "planted".to_owned(),
        passes: Vec::new(),
        counts: Vec::new(),
        runs: Vec::new(),
        interrupts: None,
        thread_stats: None,
        confidence: None,
    }))
}

/// A claim, points for it, and the expected verdict.
pub struct Row {
    /// The experiment's id.
    pub id: &'static str,
    /// The part of the claim's id after the id of the experiment, such as `.2`.
    claim: &'static str,
    pub wanted: Verdict,
    plant: fn(&Machine) -> Planted,
    /// A text that the numbers must contain.
    pub says: &'static str,
}

/// A row with any numbers.
pub fn row(
    id: &'static str,
    claim: &'static str,
    wanted: Verdict,
    plant: fn(&Machine) -> Planted,
) -> Row {
    Row { id, claim, wanted, plant, says: "" }
}

impl Row {
    /// The same, but the numbers must contain `says`.
    pub fn says(self, says: &'static str) -> Self {
        Row { says, ..self }
    }

    pub fn name(&self) -> String {
        format!("{}{}", self.id, self.claim)
    }

    /// The claim, and its index among the claims of its experiment.
    pub fn claim(&self) -> (usize, &'static Claim) {
        let claims = experiment(self.id).claims.iter().enumerate();
        let mut found = claims.filter(|(_, claim)| claim.id == self.name());
        let claim = found.next();
        claim.unwrap_or_else(|| panic!("{} is no claim", self.name()))
    }

    pub fn planted(&self, machine: &Machine) -> Planted {
        (self.plant)(machine)
    }

    pub fn judge(&self, planted: &Planted) -> Judgement {
        self.claim().1.decide(&planted.evidence())
    }
}

/// Selects one of four numbers, for working sets in L1d, in L2, in the last level and in memory.
pub fn by_level(machine: &Machine, x: f64, levels: [f64; 4]) -> f64 {
    let ranges = &machine.ranges;
    let ends = [ranges.l1.hi, ranges.l2.hi, ranges.llc.hi].map(|half| 2.0 * half);
    let level = ends.iter().filter(|end| x > **end).count();
    levels[level]
}
