//! E10: the argument about misses on the second matrix, simulated and timed.

use crate::experiment::prelude::*;
use crate::experiment::topics::matmul::multiply::{MissSetup, Traced};
use crate::experiment::topics::matmul::{PAPER, WAYS, cases, plot, slower, timed_curves};
use crate::kernel::MatmulWay;

const ORIGINAL_MISSES: &str = "misses per multiply-add, original, simulated";
const TOGETHER_MISSES: &str = "misses per multiply-add, columns together, simulated";
const SUB_MATRIX_MISSES: &str = "misses per multiply-add, sub-matrix, simulated";

pub(super) const MISSES: Experiment = Experiment {
    id: "E10",
    name: "drepper-matmul-missrate",
    title: "How often accesses to the second matrix miss L1d",
    question: "Does using whole lines cut the misses on the second matrix to an eighth?",
    source: "Drepper 6.2.1: a line of mul2 is evicted before its next element is used; two \
             iterations of the middle loop together halve the misses, eight use the whole line",
    about: "A simulator counts the misses on the second matrix in a small L1d that a column does \
            not fit, as in the document. The argument applies to any such cache. The bars show the \
            time per multiply-add. A miss of L1d that hits L2 costs time only if the CPU cannot \
            load the line long before it needs the element.",
    plot: plot(&[]),
    cases: |machine| {
        let mut cases = cases(machine, 3);
        let count = |series, columns, traced| Case::new(series, columns, MissSetup { traced });
        cases.push(count(ORIGINAL_MISSES, 1, Traced::Kernel(MatmulWay::Original)));
        for columns in [1_u32, 2, 4, 8] {
            cases.push(count(TOGETHER_MISSES, columns, Traced::Together(columns as usize)));
        }
        cases.push(count(SUB_MATRIX_MISSES, 8, Traced::Kernel(MatmulWay::SubMatrix)));
        cases
    },
    curves: timed_curves,
    claims: &[
        // The line of mul2 is evicted long before the inner loop completes a round.
        simulated(
            "E10.1",
            drepper("6.2.1"),
            "in a simulated L1d that a column outgrows as in the document, the original loops \
             miss at 0.9 or more of their accesses to the second matrix",
            |e| at_least("misses per access", e.at(ORIGINAL_MISSES, 1.0), 0.9),
        ),
        // Two iterations together use two doubles of a line and halve the miss rate; to use a line
        // of 64 bytes fully, unroll the middle loop 8 times.
        simulated(
            "E10.2",
            drepper("6.2.1"),
            "in a simulated L1d, two iterations of the middle loop together halve the misses on \
             the second matrix, four quarter them and eight cut them to an eighth, within 10 %",
            |e| {
                let one = e.at(TOGETHER_MISSES, 1.0)?;
                all_of([2.0, 4.0, 8.0].map(|columns| {
                    let share = ratio(e.at(TOGETHER_MISSES, columns), &one)?;
                    let wanted = 1.0 / columns;
                    let what = format!("misses with {columns} columns together");
                    between(&what, share, 0.9 * wanted, 1.1 * wanted)
                }))
            },
        )
        .then(0.5, ""),
        // Sub-matrices use all bytes of a line before it is evicted.
        simulated(
            "E10.3",
            drepper("6.2.1"),
            "in a simulated L1d, sub-matrices miss at no more than an eighth of the original's \
             misses on the second matrix",
            |e| {
                let share = ratio(e.at(SUB_MATRIX_MISSES, 8.0), e.at(ORIGINAL_MISSES, 1.0))?;
                between("misses of sub-matrices", share, 0.0, 0.125)
            },
        )
        .holding(
            "Sub-matrices can miss even less, because they also use a line for eight rows of the \
             result.",
        ),
        // The 1000 non-sequential accesses really hurt: 16,765,297,870 cycles instead of
        // 3,922,373,010.
        measured(
            "E10.4",
            drepper("6.2.1, Table 6.2"),
            "for N = 1000, the original matrix multiplication takes more than 1.2 times as long \
             as the same instructions along the rows of the transposed matrix",
            |e| at_least("original over transposed", slower(e, WAYS[0].0, WAYS[1].0, PAPER), 1.2),
        )
        .then(4.27, "Core 2, 2666 MHz")
        .failing(
            "Most of the simulated misses cost no time: the CPU loads the lines long before an \
             addition needs them.",
        ),
    ],
    ..Experiment::PLAIN
};
