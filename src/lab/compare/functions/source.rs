//! Reads timings of functions from the folders that Criterion writes, and from lines of kind `function`.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use crate::order;
use crate::stats::Interval;

/// The subfolder with Criterion's last run of a benchmark.
pub const NEW: &str = "new";

/// Maximum nesting depth of benchmarks in Criterion's folder: group, function and value, with some reserve.
const DEPTH: usize = 8;

/// Maximum size of a file in bytes.
const MOST: u64 = 64 << 20;

/// A value with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// The value itself. A median need not lie in the middle of its interval.
    pub at: f64,
    pub range: Interval,
}

impl core::fmt::Display for Value {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.range.write_with(self.at, f)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Name, which identifies the function in both sources.
    pub name: String,
    pub value: Value,
    /// The unit of the value; empty if it is unknown, because Criterion does not store it.
    pub unit: &'static str,
    /// The same value in core cycles, if known.
    pub cycles: Option<Value>,
}

/// All timings of a file or a folder.
#[derive(Clone, Debug)]
pub struct Source {
    pub name: String,
    /// The functions, sorted by name.
    pub functions: Vec<Function>,
}

/// Criterion's file `estimates.json`.
#[derive(Deserialize)]
struct Estimates {
    median: Estimate,
}

#[derive(Deserialize)]
struct Estimate {
    point_estimate: f64,
    confidence_interval: Confidence,
}

#[derive(Deserialize)]
struct Confidence {
    lower_bound: f64,
    upper_bound: f64,
}

/// Criterion's file `benchmark.json`.
#[derive(Deserialize)]
struct Id {
    full_id: String,
}

/// A line of kind `function`. Each time stands between the ends of its interval.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Line {
    Function { name: String, nanoseconds: [f64; 3], cycles: Option<[f64; 3]> },
}

impl Source {
    /// Reads the timings at `path`; in Criterion's folder, those of `baseline`. `None` if there are no
    /// timings, for example because `path` is the record of a run.
    ///
    /// # Errors
    /// If a file with timings cannot be read or is damaged, or a function occurs twice.
    pub fn at(path: &Path, baseline: &str) -> Result<Option<Source>> {
        let mut functions = Vec::new();
        match path.is_dir() {
            true => in_folder(path, baseline, DEPTH, &mut functions)?,
            false => functions = in_file(path)?,
        }
        order::by(&mut functions, |a, b| a.name.cmp(&b.name));
        if let Some(pair) = functions.windows(2).find(|pair| pair[0].name == pair[1].name) {
            bail!("{}: `{}` is there twice", path.display(), pair[0].name);
        }
        let name = path.display().to_string();
        Ok((!functions.is_empty()).then_some(Source { name, functions }))
    }
}

/// Adds the benchmarks below `folder` that have the baseline `baseline`.
fn in_folder(
    folder: &Path,
    baseline: &str,
    depth: usize,
    functions: &mut Vec<Function>,
) -> Result<()> {
    let kept = folder.join(baseline).join("estimates.json");
    if kept.is_file() {
        functions.push(benchmark(folder, &kept)?);
    }
    if depth == 0 {
        return Ok(());
    }
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry.with_context(|| folder.display().to_string())?;
        // Links are not followed, because they may form a cycle.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            in_folder(&entry.path(), baseline, depth - 1, functions)?;
        }
    }
    Ok(())
}

fn benchmark(folder: &Path, estimates: &Path) -> Result<Function> {
    let Estimate { point_estimate, confidence_interval } = json::<Estimates>(estimates)?.median;
    let Confidence { lower_bound, upper_bound } = confidence_interval;
    let id = estimates.with_file_name("benchmark.json");
    let id: Id = json(&id)?;
    Ok(Function {
        name: id.full_id,
        value: checked([lower_bound, point_estimate, upper_bound])
            .with_context(|| folder.display().to_string())?,
        unit: "",
        cycles: None,
    })
}

fn json<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<T> {
    let named = || path.display().to_string();
    let bytes = fs::metadata(path).with_context(named)?.len();
    if bytes > MOST {
        bail!("{}: {bytes} bytes exceed the limit of {MOST}", path.display());
    }
    serde_json::from_slice(&fs::read(path).with_context(named)?).with_context(named)
}

/// Returns the functions in a file. Other lines may stand between them, such as the output of a test, and
/// are skipped.
fn in_file(path: &Path) -> Result<Vec<Function>> {
    #[derive(Deserialize)]
    struct Kind {
        kind: String,
    }
    let is_function = |line| serde_json::from_str(line).is_ok_and(|of: Kind| of.kind == "function");
    let mut functions = Vec::new();
    if fs::metadata(path).is_ok_and(|of| of.len() > MOST) {
        return Ok(functions);
    }
    // A file that is not text is a packed record, or of an unknown format.
    let Ok(text) = fs::read_to_string(path) else { return Ok(functions) };
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if !line.starts_with('{') || !is_function(line) {
            continue;
        }
        let place = || format!("{}, line {}", path.display(), number + 1);
        let Line::Function { name, nanoseconds, cycles } =
            serde_json::from_str(line).with_context(place)?;
        let cycles = cycles.map(checked).transpose();
        functions.push(Function {
            name,
            value: checked(nanoseconds).with_context(place)?,
            unit: "ns",
            cycles: cycles.with_context(place)?,
        });
    }
    Ok(functions)
}

/// Returns a time with its interval, from the lower end, the time and the upper end.
///
/// # Errors
/// If the ends are not those of an interval of nonnegative numbers, or the time is negative.
fn checked([lo, at, hi]: [f64; 3]) -> Result<Value> {
    if !(lo.is_finite() && hi.is_finite() && 0.0 <= lo && lo <= hi) {
        bail!("no interval of a time: [{lo}, {hi}]");
    }
    if !(at.is_finite() && 0.0 <= at) {
        bail!("no time: {at}");
    }
    let range = Interval { lo, hi };
    Ok(Value { at, range })
}
