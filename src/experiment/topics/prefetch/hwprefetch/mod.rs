//! Drepper 6.3.1, hardware prefetching, by timing alone: what triggers it, what it follows and
//! where it stops.

use crate::experiment::claim::verdict::untestable;
use crate::experiment::prelude::*;
use crate::experiment::shared::walk::WalkSetup;
use crate::host::Guard;
use crate::kernel::{Access, Kernel, Work};
use crate::pattern::{Layout, Order, Path};

mod boundary;
mod patterns;

pub(crate) static ALL: &[Experiment] = &[
    patterns::TRIGGER,
    patterns::STRIDES,
    patterns::STREAMS,
    boundary::PAGES,
    BACKWARD,
    NON_LINEAR,
    SWITCHED_OFF,
];

const RANDOM: &str = "random";
const LINE_ELEMENT: Layout = Layout::npad(7);

/// Returns a walk over all lines of a working set in memory.
fn lines(machine: &Machine, order: Order) -> WalkSetup {
    WalkSetup::follow(LINE_ELEMENT, machine.in_memory(), order)
}

/// Returns a walk in runs of `elements` lines. With runs of one line it is a random walk.
fn runs(machine: &Machine, elements: usize, path: Path) -> WalkSetup {
    let seed = machine.seed;
    let order = match elements {
        1 => Order::Random { seed },
        _ => Order::Runs { elements, path, seed },
    };
    lines(machine, order)
}

/// Plots the time per line in core cycles.
const fn plot(x: Axis) -> Option<Plot> {
    Some(Plot::cycles(x, Axis::log("time per line")))
}

/// Judges a claim that something is not prefetched. Without a prefetcher it would hold as well, so it is
/// untestable unless a step to the next line, relative to a random step, is `next`: certainly below a half.
fn if_prefetched(
    e: &Evidence<'_>,
    next: Testable<Interval>,
    judge: impl FnOnce() -> Judged,
) -> Judged {
    if e.machine.prefetchers_off {
        return Err(Untestable::because("the prefetchers were off for the whole run"));
    }
    let next = next?;
    let at_work = at_most("a step to the next line over a random step", next, 0.5)?;
    match at_work.verdict {
        Verdict::Holds => {
            noted(judge(), format!("a step to the next line takes {next} times a random step"))
        }
        Verdict::Inconclusive => Ok(Judgement::in_words(at_work.verdict, at_work.numbers)),
        _ => Ok(untestable(at_work, "no prefetcher is at work here")),
    }
}

fn per(whole: Interval, parts: f64) -> Interval {
    Interval::new(whole.lo / parts, whole.hi / parts)
}

/// Returns the time of one walk in memory over that of another, each given by its series and x.
fn over(e: &Evidence<'_>, of: (&str, f64), to: (&str, f64)) -> Testable<Interval> {
    e.machine.memory_size()?;
    // If a series has no points, its own reason is reported.
    e.series(of.0)?;
    e.series(to.0)?;
    ratio(e.at(of.0, of.1), e.at(to.0, to.1))
}

/// A walk with the prefetchers of its CPU switched off, if this process may switch them.
#[derive(Clone, Copy, Debug)]
struct SwitchedOffSetup(WalkSetup);

impl Setup for SwitchedOffSetup {
    fn bytes(&self) -> usize {
        self.0.bytes()
    }

    fn prepare<'m>(&self, region: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        // Called first, because it fails on most machines, and laying out the walk takes long.
        let ready = context.host.prefetchers()?;
        let (kernel, period) = self.0.prepare(region, context)?.kernel()?;
        let kernel = Box::new(WhileOff { kernel, _off: ready.switch_off()? });
        Ok(Workload::Steady { kernel, period, beside: None })
    }
}

/// A kernel, and the guard that switches the prefetchers on again when dropped.
struct WhileOff<'m> {
    kernel: Box<dyn Kernel + 'm>,
    _off: Box<dyn Guard>,
}

impl Kernel for WhileOff<'_> {
    fn run(&mut self, operations: u64) -> u64 {
        self.kernel.run(operations)
    }

    fn work(&self) -> Work {
        self.kernel.work()
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        self.kernel.trace(operations, sink)
    }
}

pub(crate) const FORWARDS: &str = "forwards";
const BACKWARDS: &str = "backwards";

pub(crate) const BACKWARD: Experiment = Experiment {
    id: "E32",
    name: "hw-prefetch-backward",
    title: "Towards lower addresses",
    question: "Does the prefetcher follow a walk towards lower addresses?",
    source: "Drepper 6.3.1: prefetchers recognise strides in either direction",
    about: "Three walks visit every line of a working set: forwards, backwards and in random \
            order. The axis is the size of the working set. Streamers and stride prefetchers \
            follow either direction; Intel's next-line prefetcher of L1d works forwards only. In \
            memory, a followed walk costs much less than a random walk, and the distance between \
            the forward and the backward curve shows what the direction costs.",
    plot: Plot::over_working_set(&[]),
    cases: |machine| {
        let seed = machine.seed;
        let sizes = if machine.full { machine.working_sets() } else { vec![machine.in_memory()] };
        let orders = [
            (FORWARDS, Order::Sequential),
            (BACKWARDS, Order::Backward),
            (RANDOM, Order::Random { seed }),
        ];
        let of_size = |bytes| {
            orders.map(|(series, order)| {
                Case::new(series, bytes as f64, WalkSetup::follow(LINE_ELEMENT, bytes, order))
            })
        };
        sizes.into_iter().flat_map(of_size).collect()
    },
    events: events::WALK,
    claims: &[
        // The misses that trigger prefetching can be to succeeding or preceding lines.
        measured(
            "E32.1",
            drepper("6.3.1"),
            "in memory, a step to the line before costs less than half of a random step",
            |e| {
                let level = |label| e.level(label, e.machine.ranges.memory);
                let share = ratio(level(BACKWARDS), level(RANDOM))?;
                let over = ratio(level(BACKWARDS), level(FORWARDS))?;
                let judged = at_most("backwards over random", share, 0.5);
                noted(judged, format!("backwards over forwards: {over}"))
            },
        ),
    ],
    ..Experiment::PLAIN
};

