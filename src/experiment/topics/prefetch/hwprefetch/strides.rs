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
    question: "Up to which distance do equal steps cost less than random ones?",
    source: "Drepper 6.3.1: strides inside a window of 512 bytes, and none across a page",
    seen: &[],
    about: "A prefetcher that tells strides by the instruction that loads follows them up to 2 KiB \
            on Intel, inside a page. AMD's works on virtual addresses and may follow a \
            stride of a page and more, which makes it translate addresses ahead, too.",
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
        measured(
            "E29.1",
            UNSURE,
            "line after line costs less than half of a random step",
            |e| {
                at_most(
                    "stride 64 over random",
                    strided_over_random(e, STRIDED, RANDOM, LINE),
                    0.5,
                )
            },
        ),
        measured(
            "E29.2",
            UNSURE,
            "a stride of a page or two is not followed: 0.7 to 1.3 of a random step",
            |e| {
                let part = |stride| {
                    let share = strided_over_random(e, STRIDED, RANDOM, stride)?;
                    between(&format!("stride {stride} over random"), share, 0.7, 1.3)
                };
                all_of([part(PAGE), part(2 * PAGE)])
            },
        ),
        measured(
            "E29.3",
            UNSURE,
            "nor is it in pages of 2 MiB, where a step of 4 KiB stays inside: 0.7 to 1.3 of a \
             random one",
            |e| {
                let share = strided_over_random(e, STRIDED_HUGE, RANDOM_HUGE, PAGE)?;
                between("stride 4096 over random", share, 0.7, 1.3)
            },
        ),
    ],
};

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
