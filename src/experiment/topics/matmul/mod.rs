//! Drepper 6.2.1, matrix multiplication: Table 6.2, the argument about misses, and today's widest
//! registers.

mod misses;
pub mod multiply;

use crate::experiment::prelude::*;
use crate::experiment::topics::matmul::multiply::{DifferenceSetup, MatmulSetup, Multiply};
use crate::kernel::MatmulWay;

family![matmul];

/// Why a share of the time of the original is not that of Table 6.2.
const OTHER_ORIGINAL: &str = "The original waits for memory to another degree than on the \
                              document's Core 2, and the share follows from that.";

pub(crate) static ALL: &[Experiment] =
    &[ORIGINAL, TRANSPOSED, SUB_MATRIX, VECTORISED, misses::MISSES];

const WAYS: [(&str, Multiply); 6] = [
    ("original", Multiply::Paper(MatmulWay::Original)),
    ("transposed", Multiply::Paper(MatmulWay::Transposed)),
    ("sub-matrix", Multiply::Paper(MatmulWay::SubMatrix)),
    ("vectorised", Multiply::Paper(MatmulWay::Vectorised)),
    ("tiles, AVX2", Multiply::Avx2),
    ("tiles, AVX-512", Multiply::Avx512),
];

/// Numbers of rows and columns, N: matrices of the first about fit L1d, matrices of the second fit
/// L2.
const NEAR: [usize; 2] = [40, 200];

/// The paper's N.
const PAPER: usize = 1000;

/// An N that is a power of two: the lines of a column fall into few sets.
const POWER: usize = 1024;

/// Returns the N of a matrix of about twice the last-level cache or more, a multiple of 1000 and so not of
/// a large power of two. It exceeds [`PAPER`]. `None` if the matrices may not be allocated.
fn beyond_caches(machine: &Machine) -> Option<usize> {
    let last = machine.ranges.memory.lo / 4.0;
    let side = ((2.0 * last / 8.0).sqrt() as usize).next_multiple_of(1000);
    let side = side.max(2 * PAPER);
    let all = 5 * side * side * 8;
    (all <= machine.largest).then_some(side)
}

/// Returns the measured N. Only a full run has one beyond the caches.
fn sides(machine: &Machine) -> Vec<usize> {
    let beyond = machine.full.then(|| beyond_caches(machine)).flatten();
    NEAR.into_iter().chain([PAPER, POWER]).chain(beyond).collect()
}

/// Returns the cases of the first `count` ways at every N.
fn cases(machine: &Machine, count: usize) -> Vec<Case> {
    let mut cases = Vec::new();
    for side in sides(machine) {
        for (series, way) in WAYS[..count].iter().copied() {
            cases.push(Case::new(series, side as u32, MatmulSetup { side, way }));
        }
    }
    cases
}

/// Returns only the curves of the ways: the counts beside them have other units.
fn timed_curves(e: &Evidence<'_>) -> Vec<Curve> {
    e.curves_of(|label| WAYS.iter().any(|(series, _)| *series == label))
}

/// Plots core cycles per multiply-add over N, beside the paper's columns.
const fn plot(columns: &'static [Reference]) -> Option<Plot> {
    Some(
        Plot::bars(Axis::log("rows and columns, N"), Axis::log("time"), Unit::CyclesPerMultiplyAdd)
            .beside(columns),
    )
}

/// Columns of Table 6.2.
const fn table(columns: &'static [(&'static str, &'static str)]) -> Reference {
    Reference {
        file: "drepper-table-6.2-per-multiply-add.csv",
        machine: "Core 2, 2666 MHz (2007)",
        x: "n",
        columns,
    }
}

/// Returns the time per multiply-add of way `of` divided by that of way `to`, for one N.
fn slower(e: &Evidence<'_>, of: &str, to: &str, side: usize) -> Testable<Interval> {
    let (of, to) = (e.at(of, side as f64)?, e.at(to, side as f64)?);
    match e.unit {
        // A speed is the inverse of a time.
        Unit::GigaflopsPerSecond => ratio(to, of),
        _ => ratio(of, to),
    }
}

/// Judges that for N = 1000 way `of` takes a share of the original's time from `least` to `most`.
fn share_of_original(e: &Evidence<'_>, of: &str, [least, most]: [f64; 2]) -> Judged {
    between(&format!("{of} over original"), slower(e, of, WAYS[0].0, PAPER), least, most)
}

/// N of the matrices whose results are compared: several sub-matrices and tiles for every way, and
/// partial tiles.
const CHECKED: usize = 104;

