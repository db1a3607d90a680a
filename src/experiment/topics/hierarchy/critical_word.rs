//! Drepper 3.5.2, critical word load: Figure 3.30.

use crate::experiment::machine::predict::{Places, in_order, random};
use crate::experiment::prelude::*;
use crate::experiment::shared::walk::WalkSetup;
use crate::kernel::{Direction, Fields};
use crate::mem::Region;
use crate::pattern::{Layout, Order, Ring};

/// The figures of this family.
pub(crate) static ALL: &[Experiment] = &[FIG_3_30, STRUCT_RULES];

const PAIRS: [(&str, &str, &str); 2] = [
    (
        "sequential",
        "sequential, first word",
        "sequential, last word",
    ),
    ("random", "random, first word", "random, last word"),
];

const FIG_3_30: Experiment = Experiment {
    id: "D42",
    name: "drepper-fig-3.30",
    title: "The pointer in the first word of the line, or in the last",
    question: "Does a walk wait longer for the last word of a line than for the first?",
    source: "Drepper 3.5.2, Figure 3.30",
    about: "The paper's memory bus sent eight bytes at a time, so that the eighth word of a line \
            came last, unless the controller was told which word is wanted. Lines cross the \
            fabric of a CPU of today in one or two pieces of 32 or 64 bytes.",
    seen: &[],
    plot: Some(
        Plot::lines(
            Axis::WORKING_SET,
            Axis::linear("slowdown of the last word"),
            Unit::Percent,
        )
        .beside(&[Reference {
            file: "drepper-fig-3.30.csv",
            machine: "Core 2 (2007); the paper plots the slowdown downwards",
            x: "working_set_bytes",
            columns: &[("Sequential", "sequential"), ("Random", "random")],
        }]),
    ),
    cases: |machine| {
        let seed = machine.seed;
        let first = Layout::npad(7);
        let last = first.pointer_in_word(7);
        let orders = [Order::Sequential, Order::Random { seed }];
        // The two that are compared are measured one after the other.
        let sizes = machine.few_working_sets(2);
        let mut cases = Vec::new();
        for ((_, with_first, with_last), order) in PAIRS.into_iter().zip(orders) {
            for &bytes in &sizes {
                for (series, layout) in [(with_first, first), (with_last, last)] {
                    let setup = WalkSetup::follow(layout, bytes, order);
                    cases.push(Case::new(series, bytes as f64, setup).in_turn());
                }
            }
        }
        cases
    },
    curves: |e| {
        PAIRS
            .iter()
            .filter_map(|(label, first, last)| slowdown(e, label, first, last))
            .collect()
    },
    events: events::WALK,
    claims: &[
        measured(
            "D42.1",
            ours(
                "lines cross the fabric of today in one or two pieces, so that the place of a word \
             should not show",
            ),
            "in memory a walk takes the same time, to 2 %, whether the pointer is the first \
             word of the line or the last",
            |e| {
                let memory = e.machine.ranges.memory;
                let mut parts = Vec::new();
                for (label, first, last) in PAIRS {
                    let slower = paired(e, last, first, memory)?;
                    parts.push(between(
                        &format!("last over first word, {label}"),
                        slower,
                        0.98,
                        1.02,
                    ));
                }
                all_of(parts)
            },
        )
        .holding("Lines arrive whole, or the wanted word comes first."),
        // Beyond L2 the walk is about 0.7 % slower with the critical word at the end of the line.
        measured(
            "D42.2",
            drepper("3.5.2, Figure 3.30"),
            "in memory a walk takes longer if the pointer is the last word of the line than if it \
             is the first, in order and at random",
            |e| {
                let memory = e.machine.ranges.memory;
                all_of(PAIRS.map(|(label, first, last)| {
                    let slower = paired(e, last, first, memory)?;
                    at_least(&format!("last over first word, {label}"), slower, 1.0)
                }))
            },
        )
        .then(1.007, "Core 2")
        .failing("The place of the word does not show."),
    ],
};

const DIRECTIONS: [(&str, Direction); 2] = [
    ("in the order of the definition", Direction::Ascending),
    ("in the opposite order", Direction::Descending),
];

const STRUCT_RULES: Experiment = Experiment {
    id: "E13",
    name: "drepper-struct-rules",
    title: "Fields read in the order of their definition, or backwards",
    question: "Does it pay to read the fields of a structure in the order in which they lie?",
    source: "Drepper 6.2.1, the two rules on structures: the critical word first, and access in \
             the order of definition",
    about: "The rule follows from lines that arrive piece by piece. Where a line arrives whole, \
            what is left is the walk itself: all eight loads of a line wait for the same miss, \
            and the one that the next step needs must not come last among them, where the CPU is \
            busy with the others.",
    seen: &[],
    plot: Plot::over_working_set(&[]),
    cases: |machine| {
        let seed = machine.seed;
        let mut cases = Vec::new();
        for bytes in machine.few_working_sets(2) {
            for (series, direction) in DIRECTIONS {
                let setup = FieldsSetup {
                    working_set: bytes,
                    order: Order::Random { seed },
                    direction,
                };
                cases.push(Case::new(series, bytes as f64, setup).in_turn());
            }
        }
        cases
    },
    curves: plain_curves,
    events: events::WALK,
    // Access the elements of a structure in the order in which they are defined, since a
    // critical word late in the line costs time.
    claims: &[measured(
        "E13.1",
        drepper("6.2.1, the second rule on structures"),
        "in memory the fields of a line take longer to read from the last to the first than \
             from the first to the last",
        |e| {
            let memory = e.machine.ranges.memory;
            let slower = paired(e, DIRECTIONS[1].0, DIRECTIONS[0].0, memory)?;
            at_least("backwards over forwards", slower, 1.0)
        },
    )
    .failing("The order in which the fields of a line are read does not matter.")],
};

/// A ring of line-sized elements, each read wholly before the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FieldsSetup {
    /// Bytes of all elements together.
    pub working_set: usize,
    /// In which order the elements are visited.
    pub order: Order,
    /// In which order the fields are read.
    pub direction: Direction,
}

/// One line.
const LINE_ELEMENT: Layout = Layout::npad(7);

impl Setup for FieldsSetup {
    fn bytes(&self) -> usize {
        self.working_set
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Result<Workload<'m>, Untestable> {
        let count = LINE_ELEMENT.count(self.working_set);
        let ring = Ring::new(region, LINE_ELEMENT, count, self.order)?;
        let fields = Fields::new(ring, self.direction)?;
        Ok(Workload::steady(fields, count as u64))
    }

    /// The line comes once; the other fields are there with it.
    fn predict(&self, parameters: &Parameters<'_>) -> Option<Forecast> {
        let places = Places::lines(LINE_ELEMENT.count(self.working_set));
        match self.order {
            Order::Random { .. } => random(parameters, places, None),
            Order::Sequential => in_order(parameters, places, false),
            _ => None,
        }
    }
}
