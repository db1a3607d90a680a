//! Traces through simulated caches: `linefill simulate`. Those of experiments' own cases are made here.

mod coherence;
mod heat;
mod print;
mod source;

pub use coherence::{Talk, coherence_json, coherence_table, talk, talk_json, talk_table};
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
use crate::sim::{Cache, Hierarchy, HierarchyDesign, HierarchyError, Reference};

/// A configuration as it was typed, and the caches it makes.
#[derive(Clone, Debug)]
pub struct Config {
    /// As it was typed.
    pub text: String,
    /// The caches.
    pub hierarchy: Hierarchy,
}

impl Config {
    /// Empty caches, which count set by set as well if `heat`.
    ///
    /// # Errors
    /// If there is no such hierarchy.
    pub fn new(
        text: &str,
        design: &HierarchyDesign,
        heat: bool,
    ) -> std::result::Result<Self, HierarchyError> {
        let hierarchy = Hierarchy::new(design)?;
        Ok(Config {
            text: text.to_owned(),
            hierarchy: if heat {
                hierarchy.with_heat()
            } else {
                hierarchy
            },
        })
    }
}

/// The most lines of all caches that are simulated at a time, and kept to the end: those of 64 cases
/// in caches of 128 MiB. They take 1 GiB of memory, and more by some policies.
const MOST_LINES: u64 = 1 << 27;

/// Whether so many cases can be simulated at a time, each in every one of these designs.
///
/// # Errors
/// If their caches have too many lines.
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

/// The levels by name: L1i if there is one, L1d (or L1, if it takes both), L2 and so on.
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

/// Which cases of an experiment are simulated, and how.
#[derive(Clone, Debug)]
pub struct Choice {
    /// A glob of series; all without one.
    pub series: Option<Pattern>,
    /// Their place on the horizontal axis; all without one.
    pub x: Option<f64>,
    /// Rounds over the working set that are counted, after one that is not.
    pub laps: u64,
    /// The largest working set in bytes.
    pub largest: usize,
    /// Whether to count set by set as well.
    pub heat: bool,
}

/// A case that was simulated, or why it was not.
#[derive(Debug)]
pub struct CaseRun<T> {
    /// Its series.
    pub series: String,
    /// Its place on the horizontal axis.
    pub x: f64,
    /// What came of it.
    pub outcome: Result<T, Untestable>,
}

/// What the cases of an experiment came to: `told` adds what it is to one that was simulated.
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

/// A case's trace through every configuration.
#[derive(Debug)]
pub struct Traced {
    /// Operations traced.
    pub operations: u64,
    /// References they made.
    pub references: u64,
    /// The configurations, in order.
    pub configs: Vec<Config>,
}

/// The configurations of every case that has a trace, each named after its case, which is what
/// tells their maps apart.
pub fn maps(runs: &[CaseRun<Traced>]) -> Vec<Config> {
    let mut maps = Vec::new();
    for run in runs {
        let Ok(traced) = &run.outcome else { continue };
        maps.extend(traced.configs.iter().map(|config| Config {
            text: format!("{} at {}, {}", run.series, run.x, config.text),
            hierarchy: config.hierarchy.clone(),
        }));
    }
    maps
}

/// The cases of an experiment that were chosen.
///
/// # Errors
/// If there is none.
fn chosen(experiment: &Experiment, machine: &Machine, choice: &Choice) -> Result<Vec<Case>> {
    let mut cases = (experiment.cases)(machine);
    let mut series: Vec<String> = cases.iter().map(|case| case.series.clone()).collect();
    series.dedup();
    cases.retain(|case| {
        let mut globs = choice.series.iter();
        let named = globs.all(|glob| glob.matches(&case.series));
        named && choice.x.is_none_or(|x| x == case.x)
    });
    if cases.is_empty() {
        bail!(
            "{} has no such case; its series are: {}",
            experiment.id,
            series.join("; ")
        );
    }
    Ok(cases)
}

/// Simulates the cases of an experiment on `machine`, each in caches that a round of the case
/// itself has warmed. Its memory begins at address 0.
///
/// # Errors
/// If no case was chosen, a configuration makes no hierarchy, or the caches of all cases have too
/// many lines.
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
        let mut configs = Vec::new();
        for (text, design) in designs {
            configs.push(Config::new(text, design, choice.heat)?);
        }
        runs.push(CaseRun {
            series: case.series.clone(),
            x: case.x,
            outcome: trace(&case, &mut arena, context, choice, configs),
        });
    }
    Ok(runs)
}

/// A case in memory that begins at address 0, ready to be traced.
fn laid_out<'m>(
    case: &Case,
    arena: &'m mut Arena,
    context: &Context,
    choice: &Choice,
) -> Result<Workload<'m>, Untestable> {
    let bytes = case.setup.bytes();
    if bytes > choice.largest {
        let mib = bytes >> 20;
        return Err(Untestable(format!("{mib} MiB are more than --memory")));
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
    Ok(Traced {
        operations,
        references,
        configs,
    })
}

/// Traces operations through every configuration, and counts their references.
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
