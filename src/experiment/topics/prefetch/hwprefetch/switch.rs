//! The prefetchers switched off.

use crate::experiment::prelude::*;
use crate::experiment::topics::prefetch::hwprefetch::order::FORWARDS;
use crate::experiment::topics::prefetch::hwprefetch::{RANDOM, SwitchedOffSetup, in_memory, lines};
use crate::pattern::Order;
use crate::stats::Interval;

/// Where the walks stand on the axis.
const ON: f64 = 0.0;
const OFF: f64 = 1.0;

pub(crate) const SWITCHED_OFF: Experiment = Experiment {
    id: "E35",
    name: "hw-prefetch-disable",
    title: "The same walks with the prefetchers switched off",
    question: "How much of the speed of a sequential walk is the prefetchers' work?",
    source: "Drepper 6.3.1: prefetching can be switched off by a model-specific register, \
             IA32_MISC_ENABLE bits 9 and 19 on the CPUs of 2007",
    seen: &[],
    about: "The register of today is 1A4h on Intel since Nehalem, with a bit for each of four \
            prefetchers and more, and C000_0108h on AMD since Zen 3. Writing it takes root, the \
            option --allow-msr and a kernel or hypervisor that lets it through; few virtual \
            machines do. Without prefetchers the core looks ahead by itself, but a walk along a \
            list waits for each line. What is left of the difference is memory's: neighbouring \
            lines come from an open row of DRAM, and share a translation.",
    plot: Some(Plot::bars(
        Axis::linear("prefetchers on (0), off (1)"),
        Axis::linear("time per line"),
        Unit::CoreCycles,
    )),
    cases: |machine| {
        let seed = machine.seed;
        let orders = [
            (FORWARDS, Order::Sequential),
            (RANDOM, Order::Random { seed }),
        ];
        let walks = orders.map(|(series, order)| (series, lines(machine, order)));
        let on = walks.map(|(series, walk)| Case::new(series, ON, walk));
        let off = walks.map(|(series, walk)| Case::new(series, OFF, SwitchedOffSetup { walk }));
        on.into_iter().chain(off).collect()
    },
    curves: plain_curves,
    events: events::WALK,
    claims: &[
        measured(
            "E35.1",
            ours("what the switch is held against"),
            "with the prefetchers on, a step to the next line costs less than half of a random \
             step",
            |e| at_most("forwards over random, on", forwards_over_random(e, ON), 0.5),
        ),
        // It is possible to disable hardware prefetching completely or partially by a model-
        // specific register.
        measured(
            "E35.2",
            drepper("6.3.1"),
            "with all prefetchers off, a step to the next line costs at least half of a random \
             step",
            |e| {
                at_least(
                    "forwards over random, off",
                    forwards_over_random(e, OFF),
                    0.5,
                )
            },
        ),
    ],
};

fn forwards_over_random(e: &Evidence<'_>, place: f64) -> Result<Interval, Untestable> {
    in_memory(e)?;
    ratio(e.at(FORWARDS, place), e.at(RANDOM, place))
}