fn difference(series: &str) -> String {
    format!("largest difference, {series}")
}

const ORIGINAL: Experiment = Experiment {
    id: "E6",
    name: "drepper-matmul-original",
    title: "Matrix multiplication: the three plain loops",
    question: "What does a multiply-add cost if the inner loop goes down a column?",
    source: "Drepper 6.2.1 and Table 6.2: 16.8 cycles per multiply-add for N = 1000",
    about: "The bars show the time per multiply-add for several N. For N = 1000, the inner loop \
            goes down a column of 1000 lines, 64 KB: more than L1d and less than L2. Each \
            addition waits for the one before, and a CPU that looks hundreds of instructions \
            ahead can load the lines meanwhile. (For N = 40 the short sums overlap, so a \
            multiply-add takes less time.) For N = 1024, the lines of a column lie 8 KiB apart \
            and fall into a few sets of every cache. If a matrix is larger than all caches, each \
            element of a column brings a line from memory.",
    plot: plot(&[table(&[("original", "original")])]),
    cases: |machine| {
        let mut cases = cases(machine, 1);
        for (series, way) in WAYS {
            let setup = DifferenceSetup { side: CHECKED, way };
            cases.push(Case::new(difference(series), CHECKED as u32, setup));
        }
        cases
    },
    curves: timed_curves,
    events: events::PRODUCT,
    claims: &[
        computed(
            "E6.1",
            ours("the compared ways must give the same matrix"),
            "every way to multiply matrices gives the result of the plain loops within 1e-9, \
             relative to the sum of the magnitudes",
            |e| {
                let mut parts = Vec::new();
                for (series, way) in WAYS {
                    match e.at(&difference(series), CHECKED as f64) {
                        Ok(found) => {
                            let numbers = match found.middle() {
                                0.0 => format!("{series} none"),
                                most => format!("{series} {most:.1e}"),
                            };
                            let Judgement { verdict, .. } = between("", found, 0.0, 1e-9)?;
                            parts.push(Ok(Judgement::in_words(verdict, numbers)));
                        }
                        // A way whose registers this CPU lacks does not affect the other ways.
                        Err(_) if !matches!(way, Multiply::Paper(_)) => {}
                        Err(untestable) => return Err(untestable),
                    }
                }
                let mut all = all_of(parts)?;
                all.numbers = format!("largest difference: {}", all.numbers);
                Ok(all)
            },
        ),
        measured(
            "E6.2",
            ours(
                "the document has only N = 1000; at a power of two, the lines of a column share \
                 few sets",
            ),
            "for N = 1024, a multiply-add of the original matrix multiplication takes more than \
             1.5 times as long as for N = 1000",
            |e| {
                let at = |side: usize| e.at(WAYS[0].0, side as f64);
                at_least("N = 1024 over N = 1000", ratio(at(POWER), at(PAPER)), 1.5)
            },
        )
        .holding("The lines of a column evict each other before the next column uses them."),
    ],
    ..Experiment::PLAIN
};

const TRANSPOSED: Experiment = Experiment {
    id: "E7",
    name: "drepper-matmul-transposed",
    title: "Matrix multiplication with the second matrix transposed",
    question: "Does it pay to transpose the second matrix first, so that both are read along rows?",
    source: "Drepper 6.2.1 and Table 6.2: 23.4 % of the original's time, including the copy",
    about: "The bars compare the original loops with loops over a transposed copy, for several N. \
            The original misses at every multiply-add if the lines of a column conflict, or if \
            the matrix is larger than the caches. For other N its misses may hide behind its \
            additions, which both variants wait for. The program copies a line before each line \
            of the result, so every time includes its share of the copy.",
    plot: plot(&[table(&[("original", "original"), ("transposed", "transposed")])]),
    cases: |machine| cases(machine, 2),
    curves: timed_curves,
    events: events::PRODUCT,
    claims: &[
        // The transformation saves 76.6 % of the time, far more than the copy costs.
        measured(
            "E7.1",
            drepper("6.2.1, Table 6.2"),
            "for N = 1000, matrix multiplication with a transposed copy takes less than 0.6 of \
             the original's time, including the copy",
            |e| faster_transposed(e, &[PAPER]),
        )
        .then(0.234, "Core 2, 2666 MHz")
        .takeaway(
            Shown::Saved,
            Touches::Some,
            "Saved by transposing before a product, N = 1000",
            "Transposing before multiplying saves {now} of the time, N = 1000",
        )
        .advice(
            "Transpose, or work in blocks, before you walk along columns.",
            "Walking along columns costs little extra at this size; pad rows whose size is a power \
             of two.",
        )
        .failing(
            "The original's misses hide behind its additions; the transposed loop waits for the \
             same additions.",
        ),
        measured(
            "E7.2",
            ours(
                "today's caches hold what the document's did not: conflicting columns and \
                 matrices beyond the last level test its argument",
            ),
            "if columns conflict (N = 1024) or, in a full run, a matrix outgrows the last level, \
             matrix multiplication with a transposed copy takes less than 0.6 of the original's \
             time",
            |e| {
                let mut sides = sides(e.machine);
                sides.retain(|side| *side > PAPER);
                faster_transposed(e, &sides)
            },
        ),
        // 3,922,373,010 cycles instead of 16,765,297,870.
        measured(
            "E7.3",
            drepper("6.2.1, Table 6.2"),
            "for N = 1000, matrix multiplication with a transposed copy takes 23.4 % of the \
             original's time, within a fifth of that share",
            |e| share_of_original(e, WAYS[1].0, [0.187, 0.281]),
        )
        .then(0.234, "Core 2, 2666 MHz")
        .failing(OTHER_ORIGINAL),
    ],
    ..Experiment::PLAIN
};

