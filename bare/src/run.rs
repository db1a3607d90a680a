//! A run of experiments: the ladder, the measurements that predictions need, and the cases. Each point is
//! written to the record as soon as it is measured.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::sync::atomic::AtomicBool;

use linefill::cpu::{Features, Identity, tsc_hz};
use linefill::experiment::{
    Case, Context, Effort, Experiment, Machine, Point, Rig, State, calibrating, ladder_limit,
    sparse_of_pass,
};
use linefill::host::CpuLocation;
use linefill::record::{BARE, EndLine, FORMAT, Line, MACHINE};
use linefill::recorded::{
    CpuLine, Header, PointLine, cache_of, counting_lines, cpu_line, machine_of, reported_sizes,
};
use linefill::time::{Rate, start};

use crate::console::Console;
use crate::host::{self, HOST};
use crate::measure::Here;
use crate::options::{Options, Profile};
use crate::pages::Pages;
use crate::selection::select;
use crate::{counters, heap, walk};

/// The number of the one CPU.
const CPU: usize = 0;

/// No signal stops a run here.
static STOP: AtomicBool = AtomicBool::new(false);

/// The divisor for the fraction of the free memory that the largest working set may take: during a change of
/// layout, both the old and the new layout are allocated.
const SHARE: u64 = 4;

/// Runs the experiments that `names` selects, in the memory of `pages`.
pub fn experiments(
    console: &mut Console<'_>,
    mut pages: Pages,
    names: &str,
    options: &Options<'_>,
    here: &Here,
    rate: Rate,
) {
    let heap = heap::begin(&mut pages) >> 20;
    if heap == 0 {
        return console.check("there is memory for an allocator", false);
    }
    let experiments = match select(names) {
        Ok(experiments) => experiments,
        Err(reason) => return console.check(reason, false),
    };
    let began = start();
    let free = pages.free();
    let largest = match options.largest {
        Some(_) => options.largest_of(console, free as usize) as u64,
        None => (free / SHARE).min(1 << 30),
    };
    let capabilities = counters::detect(options.plant_pmu, here.ring);
    let (counting, events) = host::counting(capabilities);
    host::begin(pages, capabilities.ok(), here.ring);

    let effort = match options.profile {
        Profile::Quick => Effort::QUICK,
        Profile::Smoke => Effort::SMOKE,
    };
    let features = Features::detect();
    let identity = Identity::detect();
    let header = Header {
        counting: counting_lines(&counting),
        ..header(&identity, cpu_line(&identity, features), names, options, here, rate, largest)
    };
    let context = Context { features, host: &HOST };
    let rig = Rig::new(rate, context, effort, &STOP).with_counters(events);
    console.say(format_args!(
        "experiments: {}, passes: {}, MiB of the allocator: {heap}",
        experiments.len(),
        effort.passes
    ));
    write(console, &Line::Header(&header));
    let mut run = Run { console, rig, header: &header, passes: effort.passes, ladder: Vec::new() };
    // Experiments with arithmetic, the simulator or CPUID alone need no ladder.
    let machine = match experiments.iter().any(|one| one.is_of_this_machine()) {
        true => run.machine(),
        false => machine_of(&header, &[]),
    };
    run.cases(&machine, &experiments);
    let seconds = rate.nanos((start() - began) as f64) / 1e9;
    let end = EndLine { seconds, interrupted: false };
    write(console, &Line::End(end));
}

/// A line of a record without verdicts: the reader of the record decides them.
type RecordLine<'l> = Line<&'l Header, &'l PointLine, ()>;

fn write(console: &mut Console<'_>, line: &RecordLine<'_>) {
    match serde_json::to_string(line) {
        Ok(text) => console.line(&text),
        Err(_) => console.check("a record line is a JSON object", false),
    }
}

fn header(
    identity: &Identity,
    cpu: CpuLine,
    names: &str,
    options: &Options<'_>,
    here: &Here,
    rate: Rate,
    largest: u64,
) -> Header {
    let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
    Header {
        format: FORMAT,
        linefill: env!("CARGO_PKG_VERSION").to_owned(),
        rustc: env!("LINEFILL_RUSTC").to_owned(),
        started: here.started,
        cpu,
        host: Some(BARE.to_owned()),
        hypervisor: identity.hypervisor_name().map(str::to_owned),
        pinned: Some(CPU),
        tick_hz: rate.hz(),
        stated_tick_hz: tsc_hz().map(|hz| hz as f64),
        core_per_tick: walk::core_per_tick(),
        seed: options.seed,
        profile: match options.profile {
            Profile::Quick => "quick",
            Profile::Smoke => "smoke",
        }
        .to_owned(),
        selection: names.split(',').map(str::to_owned).collect(),
        largest,
        load_to_use: identity.load_to_use(),
        ports: identity.ports(),
        locations: vec![CpuLocation::from([CPU; 5])],
        notes: owned(here.notes),
        ..Header::default()
    }
}

