//! Drepper 6.2.1, matrix multiplication: Table 6.2, the argument about misses, and the widest
//! registers of today.

mod misses;
pub mod multiply;

use crate::experiment::prelude::*;
use crate::experiment::topics::matmul::multiply::{DifferenceSetup, MatmulSetup, Multiply};
use crate::kernel::MatmulWay;
use crate::stats::Interval;

family![matmul];

/// The rows of this family.
pub(crate) static ALL: &[Experiment] =
    &[ORIGINAL, TRANSPOSED, SUB_MATRIX, VECTORISED, misses::MISSES];

/// The series of each way.
const WAYS: [(&str, Multiply); 6] = [
    ("original", Multiply::Paper(MatmulWay::Original)),
    ("transposed", Multiply::Paper(MatmulWay::Transposed)),
    ("sub-matrix", Multiply::Paper(MatmulWay::SubMatrix)),
    ("vectorised", Multiply::Paper(MatmulWay::Vectorised)),
    ("tiles, AVX2", Multiply::Avx2),
    ("tiles, AVX-512", Multiply::Avx512),
];

/// Rows and columns whose matrices fit L1d, or nearly, and L2.
const NEAR: [usize; 2] = [40, 200];

/// The paper's.
const PAPER: usize = 1000;

/// A power of two, whose columns fall into few sets.
const POWER: usize = 1024;

/// Rows and columns of a matrix that is about twice the last-level cache, if that many can be
/// afforded; a number that is no multiple of a large power of two.
fn beyond_caches(machine: &Machine) -> Option<usize> {
    let last = machine.ranges.memory.lo / 4.0;
    let side = ((2.0 * last / 8.0).sqrt() as usize).next_multiple_of(1000);
    let all = 5 * side * side * 8;
    (all <= machine.largest).then_some(side)
}

/// The sizes that are measured: one beyond the caches in a full run alone.
fn sides(machine: &Machine) -> Vec<usize> {
    let beyond = machine.full.then(|| beyond_caches(machine)).flatten();
    NEAR.into_iter()
        .chain([PAPER, POWER])
        .chain(beyond)
        .collect()
}

/// The first `count` ways at every size.
fn cases(machine: &Machine, count: usize) -> Vec<Case> {
    let mut cases = Vec::new();
    for side in sides(machine) {
        for (series, way) in WAYS[..count].iter().copied() {
            cases.push(Case::new(series, side as u32, MatmulSetup { side, way }));
        }
    }
    cases
}

/// The curves of the ways alone: what is counted beside them has other units.
fn timed_curves(e: &Evidence<'_>) -> Vec<Curve> {
    let mut curves = e.curves();
    curves.retain(|curve| WAYS.iter().any(|(series, _)| *series == curve.label));
    curves
}

