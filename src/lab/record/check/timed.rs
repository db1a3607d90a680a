//! Validation of timed points.

use super::{
    Check, MOST_CPUS, MOST_EXACT, MOST_SAMPLES, RATIOS, TICKS, ascending, within, within_if_known,
    wrong,
};
use crate::experiment::{Distribution, ThreadStats};
use crate::host::RunAhead;
use crate::recorded::Timed;

/// Checks that the numbers of a timed point are possible.
pub(super) fn check(timed: &Timed) -> Check {
    let times = [
        ("timed.median", timed.median),
        ("timed.min", timed.min),
        ("timed.lo", timed.lo),
        ("timed.hi", timed.hi),
    ];
    for (field, value) in times {
        within(field, value, TICKS)?;
    }
    within("timed.mad", timed.mad, 0.0..=*TICKS.end())?;
    ascending(&times[1..3])?;
    ascending(&[times[2], times[0], times[3]])?;
    within_if_known("timed.core_per_tick", timed.core_per_tick, RATIOS)?;
    within("timed.operations", timed.operations, 1..=MOST_EXACT)?;
    within("timed.flops", timed.flops, 0..=MOST_EXACT)?;
    within("timed.instructions", timed.instructions, 0..=MOST_EXACT)?;
    within("timed.n", timed.n, 1..=MOST_SAMPLES)?;
    // A record may omit the samples.
    if !timed.samples.is_empty() && timed.n > timed.samples.len() {
        let problem = format!("{} of {} samples", timed.n, timed.samples.len());
        return Err(wrong("timed.n", problem));
    }
    for (index, sample) in timed.samples.iter().enumerate() {
        for (at, most) in [MOST_EXACT, MOST_EXACT, MOST_EXACT, 1].into_iter().enumerate() {
            if sample[at] > most {
                let field = format!("timed.samples[{index}][{at}]");
                return Err(wrong(&field, format!("{}: 0 to {most}", sample[at])));
            }
        }
    }
    for (index, count) in timed.counts.iter().flatten().enumerate() {
        let name = |field: &str| format!("timed.counts[{index}].{field}");
        within(&name("lo"), count.lo, TICKS)?;
        within(&name("hi"), count.hi, TICKS)?;
        ascending(&[(&name("lo"), count.lo), (&name("hi"), count.hi)])?;
    }
    if let Some(runs) = &timed.runs {
        check_runs(runs)?;
    }
    within_if_known("timed.interrupts", timed.interrupts, 0..=MOST_EXACT)?;
    timed.thread_stats.as_ref().map_or(Ok(()), check_stats)
}

fn check_runs(runs: &Distribution) -> Check {
    within("timed.runs.count", runs.count, 1..=MOST_EXACT)?;
    within("timed.runs.operations", runs.operations, 1..=MOST_EXACT)?;
    within("timed.runs.max", runs.max, 0..=MOST_EXACT)?;
    let places = [
        ("timed.runs.min", runs.min),
        ("timed.runs.p50", runs.p50),
        ("timed.runs.p90", runs.p90),
        ("timed.runs.p99", runs.p99),
        ("timed.runs.p99.9", runs.p999),
        ("timed.runs.max", runs.max),
    ];
    ascending(&places.map(|(field, ticks)| (field, ticks as f64)))
}

fn check_stats(stats: &ThreadStats) -> Check {
    within("timed.crew.members", stats.workers as usize, 1..=MOST_CPUS)?;
    within("timed.crew.cpus", stats.cpus as usize, 1..=MOST_CPUS)?;
    within("timed.crew.fastest", stats.fastest, TICKS)?;
    within("timed.crew.slowest", stats.slowest, TICKS)?;
    within_if_known("timed.crew.round_trip", stats.round_trip, TICKS)?;
    let Some(RunAhead { least, lower, median, upper, most }) = stats.lead else { return Ok(()) };
    let parts = [
        ("timed.crew.lead.least", least),
        ("timed.crew.lead.lower", lower),
        ("timed.crew.lead.median", median),
        ("timed.crew.lead.upper", upper),
        ("timed.crew.lead.most", most),
    ];
    ascending(&parts.map(|(field, value)| (field, f64::from(value))))
}
