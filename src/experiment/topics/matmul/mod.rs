//! Drepper 6.2.1, matrix multiplication: Table 6.2, the argument about misses, and the widest
//! registers of today.

pub mod multiply;

use crate::experiment::prelude::*;
use crate::experiment::topics::matmul::multiply::{
    DifferenceSetup, MatmulSetup, MissSetup, Multiply, Traced,
};
use crate::kernel::MatmulWay;
use crate::stats::Interval;

family![matmul];

/// The rows of this family.
pub(crate) static ALL: &[Experiment] = &[ORIGINAL, TRANSPOSED, SUB_MATRIX, VECTORISED, MISSES];

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
    source: "Drepper 6.2.1 and Table 6.2: 16.8 cycles a multiply-add for N = 1000",
    seen: &[],
    about: "The 1000 lines of a column no longer decide. They fit L2, and a CPU that looks hundreds \
            of instructions ahead has loaded them before the addition is ready for them: each \
            addition waits for the one before, three to five cycles, as it does in the transposed \
            loop, which misses next to nothing. (Sums as short as those of N = 40 overlap, so that \
            a multiply-add takes less there.) What still hurts is a power of two: with N = 1024 \
            the lines of a column lie 8 KiB apart, fall into a few sets of every cache, and throw \
            each other out before the next column finds them; and so does a matrix that no cache \
            holds, whose lines come from memory for an element each.",
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
        measured(
            "E6.1",
            UNSURE,
            "every way gives the result of the plain loops to 1e-9, relative to the sum of the \
             magnitudes",
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
            UNSURE,
            "with N = 1024, whose columns fall into few sets, a multiply-add takes more than 1.5 \
             times as long as with N = 1000",
            |e| {
                let at = |side: usize| e.at(WAYS[0].0, side as f64);
                at_least("N = 1024 over N = 1000", ratio(at(POWER), at(PAPER)), 1.5)
            },
        ),
    ],
};

