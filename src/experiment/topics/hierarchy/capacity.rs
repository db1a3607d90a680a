//! Drepper 3.3.2, caches of different sizes: Figure 3.14.

use crate::experiment::claim::guest::unless_strangers;
use crate::experiment::prelude::*;
use crate::experiment::shared::walk::WalkSetup;
use crate::experiment::topics::hierarchy::llc_share::share;
use crate::experiment::topics::hierarchy::random::{in_memory, step_at, steps_by_ends};
use crate::kernel::Step;
use crate::pattern::{Layout, Order};

/// The figure of this family.
pub(crate) static ALL: &[Experiment] = &[FIG_3_14];

const RANDOM: &str = "random Inc, NPAD=15";
const SEQUENTIAL: &str = "sequential Inc, NPAD=15";

/// By how much the figure's curves grow from the middle of L2 to the largest working set, the least
/// of three: 302 over 17.26 cycles on the Core 2, 18.2 and 22.3 times on the others.
const GROWTH: f64 = 17.5;

fn case(machine: &Machine, series: &str, bytes: usize) -> Case {
    let order = if series == RANDOM {
        Order::Random { seed: machine.seed }
    } else {
        Order::Sequential
    };
    let setup = WalkSetup::follow(Layout::npad(15), bytes, order).with(Step::Inc);
    Case::new(series, bytes as f64, setup)
}

const FIG_3_14: Experiment = Experiment {
    id: "D18",
    name: "drepper-fig-3.14",
    title: "What a larger last level saves",
    question: "Up to which working set does the last level serve this core, and how much time does \
               it save?",
    source: "Drepper 3.3.2, Figure 3.14: Inc on 128-byte elements on three machines. The text \
             describes sequential walks, but the data are those of Figure 3.4, which shows random \
             walks. This test runs both",
    about: "The test walks lists of 128-byte elements, at random and in sequence, and increments a \
            word in each element. The time of a random step rises where the working set outgrows \
            the last level. The first claim compares the position of this rise with the share of \
            the last level that CPUID reports for one hardware thread (E25). One machine has one \
            cache size; `linefill compare` draws the curves of several machines, as the figure \
            does. In a virtual machine, other guests may fill the same cache or leave it idle, so \
            the rise can lie below or above the share. In the sequential walk, hardware prefetch \
            hides the size of the cache.",
    seen: &[],
    plot: Plot::over_working_set(&[
        Reference {
            file: "drepper-fig-3.14.csv",
            machine: PENTIUM_4,
            x: "working_set_bytes",
            columns: &[("P4/32k/1M", "Inc, L2 of 1 MiB")],
        },
        Reference {
            file: "drepper-fig-3.14.csv",
            machine: "Pentium 4, 16 KiB L1d, 512 KiB L2, 2 MiB L3 (2007)",
            x: "working_set_bytes",
            columns: &[("P4/16k/512k/2M", "Inc, L3 of 2 MiB")],
        },
        Reference {
            file: "drepper-fig-3.14.csv",
            machine: "Core 2, 32 KiB L1d, 4 MiB L2 (2007)",
            x: "working_set_bytes",
            columns: &[("Core2/32k/4M", "Inc, L2 of 4 MiB")],
        },
    ]),
    cases: |machine| {
        // The random walk is that of Figure 3.4, and measured once.
        let random = machine.working_sets().into_iter();
        let random = random.map(|bytes| case(machine, RANDOM, bytes));
        let sequential = machine.few_working_sets(2).into_iter();
        let sequential = sequential.map(|bytes| case(machine, SEQUENTIAL, bytes));
        random.chain(sequential).collect()
    },
    curves: plain_curves,
    events: events::WALK,
    claims: &[
        // The larger the last level, the longer the curve stays at the low level of the cache.
        measured(
            "D18.1",
            drepper("3.3.2, Figure 3.14"),
            "the last rise in the time of a random walk over 128-byte elements lies at this core's \
             share of the last level, within a factor of 2",
            |e| {
                let points = e.series(RANDOM)?;
                let memory = e.machine.ranges.memory;
                if points.last().is_none_or(|(x, _)| *x < memory.lo) {
                    return Err(Untestable(
                        "no working set beyond the last-level cache was measured".to_owned(),
                    ));
                }
                let share = share(e.machine)
                    .ok_or_else(|| Untestable("CPUID describes no cache beyond L1d".to_owned()))?;
                // Only steps beyond L2 count: otherwise the nearest step might be L2's own.
                let mut found = steps_by_ends(&points);
                let beyond = 2.0 * e.machine.ranges.l2.hi;
                for steps in &mut found {
                    steps.retain(|step| *step > beyond);
                }
                unless_strangers(e, step_at(&found, "the share", share as f64, true))
            },
        ),
        // Work that fits the larger last level is done much faster; the second Pentium 4 is twice
        // as fast at 2^20 bytes as the first, which goes to memory.
        measured(
            "D18.2",
            drepper("3.3.2, Figure 3.14"),
            "a random step takes more than 1.5 times as long in memory as in the last level",
            |e| {
                let near = e.level(RANDOM, e.machine.ranges.llc)?;
                let slower = ratio(in_memory(e, RANDOM), near)?;
                unless_strangers(e, at_least("memory over the last level", slower, 1.5))
            },
        )
        .then(6.7, "Pentium 4, 2 MiB L3 (2007)")
        .takeaway(
            Takeaway::new(
                Shown::Times,
                Touches::Many,
                "A random step in memory over one in the last level",
                "A last-level miss takes {now} as long as a hit",
            )
            .advice(
                "Keep data that you access at random smaller than this core's share of the last \
                 level.",
                "Fitting data into the last level gains little: aim at L2.",
            ),
        ),
        measured(
            "D18.3",
            ours(
                "the text describes sequential walks, but the data are those of Figure 3.4, a \
                 random walk; the growth from L2 to memory tells which walk it was",
            ),
            "from L2 to memory, the time of a random step grows 17.5 times or more, as in Figure \
             3.14, and the time of a sequential step grows less",
            |e| {
                let growth = |series| {
                    let near = e.level(series, e.machine.ranges.l2)?;
                    ratio(in_memory(e, series), near)
                };
                all_of([
                    at_least("memory over L2 at random", growth(RANDOM), GROWTH),
                    at_most("memory over L2 in sequence", growth(SEQUENTIAL), GROWTH),
                ])
            },
        ),
    ],
};
