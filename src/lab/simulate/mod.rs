//! Traces through simulated caches: `linefill simulate`. This module traces the cases of experiments.

mod coherence;
mod heat;
mod print;
mod source;

pub use coherence::{
    Traffic, coherence_json, coherence_table, count_traffic, traffic_json, traffic_table,
};
pub use heat::{heat_page, heat_text};
pub use print::{case_json, case_table, trace_json, trace_table};
pub use source::{Tally, feed};

use anyhow::{Result, bail};
use glob::Pattern;
use serde_json::{Value, json};

use crate::experiment::{
    Arena, Case, Context, Experiment, Machine, PageRequest, Untestable, Workload,
};
use crate::kernel::Kernel;
use crate::lab::size;
use crate::order;
use crate::sim::{Cache, Hierarchy, HierarchyDesign, HierarchyError, Reference};

/// A cache configuration: its text, and the simulated caches.
#[derive(Clone, Debug)]
pub struct Config {
    pub text: String,
    pub hierarchy: Hierarchy,
}

impl Config {
    /// Creates empty caches, which also count per set if `heat`.
    pub fn new(text: &str, design: &HierarchyDesign, heat: bool) -> Result<Self, HierarchyError> {
        let hierarchy = Hierarchy::new(design)?;
        let hierarchy = if heat { hierarchy.with_heat() } else { hierarchy };
        Ok(Config { text: text.to_owned(), hierarchy })
    }
}

/// Maximum number of lines of all caches that are simulated and kept at the same time: the lines of 64 cases
/// in caches of 128 MiB. They take 1 GiB of memory, and more with some policies.
const MOST_LINES: u64 = 1 << 27;

/// Checks that this number of cases can be simulated at the same time, each in all of these designs.
pub fn affordable(designs: &[(String, HierarchyDesign)], cases: usize) -> Result<()> {
    let each: u64 = designs.iter().map(|(_, design)| design.lines()).sum();
    let lines = each.saturating_mul(cases as u64);
    if lines > MOST_LINES {
        let fewer = match cases {
            1 => "give fewer configurations or smaller caches",
            _ => "choose cases by --series and --x, or smaller caches",
        };
        bail!(
            "caches of {lines} lines in all ({each} of --config, {cases} times): at most \
             {MOST_LINES} can be simulated at a time; {fewer}"
        );
    }
    Ok(())
}

/// Returns the levels with their names: L1i if there is one, L1d (or L1, if joint), L2 and so on.
pub fn levels(hierarchy: &Hierarchy) -> Vec<(String, &Cache)> {
    let mut levels = Vec::new();
    if let Some(cache) = hierarchy.instructions() {
        levels.push(("L1i".to_owned(), cache));
    }
    for (index, cache) in hierarchy.levels().enumerate() {
        let name = match index {
            0 if hierarchy.joint() => "L1".to_owned(),
            0 => "L1d".to_owned(),
            _ => format!("L{}", index + 1),
        };
        levels.push((name, cache));
    }
    levels
}

/// The cases of an experiment to simulate, and how.
#[derive(Clone, Debug)]
pub struct Choice {
    /// A glob of the series; `None` selects all.
    pub series: Option<Pattern>,
    /// The position on the horizontal axis; `None` selects all.
    pub x: Option<f64>,
    /// Counted rounds over the working set, after a round that is not counted.
    pub laps: u64,
    /// The largest working set in bytes.
    pub largest: usize,
    /// Whether to count per set too.
    pub heat: bool,
}

#[derive(Debug)]
pub struct CaseRun<T> {
    pub series: String,
    pub x: f64,
    /// The result, or why the case was not simulated.
    pub outcome: Result<T, Untestable>,
}

/// Returns the simulated cases of an experiment as JSON. `told` returns the fields of a result.
fn cases_json<T>(id: &str, runs: &[CaseRun<T>], told: impl Fn(&T) -> Value) -> Value {
    let case = |run: &CaseRun<T>| {
        let mut value = match &run.outcome {
            Ok(of) => told(of),
            Err(reason) => json!({ "untestable": reason.to_string() }),
        };
        value["series"] = json!(run.series);
        value["x"] = json!(run.x);
        value
    };
    json!({ "experiment": id, "cases": runs.iter().map(case).collect::<Vec<_>>() })
}

/// The result of a case's trace in every configuration.
#[derive(Debug)]
pub struct Traced {
    pub operations: u64,
    /// References that the operations made.
    pub references: u64,
    pub configs: Vec<Config>,
}