/// Core cycles per multiply-add over N, beside the paper's columns.
const fn plot(columns: &'static [Reference]) -> Option<Plot> {
    Some(
        Plot::bars(
            Axis::log("rows and columns, N"),
            Axis::log("time"),
            Unit::CyclesPerMultiplyAdd,
        )
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

/// How many times as long a multiply-add of one way takes as one of another, both of N rows.
fn slower(e: &Evidence<'_>, of: &str, to: &str, side: usize) -> Result<Interval, Untestable> {
    let (of, to) = (e.at(of, side as f64)?, e.at(to, side as f64)?);
    match e.unit {
        // A speed is the inverse of a time.
        Unit::GigaflopsPerSecond => ratio(to, of),
        _ => ratio(of, to),
    }
}

/// Judges that for N = 1000 way `of` takes a share of the original's time from `least` to `most`.
fn share_of_original(e: &Evidence<'_>, of: &str, [least, most]: [f64; 2]) -> Judged {
    between(
        &format!("{of} over original"),
        slower(e, of, WAYS[0].0, PAPER),
        least,
        most,
    )
}

/// Rows and columns of the matrices whose results are compared: several sub-matrices and tiles of
/// any way, and parts of tiles.
const CHECKED: usize = 104;

fn difference(series: &str) -> String {
    format!("largest difference, {series}")
}

const ORIGINAL: Experiment = Experiment {
    id: "E6",
    name: "drepper-matmul-original",
    title: "Matrix multiplication: the three loops as everybody writes them",
    question: "What does a multiply-add cost when the inner loop goes down a column?",
    source: "Drepper 6.2.1 and Table 6.2: 16.8 cycles per multiply-add for N = 1000",
    seen: &[],
    about: "With N = 1000 the inner loop goes down a column of 1000 lines, 64 KB: more than L1d, \
            and less than L2. A CPU that looks hundreds of instructions ahead can load them before \
            the addition is ready for them, as each addition waits for the one before. (Sums as \
            short as those of N = 40 overlap, so that a multiply-add takes less there.) With N = \
            1024 the lines of a column lie 8 KiB apart and fall into a few sets of every cache. \
            The lines of a matrix larger than all caches come from memory for an element each.",
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
            ours("ways are compared that must give the same matrix"),
            "every way to multiply matrices gives the result of the plain loops to 1e-9, relative \
             to the sum of the magnitudes",
            |e| {
                let mut parts = Vec::new();
                for (series, way) in WAYS {
                    match e.at(&difference(series), CHECKED as f64) {
                        Ok(found) => parts.push(Ok(Judgement {
                            verdict: between("", found, 0.0, 1e-9)?.verdict,
                            numbers: match found.middle() {
                                0.0 => format!("{series} none"),
                                most => format!("{series} {most:.1e}"),
                            },
                            value: None,
                        })),
                        // Registers that this CPU lacks say nothing of the others.
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
                "the document has N = 1000 alone; at a power of two the lines of a column share \
                 few sets",
            ),
            "with N = 1024 a multiply-add of the original matrix multiplication takes more than \
             1.5 times as long as with N = 1000",
            |e| {
                let at = |side: usize| e.at(WAYS[0].0, side as f64);
                at_least("N = 1024 over N = 1000", ratio(at(POWER), at(PAPER)), 1.5)
            },
        )
        .holding("The lines of a column throw each other out before the next column finds them."),
    ],
};

const TRANSPOSED: Experiment = Experiment {
    id: "E7",
    name: "drepper-matmul-transposed",
    title: "Matrix multiplication after the second matrix was transposed",
    question: "Does it pay to copy a matrix first, so that both are read along their rows?",
    source: "Drepper 6.2.1 and Table 6.2: 23.4 % of the original's time, the copy included",
    seen: &[],
    about: "Where columns conflict, and where the matrix is larger than the caches, the original \
            misses at every multiply-add. Elsewhere its misses may hide behind its additions. The \
            copy is spread over the multiplication here, a line of it before each line of the \
            result, so that its share is in every number.",
    plot: plot(&[table(&[
        ("original", "original"),
        ("transposed", "transposed"),
    ])]),
    cases: |machine| cases(machine, 2),
    curves: timed_curves,
    events: events::PRODUCT,
    claims: &[
        // The transformation speeds the program up by 76.6 %: the copy is more than made up.
        measured(
            "E7.1",
            drepper("6.2.1, Table 6.2"),
            "for N = 1000 matrix multiplication with a transposed copy takes less than 0.6 of the \
             original's time, the copy included",
            |e| faster_transposed(e, &[PAPER]),
        )
        .then(0.234, "Core 2, 2666 MHz")
        .takeaway(
            Takeaway::new(
                Shown::Saved,
                Touches::Some,
                "Saved by transposing before a product, N = 1000",
                "Transposing before multiplying saves {now} of the time, N = 1000",
            )
            .advice(
                "Transpose, or work in blocks, before you walk along columns.",
                "Walking along columns costs little extra at this size; pad rows whose size is \
                 a power of two.",
            ),
        )
        .failing(
            "The original's misses hide behind its additions, for which the transposed loop has \
             to wait just as well.",
        ),
        measured(
            "E7.2",
            ours(
                "where today's caches hold what the document's did not, columns that conflict and \
                 matrices beyond the last level show its argument",
            ),
            "where columns conflict (N = 1024) or, in a full run, a matrix outgrows the last \
             level, matrix multiplication with a transposed copy takes less than 0.6 of the \
             original's time",
            |e| {
                let mut sides = sides(e.machine);
                sides.retain(|side| *side > PAPER);
                faster_transposed(e, &sides)
            },
        ),
        // 3,922,373,010 cycles in place of 16,765,297,870.
        measured(
            "E7.3",
            drepper("6.2.1, Table 6.2"),
            "for N = 1000 matrix multiplication with a transposed copy takes 23.4 % of the \
             original's time, within a fifth of that",
            |e| share_of_original(e, WAYS[1].0, [0.187, 0.281]),
        )
        .then(0.234, "Core 2, 2666 MHz"),
    ],
};

fn faster_transposed(e: &Evidence<'_>, sides: &[usize]) -> Judged {
    let mut parts = Vec::new();
    for &side in sides {
        let share = slower(e, WAYS[1].0, WAYS[0].0, side)?;
        parts.push(at_most(
            &format!("transposed over original, N = {side}"),
            share,
            0.6,
        ));
    }
    all_of(parts)
}

const SUB_MATRIX: Experiment = Experiment {
    id: "E8",
    name: "drepper-matmul-sub-matrix",
    title: "Matrix multiplication by sub-matrices of a line on each side",
    question: "Is using whole lines while they are there better than copying the matrix?",
    source: "Drepper 6.2.1 and Table 6.2: 17.3 % of the original's time",
    seen: &[],
    about: "The loops use all of a line while it is there, and need no copy. The eight sums of a \
            line are independent of each other; they go through memory, a load and a store each, \
            which the store buffer forwards.",
    plot: plot(&[table(&[
        ("original", "original"),
        ("transposed", "transposed"),
        ("sub_matrix", "sub-matrix"),
    ])]),
    cases: |machine| cases(machine, 3),
    curves: timed_curves,
    events: events::PRODUCT,
    claims: &[
        // By avoiding the copy another 6.1 % of the original's time are gained: 2,895,041,480
        // cycles in place of 3,922,373,010.
        measured(
            "E8.1",
            drepper("6.2.1, Table 6.2"),
            "for N = 1000 matrix multiplication by sub-matrices is faster than with a transposed \
             copy",
            |e| {
                at_most(
                    "sub-matrix over transposed",
                    slower(e, WAYS[2].0, WAYS[1].0, PAPER),
                    1.0,
                )
            },
        )
        .then(0.738, "Core 2, 2666 MHz")
        .takeaway(
            Takeaway::new(
                Shown::Share,
                Touches::Some,
                "Time of sub-matrices over transposing, N = 1000",
                "Sub-matrices take {now} of the time of a transposed product",
            )
            .advice(
                "Work in blocks of whole lines.",
                "Keep sums in registers: blocks that send them through memory lose more than \
                 they save.",
            ),
        )
        .holding(
            "The eight sums of a line are independent, so that an addition need not wait for the \
             one before.",
        )
        .failing(
            "The eight sums of a line go through memory, a load and a store for each \
             multiply-add, which costs more than the whole lines save.",
        ),
        // 2,895,041,480 cycles in place of 16,765,297,870.
        measured(
            "E8.2",
            drepper("6.2.1, Table 6.2"),
            "for N = 1000 matrix multiplication by sub-matrices takes 17.3 % of the original's \
             time, within a fifth of that",
            |e| share_of_original(e, WAYS[2].0, [0.138, 0.208]),
        )
        .then(0.173, "Core 2, 2666 MHz"),
    ],
};

const VECTORISED: Experiment = Experiment {
    id: "E9",
    name: "drepper-matmul-vectorised",
    title: "Matrix multiplication with vectors: SSE2 as in the paper, and what came after",
    question: "What do vectors add once the lines are used well?",
    source: "Drepper 6.2.1, Table 6.2 and appendix A.1: 9.47 % of the original's time; the text \
             says 7.3 % less than the sub-matrix, the table 7.8",
    seen: &[],
    about: "Registers of 16 bytes hold two elements. Those of 32 and 64 bytes with fused \
            multiply-adds, fed from packed copies in tiles that never leave the registers, show \
            what the multipliers can do.",
    plot: Some(
        Plot::bars(
            Axis::log("rows and columns, N"),
            Axis::log("speed"),
            Unit::GigaflopsPerSecond,
        )
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
        // SSE2 handles two doubles in an operation: 1,588,711,750 cycles in place of 2,895,041,480.
        measured(
            "E9.1",
            drepper("6.2.1, Table 6.2"),
            "for N = 1000 matrix multiplication by sub-matrices is faster with two elements at a \
             time than with one",
            |e| {
                at_most(
                    "vectorised over sub-matrix",
                    slower(e, WAYS[3].0, WAYS[2].0, PAPER),
                    1.0,
                )
            },
        )
        .then(0.549, "Core 2, 2666 MHz")
        .takeaway(
            Takeaway::new(
                Shown::Share,
                Touches::Some,
                "Time with two elements at once over one, N = 1000",
                "A product takes {now} of the time with two elements at a time",
            )
            .advice(
                "Use vectors in loops whose data is in a cache.",
                "Vectors of two elements gain nothing here: let the compiler choose wider \
                 ones.",
            ),
        ),
        // The program runs in 10 % of the time of the original code.
        measured(
            "E9.2",
            drepper("6.2.1, Table 6.2"),
            "for N = 1000 vectorised matrix multiplication takes 9.47 % of the original's time, \
             within a fifth of that",
            |e| share_of_original(e, WAYS[3].0, [0.0758, 0.1136]),
        )
        .then(0.0947, "Core 2, 2666 MHz"),
        // Table 6.2 falls from column to column: 100, 23.4, 17.3 and 9.47 %.
        measured(
            "E9.3",
            drepper("6.2.1, Table 6.2"),
            "for N = 1000 each column of Table 6.2, from the original to the vectorised \
             multiplication, takes less than 0.9 of the time of the column before",
            |e| {
                let mut parts = Vec::new();
                for ((slow, _), (fast, _)) in WAYS.iter().zip(&WAYS[1..4]) {
                    let share = slower(e, fast, slow, PAPER)?;
                    parts.push(at_most(&format!("{fast} over {slow}"), share, 0.9));
                }
                let mut all = all_of(parts)?;
                all.numbers.push_str(&whole(e));
                Ok(all)
            },
        )
        .then(0.234, "Core 2, 2666 MHz"),
    ],
};

/// The core cycles of the whole multiplication of N = 1000 in billions, beside the paper's.
fn whole(e: &Evidence<'_>) -> String {
    const TABLE_6_2: [f64; 4] = [16.77, 3.92, 2.90, 1.59];
    let in_cycles = Evidence {
        unit: Unit::CyclesPerMultiplyAdd,
        ..*e
    };
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
    format!("; billions of core cycles for the whole, the paper's in brackets: {ours}")
}
