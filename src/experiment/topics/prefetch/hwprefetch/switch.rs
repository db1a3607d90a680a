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
    question: "How much of a sequential walk's speed comes from the prefetchers?",
    source: "Drepper 6.3.1: prefetching can be switched off by a model-specific register, \
             IA32_MISC_ENABLE bits 9 and 19 on the CPUs of 2007",
    seen: &[],
    about: "The same sequential and random walks run with all hardware prefetchers on, then with \
            all off. A walk along a list waits for each line, so without prefetchers a step to \
            the next line should cost nearly as much as a random step. DRAM keeps a difference: \
            neighbouring lines come from an open row and share an address translation. The switch \
            is register 1A4h on Intel since Nehalem, with one bit per prefetcher, and C000_0108h \
            on AMD since Zen 3. Writing it needs root, the option --allow-msr, and a kernel or \
            hypervisor that lets the write through; few virtual machines do.",
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
            ours("the walks with the prefetchers on are the baseline of E35.2"),
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
    if e.machine.prefetchers_off {
        let why = "the prefetchers were off for the whole run, these walks included";
        return Err(Untestable(why.to_owned()));
    }
    ratio(e.at(FORWARDS, place), e.at(RANDOM, place))
}
