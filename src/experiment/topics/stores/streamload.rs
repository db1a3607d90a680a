//! Drepper 6.1, bypassing the cache: non-temporal loads.

use crate::experiment::prelude::*;
use crate::experiment::shared::lines::{LoadSetup, no_loads};
use crate::experiment::shared::pollution::Passage;
use crate::experiment::topics::stores::{Laps, lap_cases, slower_lap};

pub(crate) static ALL: &[Experiment] = &[LOADS];

/// Bytes of a load, and the series of plain and of non-temporal loads.
const WIDTHS: [(usize, &str, &str); 3] = [
    (16, "movdqa", "movntdqa"),
    (32, "vmovdqa, 32 bytes", "vmovntdqa, 32 bytes"),
    (64, "vmovdqa64, 64 bytes", "vmovntdqa, 64 bytes"),
];

const LAPS: Laps = [
    ("lap after nothing", Passage::Nothing),
    ("lap after plain loads", Passage::Load),
    ("lap after movntdqa", Passage::NonTemporalLoad),
];

const LOADS: Experiment = Experiment {
    id: "E5",
    name: "drepper-nt-loads",
    title: "Non-temporal loads of ordinary memory",
    question: "Does movntdqa bypass the caches when memory is write-back?",
    source: "Drepper 6.1, on movntdqa and streaming load buffers",
    about: "The test reads memory by non-temporal and by plain loads of the same width, over \
            working sets from L1d to memory. The document's streaming load buffers serve \
            write-combining memory, such as a frame buffer. On write-back memory a CPU may ignore \
            the hint and load as usual, whatever the width of the load. The loops read eight lines \
            per iteration, so that loads and not loop overhead limit the bandwidth in L1d. A \
            second test reads a large buffer between two laps over a hot set in L2, and times the \
            next lap: if the loads fill the caches, they evict the hot set.",
    plot: Some(Plot::lines(Axis::WORKING_SET, Axis::log("bandwidth"), Unit::GigabytesPerSecond)),
    cases,
    curves: |e| e.curves_of(|label| LAPS.iter().all(|(series, _)| *series != label)),
    events: events::STORES,
    claims: &[
        measured(
            "E5.1",
            ours(
                "whether the hint has an effect on ordinary memory; the document writes about \
                 uncacheable memory",
            ),
            "on write-back memory, movntdqa of 16 bytes is as fast as movdqa, within 10 %, in L1d, \
             L2 and memory",
            |e| all_of(as_fast(e, 0)?),
        ),
        measured(
            "E5.2",
            ours("the same question for the wider forms, which came later"),
            "on write-back memory, movntdqa of 32 bytes, and of 64 if the CPU has it, is as fast \
             as a plain load of the same width, within 10 %, in L1d, L2 and memory",
            |e| {
                let mut parts = as_fast(e, 1)?;
                match as_fast(e, 2) {
                    Ok(wide) => {
                        parts.extend(wide);
                        all_of(parts)
                    }
                    // A CPU without AVX-512 is judged by 32 bytes alone.
                    Err(lack) if lack == no_loads(WIDTHS[2].0) => noted(all_of(parts), lack),
                    Err(reason) => Err(reason),
                }
            },
        )
        .failing("On ordinary memory too, this core treats movntdqa differently from a load."),
        // The line goes into a streaming load buffer, and is not loaded into a cache, so that large
        // amounts are read without polluting. The threshold is ours.
        measured(
            "E5.3",
            drepper("6.1"),
            "lines read by movntdqa do not enter a cache: after reads of four times as many bytes \
             as a hot set in L2 has, a lap of the set takes less than 1.3 times as long as \
             undisturbed",
            |e| at_most("lap after movntdqa", slower_lap(e, LAPS, 2), 1.3),
        )
        .failing(
            "On write-back memory, movntdqa fills the caches as a plain load does. It bypasses \
             them only on write-combining memory.",
        ),
        measured(
            "E5.4",
            ours(
                "the control of the claim before: plain loads of as many bytes must evict the hot \
                 set",
            ),
            "lines read by plain loads enter a cache: after reads of four times as many bytes as a \
             hot set in L2 has, a lap of the set takes at least 1.3 times as long as undisturbed",
            |e| at_least("lap after plain loads", slower_lap(e, LAPS, 1), 1.3),
        ),
    ],
    ..Experiment::PLAIN
};

fn cases(machine: &Machine) -> Vec<Case> {
    let ranges = &machine.ranges;
    let sizes = machine.few_working_sets(2);
    let mut cases = Vec::new();
    for &bytes in &sizes {
        for (width, plain, past) in WIDTHS {
            // A quick run measures the wide loads once per level.
            let largest_of_level = [ranges.l1, ranges.l2, ranges.llc, ranges.memory]
                .iter()
                .any(|range| sizes.iter().rfind(|size| range.holds(**size as f64)) == Some(&bytes));
            if width > 16 && !machine.full && !largest_of_level {
                continue;
            }
            for (series, non_temporal) in [(plain, false), (past, true)] {
                let setup = LoadSetup { bytes, width, non_temporal };
                let case = Case::new(series, bytes as f64, setup);
                cases.push(case.in_large_pages().in_turn());
            }
        }
    }
    cases.extend(lap_cases(machine, LAPS));
    cases
}

/// Judges non-temporal against plain loads of width `index` of [`WIDTHS`], in L1d, L2 and memory.
fn as_fast(e: &Evidence<'_>, index: usize) -> Testable<Vec<Judged>> {
    let ranges = &e.machine.ranges;
    let (bytes, plain, past) = WIDTHS[index];
    let mut parts = Vec::new();
    for (name, range) in [("L1d", ranges.l1), ("L2", ranges.l2), ("memory", ranges.memory)] {
        let faster = paired(e, past, plain, range)?;
        parts.push(between(&format!("bandwidth in {name}, {bytes} bytes"), faster, 0.9, 1.1));
    }
    Ok(parts)
}
