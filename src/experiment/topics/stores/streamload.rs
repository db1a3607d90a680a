//! Drepper 6.1, bypassing the cache: non-temporal loads.

use crate::experiment::prelude::*;
use crate::experiment::shared::lines::LoadSetup;
use crate::experiment::shared::pollution::{Passage, PollutionSetup};
use crate::stats::Interval;

/// The rows of this family.
pub(crate) static ALL: &[Experiment] = &[LOADS];

/// Bytes of a load, and the series of plain and of non-temporal loads.
const WIDTHS: [(usize, &str, &str); 3] = [
    (16, "movdqa", "movntdqa"),
    (32, "vmovdqa, 32 bytes", "vmovntdqa, 32 bytes"),
    (64, "vmovdqa64, 64 bytes", "vmovntdqa, 64 bytes"),
];

/// What passes between two laps of a hot set, a lap at a time.
const LAPS: [(&str, Passage); 3] = [
    ("lap after nothing", Passage::Nothing),
    ("lap after plain loads", Passage::Load),
    ("lap after movntdqa", Passage::NonTemporalLoad),
];

const LOADS: Experiment = Experiment {
    id: "E5",
    name: "drepper-nt-loads",
    title: "Non-temporal loads of ordinary memory",
    question: "Does movntdqa bypass anything when the memory is write-back?",
    source: "Drepper 6.1, on movntdqa and streaming load buffers",
    seen: &[],
    about: "The buffers of the document serve write-combining memory, such as a frame buffer. \
            For write-back memory a CPU may take the hint for nothing and load as usual, \
            whatever the width. Lines are read in blocks of eight, so that not the loop decides \
            in L1d, but the loads.",
    plot: Some(Plot::lines(
        Axis::WORKING_SET,
        Axis::log("bandwidth"),
        Unit::GigabytesPerSecond,
    )),
    cases,
    curves: |e| {
        let mut curves = plain_curves(e);
        curves.retain(|curve| LAPS.iter().all(|(series, _)| *series != curve.label));
        curves
    },
    events: events::STORES,
    claims: &[
        measured(
            "E5.1",
            ours(
                "whether the hint makes a difference on ordinary memory; the document tells of \
                 uncacheable memory",
            ),
            "on write-back memory movntdqa of 16 bytes is as fast as movdqa, within 10 %, in \
             L1d, L2 and memory",
            |e| all_of(as_fast(e, 0)?),
        ),
        measured(
            "E5.2",
            ours("the same question for the wider forms, which came later"),
            "on write-back memory movntdqa of 32 and 64 bytes is as fast as a plain load of its \
             width, within 10 %, in L1d, L2 and memory",
            |e| {
                let mut parts = as_fast(e, 1)?;
                // A CPU without AVX-512 says as much of 32 bytes.
                parts.extend(as_fast(e, 2).unwrap_or_default());
                all_of(parts)
            },
        ),
        // The line goes into a streaming load buffer, and is not loaded into a cache, so that
        // large amounts are read without polluting. The measure is ours.
        measured(
            "E5.3",
            drepper("6.1"),
            "lines read by movntdqa are not loaded into a cache: after four times as many bytes \
             as a hot set in L2 has, a lap of the set takes less than 1.3 times as long as \
             undisturbed",
            |e| at_most("lap after movntdqa", slower_lap(e, 2), 1.3),
        )
        .failing(
            "On write-back memory movntdqa fills the caches as a plain load does; it bypasses \
             them on write-combining memory alone.",
        ),
        measured(
            "E5.4",
            ours(
                "the control of the claim before: plain loads of as many bytes must be seen to \
                 pollute",
            ),
            "lines read by plain loads are loaded into a cache: after four times as many bytes \
             as a hot set in L2 has, a lap of the set takes 1.3 times as long as undisturbed, or \
             longer",
            |e| at_least("lap after plain loads", slower_lap(e, 1), 1.3),
        ),
    ],
};

fn cases(machine: &Machine) -> Vec<Case> {
    let ranges = &machine.ranges;
    let sizes = machine.few_working_sets(2);
    let mut cases = Vec::new();
    for &bytes in &sizes {
        for (width, plain, past) in WIDTHS {
            // In a quick run the wide loads are measured once a level.
            let largest_of_level = [ranges.l1, ranges.l2, ranges.llc, ranges.memory]
                .iter()
                .any(|range| sizes.iter().rfind(|size| range.holds(**size as f64)) == Some(&bytes));
            if width > 16 && !machine.full && !largest_of_level {
                continue;
            }
            for (series, non_temporal) in [(plain, false), (past, true)] {
                let setup = LoadSetup {
                    bytes,
                    width,
                    non_temporal,
                };
                let case = Case::new(series, bytes as f64, setup);
                cases.push(case.in_large_pages().in_turn());
            }
        }
    }
    cases.extend(LAPS.map(|(series, passage)| {
        let setup = PollutionSetup::in_l2(machine, passage);
        Case::new(series, setup.hot as f64, setup).in_large_pages()
    }));
    cases
}

/// Non-temporal beside plain loads of the width `index`, in L1d, in L2 and in memory.
fn as_fast(e: &Evidence<'_>, index: usize) -> Result<Vec<Judged>, Untestable> {
    let ranges = &e.machine.ranges;
    let (bytes, plain, past) = WIDTHS[index];
    let mut parts = Vec::new();
    for (name, range) in [
        ("L1d", ranges.l1),
        ("L2", ranges.l2),
        ("memory", ranges.memory),
    ] {
        let faster = paired(e, past, plain, range)?;
        parts.push(between(
            &format!("bandwidth in {name}, {bytes} bytes"),
            faster,
            0.9,
            1.1,
        ));
    }
    Ok(parts)
}

/// How many times as long a lap takes after the passage `index` of [`LAPS`] as undisturbed.
/// Bandwidths are judged here, so the quotient is the other way round.
fn slower_lap(e: &Evidence<'_>, index: usize) -> Result<Interval, Untestable> {
    let period = |index: usize| e.last(LAPS[index].0).map(|(_, period)| period);
    ratio(period(0), period(index))
}
