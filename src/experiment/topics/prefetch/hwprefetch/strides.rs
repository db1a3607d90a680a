//! Strides.

use crate::experiment::prelude::*;
use crate::experiment::topics::prefetch::hwprefetch::{RANDOM, in_memory, lines, plot};
use crate::mem::{LINE, PAGE};
use crate::pattern::Order;
use crate::stats::Interval;

const STRIDED: &str = "strided";
const STRIDED_HUGE: &str = "strided, 2 MiB pages";
const RANDOM_HUGE: &str = "random, 2 MiB pages";

pub(crate) const STRIDES: Experiment = Experiment {
    id: "E29",
    name: "hw-prefetch-strides",
    title: "Strides that the prefetcher follows",
    question: "Up to which stride do equal steps cost less than random steps?",
    source: "Drepper 6.3.1: strides are recognised within a window of 512 bytes, and never across \
             a page boundary",
    seen: &[],
    about: "A walk visits every line of a large list by equal steps. The axis is the size of a \
            step; the points at 64 bytes also show a random walk. A stride that the prefetcher \
            follows costs much less than a random step. Intel's stride prefetcher, which learns a \
            stride per load instruction, follows strides of up to 2 KiB inside a page. AMD's \
            works on virtual addresses and may follow strides of a page and more; it then also \
            translates addresses ahead. The walks in 2 MiB pages separate the effect of the page \
            boundary from the effect of the stride.",
    plot: plot(Axis::bytes("stride")),
    cases: |machine| {
        let strides: &[usize] = if machine.full {
            &[1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256]
        } else {
            &[1, 4, 16, 32, 64, 128]
        };
        let seed = machine.seed;
        let random = lines(machine, Order::Random { seed });
        let mut cases = Vec::new();
        for &stride in strides {
            let order = match stride {
                1 => Order::Sequential,
                elements => Order::Strided { elements },
            };
            let x = (stride * LINE) as f64;
            let setup = lines(machine, order);
            cases.push(Case::new(STRIDED, x, setup));
            if machine.full || stride == 1 || stride * LINE == PAGE {
                cases.push(Case::new(STRIDED_HUGE, x, setup).in_huge_pages());
            }
        }
        cases.push(Case::new(RANDOM, LINE as f64, random));
        cases.push(Case::new(RANDOM_HUGE, LINE as f64, random).in_huge_pages());
        cases
    },
    curves: plain_curves,
    events: events::WALK,
    claims: &[
        // A sequence of misses to succeeding lines triggers the prefetcher.
        measured(
            "E29.1",
            drepper("6.3.1"),
            "in memory, a step to the next line costs less than half of a random step",
            |e| {
                at_most(
                    "stride 64 over random",
                    strided_over_random(e, STRIDED, RANDOM, LINE),
                    0.5,
                )
            },
        ),
        // Prefetching's big weakness is that it cannot cross page boundaries.
        measured(
            "E29.2",
            drepper("6.3.1"),
            "in memory, steps of one page and of two pages cost 0.7 to 1.3 times as much as a \
             random step: the prefetcher does not follow strides across pages",
            |e| {
                let part = |stride| {
                    let share = strided_over_random(e, STRIDED, RANDOM, stride)?;
                    between(&format!("stride {stride} over random"), share, 0.7, 1.3)
                };
                all_of([part(PAGE), part(2 * PAGE)])
            },
        )
        .failing(
            "A prefetcher of this core works on virtual addresses, or neighbouring pages also lie \
             side by side in physical memory.",
        ),
        measured(
            "E29.3",
            ours(
                "a step of 4 KiB stays inside a page of 2 MiB: does the page or the size of the \
                 stride set the limit?",
            ),
            "in pages of 2 MiB, a step of 4 KiB costs 0.7 to 1.3 times as much as a random step",
            |e| {
                let share = strided_over_random(e, STRIDED_HUGE, RANDOM_HUGE, PAGE)?;
                between("stride 4096 over random", share, 0.7, 1.3)
            },
        ),
        // Strides are recognised as well: skipping a fixed number of lines counts as a pattern,
        // within a window that is often 512 bytes.
        measured(
            "E29.4",
            drepper("6.3.1"),
            "in memory, strides of more than a line and up to 512 bytes cost less than half of a \
             random step",
            |e| {
                all_of(strides(e, LINE + 1..=WINDOW)?.into_iter().map(|stride| {
                    let share = strided_over_random(e, STRIDED, RANDOM, stride);
                    at_most(&format!("stride {stride} over random"), share, 0.5)
                }))
            },
        ),
        // Going beyond the window of 512 bytes probably makes little sense.
        measured(
            "E29.5",
            drepper("6.3.1"),
            "in memory, strides of more than 512 bytes and less than a page cost at least half of \
             a random step",
            |e| {
                all_of(
                    strides(e, WINDOW + 1..=PAGE - 1)?
                        .into_iter()
                        .map(|stride| {
                            let share = strided_over_random(e, STRIDED, RANDOM, stride);
                            at_least(&format!("stride {stride} over random"), share, 0.5)
                        }),
                )
            },
        )
        .failing("This core follows strides in a wider window."),
    ],
};

/// The document's window for strides, in bytes.
const WINDOW: usize = 512;

/// The strides between two bounds that were measured.
fn strides(
    e: &Evidence<'_>,
    within: core::ops::RangeInclusive<usize>,
) -> Result<Vec<usize>, Untestable> {
    let strides = e.series(STRIDED)?.into_iter().map(|(x, _)| x as usize);
    Ok(strides.filter(|stride| within.contains(stride)).collect())
}

fn strided_over_random(
    e: &Evidence<'_>,
    strided: &str,
    random: &str,
    stride: usize,
) -> Result<Interval, Untestable> {
    in_memory(e)?;
    e.series(strided)?;
    e.series(random)?;
    ratio(e.at(strided, stride as f64), e.at(random, LINE as f64))
}