struct Run<'c, 'o, 'h> {
    console: &'c mut Console<'o>,
    rig: Rig<'static>,
    header: &'h Header,
    passes: u32,
    ladder: Vec<Point>,
}

impl Run<'_, '_, '_> {
    /// Measures the ladder. Returns the machine that follows from it.
    fn machine(&mut self) -> Machine {
        let Header { largest, seed, .. } = *self.header;
        let caches: Vec<_> = self.header.cpu.caches.iter().filter_map(cache_of).collect();
        let reported = reported_sizes(&caches);
        let limit = ladder_limit(reported, largest);
        for pass in 0..self.passes {
            let Run { console, rig, ladder, .. } = self;
            rig.ladder(limit, seed.wrapping_add(u64::from(pass)), reported, |point| {
                add(console, PointLine::new(MACHINE, pass, point.clone()));
                ladder.push(point.clone());
            });
            let mut last = None;
            for (draw, case) in sparse_of_pass(limit, seed, pass) {
                if last.replace(draw).is_some_and(|last| last != draw) {
                    self.rig.move_house();
                }
                self.of_machine(draw, &case);
            }
            self.rig.move_house();
        }
        let cases = calibrating(&self.known());
        for pass in 0..self.passes {
            for case in &cases {
                self.of_machine(pass, case);
            }
            self.rig.move_house();
        }
        self.known()
    }

    /// The machine as known so far.
    fn known(&self) -> Machine {
        machine_of(self.header, &linefill::experiment::merged(self.ladder.clone()))
    }

    /// Measures a point of the machine.
    fn of_machine(&mut self, pass: u32, case: &Case) {
        if let Some(point) = self.rig.measure(case) {
            self.ladder.push(point.clone());
            add(self.console, PointLine::new(MACHINE, pass, point));
        }
    }

    /// Measures every case in every pass. Each pass has other pages and other random orders.
    fn cases(&mut self, machine: &Machine, experiments: &[&'static Experiment]) {
        for pass in 0..self.passes {
            let seed = machine.seed.wrapping_add(u64::from(pass));
            let machine = Machine { seed, ..machine.clone() };
            self.rig.move_house();
            let mut measured = Measured::default();
            for experiment in experiments {
                self.console.say(format_args!(
                    "pass {} of {}: {} {}",
                    pass + 1,
                    self.passes,
                    experiment.id,
                    experiment.title
                ));
                for case in (experiment.cases)(&machine) {
                    self.case(experiment, pass, &case, &mut measured);
                }
            }
        }
    }

    /// Measures one case, or reuses what another experiment measured for it in this pass.
    fn case(&mut self, experiment: &Experiment, pass: u32, case: &Case, measured: &mut Measured) {
        let known = measured.find(case);
        if let Some((id, state)) = known {
            let point = Point { series: case.series.clone(), x: case.x, state };
            let line = PointLine::new(experiment.id, pass, point);
            return add(self.console, PointLine { same_as: Some(id), ..line });
        }
        if let Some(point) = self.rig.measure_and_count(case, experiment.events) {
            measured.keep(experiment, case, &point.state);
            add(self.console, PointLine::new(experiment.id, pass, point));
        }
    }
}

fn add(console: &mut Console<'_>, line: PointLine) {
    write(console, &Line::Point(&line));
}

/// The results for the set-ups in this pass, with the experiment that measured each.
#[derive(Default)]
struct Measured(BTreeMap<String, (String, State)>);

impl Measured {
    fn find(&self, case: &Case) -> Option<(String, State)> {
        // Cases that are compared with their neighbours are measured alternately with them, so no result is
        // reused.
        if case.in_turn {
            return None;
        }
        self.0.get(&key(case)).cloned()
    }

    fn keep(&mut self, experiment: &Experiment, case: &Case, state: &State) {
        let mut state = state.clone();
        // The samples are only in the line of the first point.
        if let State::Measured(measured) = &mut state {
            measured.samples = Vec::new();
        }
        self.0.insert(key(case), (experiment.id.to_string(), state));
    }
}

/// The whole set-up of a case, as text.
fn key(case: &Case) -> String {
    format!("{:?} in {:?}, {:?}, {:?}", case.setup, case.pages, case.laps_from, case.runs_of)
}