fn faster_transposed(e: &Evidence<'_>, sides: &[usize]) -> Judged {
    all_of(sides.iter().map(|&side| {
        let share = slower(e, WAYS[1].0, WAYS[0].0, side)?;
        at_most(&format!("transposed over original, N = {side}"), share, 0.6)
    }))
}

const SUB_MATRIX: Experiment = Experiment {
    id: "E8",
    name: "drepper-matmul-sub-matrix",
    title: "Matrix multiplication by sub-matrices of one line per side",
    question: "Is it better to use whole lines while they are cached than to copy the matrix?",
    source: "Drepper 6.2.1 and Table 6.2: 17.3 % of the original's time",
    about: "The bars compare the original, the transposed copy, and loops over small \
            sub-matrices, for several N. The sub-matrices are as wide as a line, so the loops use \
            a whole line while it is cached, and need no copy. The eight sums of a line are \
            independent of each other. They go through memory: each multiply-add loads and stores \
            its sum, and the store buffer forwards it.",
    plot: plot(&[table(&[
        ("original", "original"),
        ("transposed", "transposed"),
        ("sub_matrix", "sub-matrix"),
    ])]),
    cases: |machine| cases(machine, 3),
    curves: timed_curves,
    events: events::PRODUCT,
    claims: &[
        // Avoiding the copy saves another 6.1 % of the original's time: 2,895,041,480 cycles, not
        // 3,922,373,010.
        measured(
            "E8.1",
            drepper("6.2.1, Table 6.2"),
            "for N = 1000, matrix multiplication by sub-matrices is faster than with a transposed \
             copy",
            |e| at_most("sub-matrix over transposed", slower(e, WAYS[2].0, WAYS[1].0, PAPER), 1.0),
        )
        .then(0.738, "Core 2, 2666 MHz")
        .takeaway(
            Shown::Share,
            Touches::Some,
            "Time of sub-matrices over transposing, N = 1000",
            "Sub-matrices take {now} of the time of a transposed product",
        )
        .advice(
            "Work in blocks of whole lines.",
            "Keep sums in registers: blocks that send them through memory lose more than they \
             save.",
        )
        .holding(
            "The eight sums of a line are independent, so an addition does not wait for the one \
             before.",
        )
        .failing(
            "The eight sums of a line go through memory. A load and a store per multiply-add cost \
             more than whole lines save.",
        ),
        // 2,895,041,480 cycles instead of 16,765,297,870.
        measured(
            "E8.2",
            drepper("6.2.1, Table 6.2"),
            "for N = 1000, matrix multiplication by sub-matrices takes 17.3 % of the original's \
             time, within a fifth of that share",
            |e| share_of_original(e, WAYS[2].0, [0.138, 0.208]),
        )
        .then(0.173, "Core 2, 2666 MHz")
        .failing(OTHER_ORIGINAL),
    ],
    ..Experiment::PLAIN
};

