//! Drepper 3.3.2, sequential walks: Figures 3.10, 3.11 and 3.13.

use crate::experiment::prelude::*;
use crate::experiment::shared::walk::WalkSetup;
use crate::kernel::Step;
use crate::pattern::{Layout, Order};

/// The figures of this family.
pub(crate) static ALL: &[Experiment] = &[FIG_3_10, FIG_3_11, FIG_3_13];

fn cases(machine: &Machine, npads: &[usize]) -> Vec<Case> {
    let mut cases = Vec::new();
    for &npad in npads {
        for bytes in machine.working_sets() {
            let setup = WalkSetup::follow(Layout::npad(npad), bytes, Order::Sequential);
            cases.push(Case::new(format!("NPAD={npad}"), bytes as f64, setup));
        }
    }
    cases
}

const FIG_3_10: Experiment = Experiment {
    id: "D14",
    name: "drepper-fig-3.10",
    title: "A sequential walk of 8-byte elements",
    question: "How much of a miss does the hardware prefetcher hide when a list lies in order?",
    source: "Drepper 3.3.2, Figure 3.10",
    seen: &[],
    about: "The prefetchers of today run further ahead and start earlier, and eight elements share \
            a line, so that the line's cost is spread over eight steps: the steps at the cache \
            sizes all but vanish, and what is left is the load-to-use latency of L1d.",
    plot: Plot::over_working_set(&[Reference {
        file: "drepper-fig-3.10.csv",
        machine: PENTIUM_4,
        x: "working_set_bytes",
        columns: &[("value", "NPAD=0")],
    }]),
    cases: |machine| cases(machine, &[0]),
    curves: plain_curves,
    events: events::WALK,
    claims: &[
        measured(
            "D14.1",
            UNSURE,
            "inside L1d a step costs the CPU's load-to-use latency (10 % allowed)",
            |e| {
                let level = e.level("NPAD=0", e.machine.ranges.l1)?;
                let published = e.machine.load_to_use.ok_or_else(|| {
                    Untestable(format!(
                        "no published load-to-use latency for this CPU; measured {level} core cycles"
                    ))
                })?;
                let published = f64::from(published);
                between(
                    "core cycles a step in L1d",
                    level,
                    published * 0.9,
                    published * 1.1,
                )
            },
        ),
        measured(
            "D14.2",
            UNSURE,
            "prefetching keeps a step in memory below 4 times a step in L1d",
            |e| {
                let near = e.level("NPAD=0", e.machine.ranges.l1)?;
                let far = e.level("NPAD=0", e.machine.ranges.memory)?;
                at_most("memory over L1d", ratio(far, near), 4.0)
            },
        ),
    ],
};

const FIG_3_11: Experiment = Experiment {
    id: "D15",
    name: "drepper-fig-3.11",
    title: "A sequential walk of elements of 8 to 256 bytes",
    question: "What does the distance between elements cost when the order is the best possible?",
    source: "Drepper 3.3.2, Figure 3.11",
    seen: &[],
    about: "With 64 bytes and more every step is a new line, and the walk is bound by how fast \
            lines arrive. Elements of 128 and 256 bytes also outrun the streamer, which follows \
            neighbouring lines inside a 4 KiB page, and waste the neighbour that comes along.",
    plot: Plot::over_working_set(&[Reference {
        file: "drepper-fig-3.11.csv",
        machine: PENTIUM_4,
        x: "working_set_bytes",
        columns: &[
            ("NPAD=0", "NPAD=0"),
            ("NPAD=7", "NPAD=7"),
            ("NPAD=15", "NPAD=15"),
            ("NPAD=31", "NPAD=31"),
        ],
    }]),
    cases: |machine| cases(machine, &[0, 7, 15, 31]),
    curves: plain_curves,
    events: events::WALK,
    claims: &[
        measured(
            "D15.1",
            UNSURE,
            "in memory a step costs more the further apart the elements lie",
            |e| {
                let level = |label| e.level(label, e.machine.ranges.memory);
                let rise = |from, to| {
                    at_least(
                        &format!("{to} over {from}"),
                        ratio(level(to), level(from)),
                        1.0,
                    )
                };
                all_of([
                    rise("NPAD=0", "NPAD=7"),
                    rise("NPAD=7", "NPAD=15"),
                    rise("NPAD=15", "NPAD=31"),
                ])
            },
        ),
        measured(
            "D15.2",
            UNSURE,
            "in memory a new line at every step costs more than twice a new line at every eighth",
            |e| {
                let level = |label| e.level(label, e.machine.ranges.memory);
                at_least(
                    "NPAD=7 over NPAD=0",
                    ratio(level("NPAD=7"), level("NPAD=0")),
                    2.0,
                )
            },
        ),
    ],
};

const FIG_3_13: Experiment = Experiment {
    id: "D17",
    name: "drepper-fig-3.13",
    title: "A sequential walk that only reads, and two that write",
    question: "What does writing to each element add, when every written line must go back to \
               memory?",
    source: "Drepper 3.3.2, Figure 3.13",
    seen: &[],
    about: "Out of order execution takes the increment off the path from pointer to pointer, so \
            the three walks cost the same in the caches. Beyond them the write-backs still take \
            their share of the bandwidth, and Addnext0 no longer prefetches for itself what the \
            hardware has not already fetched.",
    plot: Plot::over_working_set(&[Reference {
        file: "drepper-fig-3.13.csv",
        machine: PENTIUM_4,
        x: "working_set_bytes",
        columns: &[
            ("Follow", "Follow"),
            ("Inc", "Inc"),
            ("Addnext0", "Addnext0"),
        ],
    }]),
    cases: |machine| {
        // Those that are compared are measured one after the other.
        let mut cases = Vec::new();
        for bytes in machine.working_sets() {
            for step in [Step::Follow, Step::Inc, Step::Addnext0] {
                let setup = WalkSetup::follow(Layout::npad(1), bytes, Order::Sequential);
                let case = Case::new(format!("{step:?}"), bytes as f64, setup.with(step));
                cases.push(case.in_turn());
            }
        }
        cases
    },
    curves: plain_curves,
    events: events::WALK,
    claims: &[
        measured(
            "D17.1",
            UNSURE,
            "beyond L2 writing costs more than reading: Inc is slower than Follow",
            |e| {
                let part = |name: &str, range| {
                    let slower = paired(e, "Inc", "Follow", range)?;
                    at_least(&format!("Inc over Follow in {name}"), slower, 1.0)
                };
                all_of([
                    part("the last level", e.machine.ranges.llc),
                    part("memory", e.machine.ranges.memory),
                ])
            },
        ),
        measured(
            "D17.2",
            UNSURE,
            "in memory Inc takes 1.3 to 3 times as long as Follow, for every line is written back",
            |e| {
                let memory = e.machine.ranges.memory;
                between(
                    "Inc over Follow",
                    paired(e, "Inc", "Follow", memory),
                    1.3,
                    3.0,
                )
            },
        ),
        measured(
            "D17.3",
            UNSURE,
            "in L2 Addnext0 is no slower than Inc (5 % allowed)",
            |e| {
                let l2 = e.machine.ranges.l2;
                at_most("Addnext0 over Inc", paired(e, "Addnext0", "Inc", l2), 1.05)
            },
        ),
    ],
};