/// Returns the configurations of all traced cases, each named after its case to distinguish their maps.
pub fn maps(runs: &[CaseRun<Traced>]) -> Vec<Config> {
    let traced = runs.iter().filter_map(|run| Some((run, run.outcome.as_ref().ok()?)));
    let maps = traced.flat_map(|(run, traced)| {
        traced.configs.iter().map(|config| Config {
            text: format!("{} at {}, {}", run.series, run.x, config.text),
            hierarchy: config.hierarchy.clone(),
        })
    });
    maps.collect()
}

/// Returns the chosen cases of an experiment.
fn chosen(experiment: &Experiment, machine: &Machine, choice: &Choice) -> Result<Vec<Case>> {
    let mut cases = (experiment.cases)(machine);
    let of_series = |case: &Case| choice.series.iter().all(|glob| glob.matches(&case.series));
    let series = order::unique(cases.iter().map(|case| case.series.clone()));
    let places = cases.iter().filter(|case| of_series(case));
    let places = order::distinct_numbers(places.map(|case| case.x));
    let places: Vec<String> = places.iter().map(f64::to_string).collect();
    cases.retain(|case| of_series(case) && choice.x.is_none_or(|x| x == case.x));
    let id = experiment.id;
    match (choice.x, &choice.series) {
        _ if !cases.is_empty() => Ok(cases),
        (Some(x), _) if !places.is_empty() => {
            bail!("{id} has no case at --x {x}; it has some at {}", places.join(", "))
        }
        (_, Some(glob)) if !series.is_empty() => {
            bail!("{id} has no series `{glob}`; its series are: {}", series.join("; "))
        }
        _ => bail!("{id} has no case on this machine"),
    }
}

/// Simulates the cases of an experiment on `machine`, each in caches that a first round of the case has
/// warmed. The memory of a case begins at address 0.
///
/// # Errors
/// If no case was chosen, a design is not a possible hierarchy, or the caches of all cases have too many
/// lines.
pub fn cases(
    experiment: &Experiment,
    machine: &Machine,
    context: &Context,
    choice: &Choice,
    designs: &[(String, HierarchyDesign)],
) -> Result<Vec<CaseRun<Traced>>> {
    let cases = chosen(experiment, machine, choice)?;
    affordable(designs, cases.len())?;
    let mut arena = Arena::on(context.host);
    let mut runs = Vec::new();
    for case in cases {
        let configs = designs.iter().map(|(text, design)| Config::new(text, design, choice.heat));
        let configs: Result<Vec<Config>, HierarchyError> = configs.collect();
        let outcome = trace(&case, &mut arena, context, choice, configs?);
        runs.push(CaseRun { series: case.series, x: case.x, outcome });
    }
    Ok(runs)
}

/// Lays a case out in memory that begins at address 0, ready to be traced.
fn laid_out<'m>(
    case: &Case,
    arena: &'m mut Arena,
    context: &Context,
    choice: &Choice,
) -> Result<Workload<'m>, Untestable> {
    let bytes = case.setup.bytes();
    if bytes > choice.largest {
        let bytes = size::show(bytes as f64);
        return Err(Untestable(format!("{bytes} are more than --memory")));
    }
    let (region, _) = arena.region(bytes, PageRequest::Base)?;
    case.setup.traced(region, context)
}

fn trace(
    case: &Case,
    arena: &mut Arena,
    context: &Context,
    choice: &Choice,
    mut configs: Vec<Config>,
) -> Result<Traced, Untestable> {
    let (mut kernel, period) = laid_out(case, arena, context, choice)?.kernel()?;
    run(&mut *kernel, period, &mut configs);
    for config in &mut configs {
        config.hierarchy.forget_counts();
    }
    let operations = period.saturating_mul(choice.laps);
    let references = run(&mut *kernel, operations, &mut configs);
    if references == 0 {
        return Err(Untestable("it makes no access to memory".to_owned()));
    }
    Ok(Traced { operations, references, configs })
}

/// Traces operations through every configuration, and returns the number of references.
fn run(kernel: &mut dyn Kernel, operations: u64, configs: &mut [Config]) -> u64 {
    let mut references = 0;
    kernel.trace(operations, &mut |access| {
        references += 1;
        for config in &mut *configs {
            config.hierarchy.reference(Reference::of(access, 0));
        }
    });
    references
}