const VECTORISED: Experiment = Experiment {
    id: "E9",
    name: "drepper-matmul-vectorised",
    title: "Matrix multiplication with vectors: SSE2 as in the paper, AVX2 and AVX-512",
    question: "What do vectors gain after whole lines are used?",
    source: "Drepper 6.2.1, Table 6.2 and appendix A.1: 9.47 % of the original's time; the text \
             says 7.3 % less than the sub-matrix, the table 7.8 %",
    about: "The bars show floating-point operations per second for every way to multiply, and \
            several N. The SSE2 registers of the paper hold two elements. The tiled ways use \
            registers of 32 and 64 bytes with fused multiply-adds. They read packed copies of the \
            matrices and keep a tile of sums in registers, and show what the multipliers can do.",
    plot: Some(
        Plot::bars(Axis::log("rows and columns, N"), Axis::log("speed"), Unit::GigaflopsPerSecond)
            .beside(&[table(&[
                ("original_gflops", "original"),
                ("transposed_gflops", "transposed"),
                ("sub_matrix_gflops", "sub-matrix"),
                ("vectorised_gflops", "vectorised"),
            ])]),
    ),
    cases: |machine| cases(machine, WAYS.len()),
    curves: timed_curves,
    events: events::PRODUCT,
    claims: &[
        // SSE2 handles two doubles per operation: 1,588,711,750 cycles instead of 2,895,041,480.
        measured(
            "E9.1",
            drepper("6.2.1, Table 6.2"),
            "for N = 1000, matrix multiplication by sub-matrices is faster with two elements per \
             operation than with one",
            |e| at_most("vectorised over sub-matrix", slower(e, WAYS[3].0, WAYS[2].0, PAPER), 1.0),
        )
        .then(0.549, "Core 2, 2666 MHz")
        .takeaway(
            Shown::Share,
            Touches::Some,
            "Time with two elements at once over one, N = 1000",
            "A product takes {now} of the time with two elements at a time",
        )
        .advice(
            "Use vectors in loops whose data is in a cache.",
            "Vectors of two elements gain nothing here: let the compiler use wider ones.",
        ),
        // The program takes 10 % of the time of the original code.
        measured(
            "E9.2",
            drepper("6.2.1, Table 6.2"),
            "for N = 1000, vectorised matrix multiplication takes 9.47 % of the original's time, \
             within a fifth of that share",
            |e| share_of_original(e, WAYS[3].0, [0.0758, 0.1136]),
        )
        .then(0.0947, "Core 2, 2666 MHz")
        .failing(OTHER_ORIGINAL),
        // Table 6.2 falls from column to column: 100, 23.4, 17.3 and 9.47 %.
        measured(
            "E9.3",
            drepper("6.2.1, Table 6.2"),
            "for N = 1000, each column of Table 6.2, from the original to the vectorised \
             multiplication, takes less than 0.9 of the time of the column before",
            |e| {
                let mut all = all_of(WAYS[..4].windows(2).map(|pair| {
                    let [slow, fast] = [pair[0].0, pair[1].0];
                    at_most(&format!("{fast} over {slow}"), slower(e, fast, slow, PAPER), 0.9)
                }))?;
                all.numbers.push_str(&whole(e));
                Ok(all)
            },
        )
        .then(0.234, "Core 2, 2666 MHz")
        .failing(
            "Where prefetchers and out-of-order execution hide the misses of one column, the next \
             column has little left to save.",
        ),
    ],
    ..Experiment::PLAIN
};

/// Returns the core cycles of the whole multiplication of N = 1000 in billions, with the paper's.
fn whole(e: &Evidence<'_>) -> String {
    const TABLE_6_2: [f64; 4] = [16.77, 3.92, 2.90, 1.59];
    let in_cycles = Evidence { unit: Unit::CyclesPerMultiplyAdd, ..*e };
    // A multiplication is 10^9 multiply-adds.
    let ours: Vec<String> = WAYS[..4]
        .iter()
        .zip(TABLE_6_2)
        .filter_map(|((series, _), paper)| {
            let cycles = in_cycles.at(series, PAPER as f64).ok()?.middle();
            Some(format!("{series} {cycles:.2} ({paper:.2})"))
        })
        .collect();
    if ours.is_empty() {
        return String::new();
    }
    let ours = ours.join(", ");
    format!("; billions of core cycles for the whole product, with the paper's in brackets: {ours}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::machine::tests::unknown;

    #[test]
    fn a_full_run_has_a_matrix_beyond_a_small_last_level() {
        let mut machine = unknown();
        machine.full = true;
        machine.ranges.memory.lo = 4.0 * (2 << 20) as f64;
        assert_eq!(sides(&machine), [40, 200, 1000, 1024, 2000]);
        machine.ranges.memory.lo = 4.0 * (32 << 20) as f64;
        assert_eq!(sides(&machine), [40, 200, 1000, 1024, 3000]);
    }
}
