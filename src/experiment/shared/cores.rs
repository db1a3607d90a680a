//! Threads that each have a core.

use crate::experiment::Point;
use crate::experiment::machine::cpu_order::sharers;
use crate::experiment::prelude::*;

/// The largest number of threads in a quick run.
pub(crate) const MOST_QUICK: usize = 8;

/// Returns numbers of threads that each have a core: the powers of two below the number of cores,
/// and the number of cores, at most `MOST_QUICK` in a quick run.
pub(crate) fn on_cores(machine: &Machine) -> Vec<usize> {
    let most = if machine.full { usize::MAX } else { MOST_QUICK };
    let cores = machine.cpu_order.cores().clamp(1, most);
    let powers = (0..).map(|k| 1 << k).take_while(|&threads| threads < cores);
    powers.chain([cores]).collect()
}

/// Returns the same numbers, and in a quick run also the number of all cores: for series whose claims are
/// about a thread on each core.
pub(crate) fn up_to_all_cores(machine: &Machine) -> Vec<usize> {
    let mut numbers = on_cores(machine);
    numbers.push(machine.cpu_order.cores().max(1));
    numbers.dedup();
    numbers
}

/// Returns the number of cores, if there are two, and the value of a series with a thread on each, to be
/// compared with that of one thread.
///
/// # Errors
/// If there are fewer cores, or cores of two kinds, or the series was not measured with a thread on each, or
/// if threads take hyper-threads before cores.
pub(crate) fn on_all_cores(e: &Evidence<'_>, series: &str) -> Testable<(usize, Reading)> {
    e.machine.cpu_order.at_least(2)?;
    let cores = e.machine.cpu_order.cores();
    e.machine.cpu_order.one_kind(cores)?;
    if sharers(e.machine.cpu_order.first(cores), |location| location.core)[1] > 1 {
        return Err(Untestable(format!(
            "threads take hyper-threads before cores (`--threads siblings`), so that {cores} \
             threads do not run on all {cores} cores"
        )));
    }
    let of_all = |point: &Point| point.series == series && point.x == cores as f64;
    if e.machine.full || e.points.iter().any(of_all) {
        return Ok((cores, e.at(series, cores as f64)?));
    }
    let (most, _) = e.last(series)?;
    Err(not_all_cores(&format!("`{series}` was timed"), most as usize, cores))
}

/// Says that a quick run timed fewer cores than there are.
pub(crate) fn not_all_cores(what: &str, timed: usize, cores: usize) -> Untestable {
    Untestable(format!("{what} on {timed} of {cores} cores: `--profile full` times all of them"))
}

/// Returns the largest measured number of threads that each have a core, if there are two cores.
pub(crate) fn most(e: &Evidence<'_>) -> Testable<usize> {
    e.machine.cpu_order.at_least(2).map(|()| on_cores(e.machine).into_iter().max().unwrap_or(1))
}