const TRIANGULAR: &str = "triangular";
const PAGE_LINES: usize = PAGE / LINE;

pub(crate) const NON_LINEAR: Experiment = Experiment {
    id: "E33",
    name: "hw-prefetch-non-linear",
    title: "Patterns that are not linear",
    question: "Does the prefetcher recognise a pattern of steps of 1, 2, 3 and so on lines inside \
               a page?",
    source: "Drepper 6.3.1: non-linear access patterns are not recognised",
    seen: &[seen(
        "Zen 4",
        "On a core that has little other load, triangular steps take about 0.6 times as long as \
         random steps in most passes. Beside another thread the ratio varies widely. The cause is \
         unknown.",
    )],
    about: "Memory is divided into runs of neighbouring lines, visited in random order. The axis \
            is the length of a run; 64 lines are a page. Inside a run, the walk goes forwards, by \
            triangular steps (1, 2, 3 and so on lines, modulo the run) or at random, and visits \
            every line before it leaves. A prefetcher that fetches the surroundings of a miss \
            helps in any order, so even random steps inside a page can cost less than a random \
            walk of all memory. A prefetcher that learns repeated address differences inside a \
            page may also learn the triangular steps.",
    plot: plot(Axis::log("lines of a run")),
    cases: |machine| {
        let lengths: &[usize] = if machine.full { &[8, 16, 32, PAGE_LINES] } else { &[PAGE_LINES] };
        let paths =
            [(FORWARDS, Path::Forward), (TRIANGULAR, Path::Triangular), (RANDOM, Path::Random)];
        let of_length = |&length: &usize| {
            paths
                .map(|(series, path)| Case::new(series, length as f64, runs(machine, length, path)))
        };
        lengths.iter().flat_map(of_length).collect()
    },
    events: events::WALK,
    claims: &[
        // Currently prefetch units do not recognise non-linear access patterns.
        measured(
            "E33.1",
            drepper("6.3.1"),
            "inside a page, steps of 1, 2, 3 and so on lines cost at least 0.8 times as much as \
             random steps: the prefetcher does not recognise them",
            |e| {
                if_prefetched(e, in_a_page(e, FORWARDS, RANDOM), || {
                    at_least("triangular over random", in_a_page(e, TRIANGULAR, RANDOM), 0.8)
                })
            },
        )
        .failing(
            "A prefetcher fetches neighbours of a line that misses, and growing steps meet them \
             more often than random steps.",
        ),
        measured(
            "E33.2",
            ours(
                "random steps inside a page are the baseline of E33.1: they must cost more than \
                 steps to the next line",
            ),
            "inside a page, random steps cost more than twice as much as steps to the next line",
            |e| at_least("random over forwards", in_a_page(e, RANDOM, FORWARDS), 2.0),
        ),
    ],
    ..Experiment::PLAIN
};

fn in_a_page(e: &Evidence<'_>, of: &str, to: &str) -> Testable<Interval> {
    let x = PAGE_LINES as f64;
    over(e, (of, x), (to, x))
}

/// Places on the axis: the walks with prefetchers on, and with prefetchers off.
const ON: f64 = 0.0;
const OFF: f64 = 1.0;

pub(crate) const SWITCHED_OFF: Experiment = Experiment {
    id: "E35",
    name: "hw-prefetch-disable",
    title: "The same walks with the prefetchers switched off",
    question: "How much of a sequential walk's speed comes from the prefetchers?",
    source: "Drepper 6.3.1: prefetching can be switched off by a model-specific register, \
             IA32_MISC_ENABLE bits 9 and 19 on the CPUs of 2007",
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
        let orders = [(FORWARDS, Order::Sequential), (RANDOM, Order::Random { seed })];
        let walks = orders.map(|(series, order)| (series, lines(machine, order)));
        let on = walks.map(|(series, walk)| Case::new(series, ON, walk));
        let off = walks.map(|(series, walk)| Case::new(series, OFF, SwitchedOffSetup(walk)));
        on.into_iter().chain(off).collect()
    },
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
            |e| at_least("forwards over random, off", forwards_over_random(e, OFF), 0.5),
        ),
    ],
    ..Experiment::PLAIN
};

fn forwards_over_random(e: &Evidence<'_>, place: f64) -> Testable<Interval> {
    e.machine.memory_size()?;
    if e.machine.prefetchers_off {
        return Err(Untestable::because(
            "the prefetchers were off for the whole run, these walks included",
        ));
    }
    ratio(e.at(FORWARDS, place), e.at(RANDOM, place))
}