const TRANSPOSED: Experiment = Experiment {
    id: "E7",
    name: "drepper-matmul-transposed",
    title: "Matrix multiplication after the second matrix was transposed",
    question: "Does it pay to copy a matrix first, so that both are read along their rows?",
    source: "Drepper 6.2.1 and Table 6.2: 23.4 % of the original's time, the copy included",
    seen: &[],
    about: "It pays where the columns conflict, and where the matrix is larger than the caches. \
            Elsewhere the original's misses hide behind its additions, which the transposed loop \
            has to wait for just as well. The copy is spread over the multiplication here, a line \
            of it before each line of the result, so that its share is in every number.",
    plot: plot(&[table(&[
        ("original", "original"),
        ("transposed", "transposed"),
    ])]),
    cases: |machine| cases(machine, 2),
    curves: timed_curves,
    events: events::PRODUCT,
    claims: &[
        measured(
            "E7.1",
            UNSURE,
            "for N = 1000 it takes less than 0.6 of the original's time, the copy included",
            |e| faster_transposed(e, &[PAPER]),
        ),
        measured(
            "E7.2",
            UNSURE,
            "where columns conflict (N = 1024) or, in a full run, a matrix outgrows the last \
             level, it takes less than 0.6 of the original's time",
            |e| {
                let mut sides = sides(e.machine);
                sides.retain(|side| *side > PAPER);
                faster_transposed(e, &sides)
            },
        ),
        measured(
            "E7.3",
            UNSURE,
            "for N = 1000 it takes 23.4 % of the original's time, within a fifth of that",
            |e| share_of_original(e, WAYS[1].0, [0.187, 0.281]),
        ),
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
    about: "It still wins, and for one more reason: its eight sums are independent, so that an \
            addition need not wait for the one before. They go through memory instead, a load and \
            a store each, which the store buffer forwards.",
    plot: plot(&[table(&[
        ("original", "original"),
        ("transposed", "transposed"),
        ("sub_matrix", "sub-matrix"),
    ])]),
    cases: |machine| cases(machine, 3),
    curves: timed_curves,
    events: events::PRODUCT,
    claims: &[
        measured(
            "E8.1",
            UNSURE,
            "for N = 1000 it is faster than the transposed way",
            |e| {
                at_most(
                    "sub-matrix over transposed",
                    slower(e, WAYS[2].0, WAYS[1].0, PAPER),
                    1.0,
                )
            },
        ),
        measured(
            "E8.2",
            UNSURE,
            "for N = 1000 it takes 17.3 % of the original's time, within a fifth of that",
            |e| share_of_original(e, WAYS[2].0, [0.138, 0.208]),
        ),
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
    about: "Two elements at a time halve the time, as then. Registers of 32 and 64 bytes with fused \
            multiply-adds, fed from packed copies in tiles that never leave the registers, come \
            near what the multipliers can do at all; what is left to memory is a tenth.",
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
        measured(
            "E9.1",
            UNSURE,
            "for N = 1000 two elements at a time are faster than one",
            |e| {
                at_most(
                    "vectorised over sub-matrix",
                    slower(e, WAYS[3].0, WAYS[2].0, PAPER),
                    1.0,
                )
            },
        ),
        measured(
            "E9.2",
            UNSURE,
            "for N = 1000 it takes 9.47 % of the original's time, within a fifth of that",
            |e| share_of_original(e, WAYS[3].0, [0.0758, 0.1136]),
        ),
        measured(
            "E9.3",
            UNSURE,
            "for N = 1000 each column of Table 6.2 takes less than 0.9 of the one before",
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
        ),
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

const ORIGINAL_MISSES: &str = "misses a multiply-add, original, simulated";
const TOGETHER_MISSES: &str = "misses a multiply-add, columns together, simulated";
const SUB_MATRIX_MISSES: &str = "misses a multiply-add, sub-matrix, simulated";

const MISSES: Experiment = Experiment {
    id: "E10",
    name: "drepper-matmul-missrate",
    title: "How often the second matrix misses L1d",
    question: "Do whole lines cut the misses on the second matrix to an eighth?",
    source: "Drepper 6.2.1: a line of mul2 is evicted before its next element is wanted; two \
             iterations of the middle loop together halve the misses, eight use all of the line",
    seen: &[],
    about: "The argument is arithmetic and holds in any cache that a column does not fit. What it \
            is worth has changed: a miss of L1d that hits L2 costs nothing if the CPU asks long \
            before it needs the answer, as it does where additions wait for each other anyway. The \
            sub-matrices do better than the eighth, because they use a line for eight rows of \
            the result as well.",
    plot: plot(&[]),
    cases: |machine| {
        let mut cases = cases(machine, 3);
        let count = |series, columns, traced| Case::new(series, columns, MissSetup { traced });
        let original = Traced::Kernel(MatmulWay::Original);
        let sub_matrix = Traced::Kernel(MatmulWay::SubMatrix);
        cases.push(count(ORIGINAL_MISSES, 1, original));
        for columns in [1_u32, 2, 4, 8] {
            let traced = Traced::Together(columns as usize);
            cases.push(count(TOGETHER_MISSES, columns, traced));
        }
        cases.push(count(SUB_MATRIX_MISSES, 8, sub_matrix));
        cases
    },
    curves: timed_curves,
    events: &[],
    claims: &[
        measured(
            "E10.1",
            UNSURE,
            "in a simulated L1d that a column outgrows as it did the paper's, the original misses \
             at 0.9 of its accesses to mul2 or more",
            |e| {
                let misses = e.at(ORIGINAL_MISSES, 1.0)?;
                at_least("misses an access", misses, 0.9)
            },
        ),
        measured(
            "E10.2",
            UNSURE,
            "there, two iterations of the middle loop together halve the misses, and eight cut \
             them to an eighth (10 % allowed)",
            |e| {
                let one = e.at(TOGETHER_MISSES, 1.0)?;
                let mut parts = Vec::new();
                for columns in [2.0, 4.0, 8.0] {
                    let share = ratio(e.at(TOGETHER_MISSES, columns), one)?;
                    let wanted = 1.0 / columns;
                    let what = format!("misses with {columns} columns together");
                    parts.push(between(&what, share, 0.9 * wanted, 1.1 * wanted));
                }
                all_of(parts)
            },
        ),
        measured(
            "E10.3",
            UNSURE,
            "there, sub-matrices miss at no more than an eighth of the original's accesses",
            |e| {
                let share = ratio(e.at(SUB_MATRIX_MISSES, 8.0), e.at(ORIGINAL_MISSES, 1.0))?;
                between("misses of sub-matrices", share, 0.0, 0.125)
            },
        ),
        measured(
            "E10.4",
            UNSURE,
            "and time follows the misses: with N = 1000 the original takes more than 1.2 times as \
             long as the same instructions along the rows of the transposed matrix",
            |e| {
                at_least(
                    "original over transposed",
                    slower(e, WAYS[0].0, WAYS[1].0, PAPER),
                    1.2,
                )
            },
        ),
    ],
};
