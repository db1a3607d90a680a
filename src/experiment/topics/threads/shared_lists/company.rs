//! What a step takes in company: Figures 3.19 to 3.21.

use crate::experiment::prelude::*;
use crate::experiment::shared::company::Lists;
use crate::experiment::topics::coherence::sharing::at_least_cores;
use crate::experiment::topics::threads::shared_lists::{
    ADD, ALONE, FOLLOW, INC, LISTS, cases, columns, dearer_in_memory, in_memory, most, near,
    series, slower, undisturbed,
};

pub(crate) const FIG_3_19: Experiment = Experiment {
    id: "D26",
    name: "drepper-fig-3.19",
    title: "Threads that read lists in order",
    question: "Does a thread read as fast in company as alone?",
    source: "Drepper 3.3.4, Figure 3.19: Follow on 128-byte elements; of several threads the \
             fastest counts",
    seen: &[],
    about: "The paper's four processors share one bus, and two readers are enough to fill it. \
            Cores of today share a last-level cache and several channels of memory, of which one \
            core cannot use all. Threads on one list are in each other's company: whoever comes \
            first to an element fetches it for all who share the last level. Lists of their own \
            make traffic of their own, as the paper's processors did with their own caches; so \
            the paper's numbers are held against these. The record has the slowest thread beside \
            the fastest. Where walks through memory differ from stretch to stretch, the fastest \
            of two is some percent quicker than the only one, in company or not.",
    plot: Plot::over_working_set(&[columns("drepper-fig-3.19.csv")]),
    cases: |machine| cases(machine, FOLLOW),
    curves: plain_curves,
    events: &[],
    claims: &[
        // Lines that are only read need no RFO and can be in all caches. The measure is ours.
        measured(
            "D26.1",
            drepper("3.3.4, Figure 3.19"),
            "on a list that is only read threads take less than 1.15 times as long as one \
             thread, in L1d and in L2",
            |e| undisturbed(e, Lists::One, 1.15),
        ),
        measured(
            "D26.2",
            ours(
                "whether threads that fetch the same list, or use the same channels, help each \
                 other",
            ),
            "in memory the fastest of several reading threads is no quicker than one thread \
             alone, 10 % allowed",
            |e| {
                let threads = most(e)?;
                let mut parts = Vec::new();
                for (lists, _) in LISTS {
                    let slower = slower(e, threads, lists, in_memory(e)?)?;
                    let what = format!("{} over one", series(threads, lists));
                    parts.push(at_least(&what, slower, 0.9));
                }
                all_of(parts)
            },
        ),
        // Up to 18 % for the fastest of two threads: both buses are shared. The paper's
        // processors share no cache, so that each fetches the list over the bus by itself: where
        // a last level is shared, lists of their own ask as much of it. Ten percent is our
        // measure.
        measured(
            "D26.3",
            drepper("3.3.4, Figure 3.19"),
            "in memory two threads that read lists of their own slow each other by more than 10 \
             %",
            |e| dearer_in_memory(e, 2, 1.1),
        )
        .then(1.18, "four processors on one bus")
        .takeaway(
            Takeaway::new(
                Shown::Times,
                Touches::Some,
                "A reader beside another over one alone, in memory",
                "A second thread that reads makes a walk through memory take {now} as long",
            )
            .advice(
                "Count memory bandwidth per package, not per core.",
                "Memory has room for a second reader: one core does not use all of it.",
            ),
        )
        .holding("The way to memory is too narrow for two readers.")
        .failing(
            "One core cannot use the whole way to memory, so that a second one takes nothing \
             away from it.",
        ),
        // Up to 34 % for the fastest of four threads. The paper's processors share no cache, so
        // that each fetches the list over the bus by itself: where a last level is shared, lists
        // of their own ask as much of it. The measure is ours.
        measured(
            "D26.4",
            drepper("3.3.4, Figure 3.19"),
            "in memory four threads that read lists of their own slow each other by more than 25 \
             %",
            |e| dearer_in_memory(e, 4, 1.25),
        )
        .then(1.34, "four processors on one bus"),
    ],
};

pub(crate) const FIG_3_20: Experiment = Experiment {
    id: "D27",
    name: "drepper-fig-3.20",
    title: "Threads that increment lists in order",
    question: "What is left of the caches when threads write to the same list?",
    source: "Drepper 3.3.4, Figure 3.20: Inc on 128-byte elements; of several threads the fastest \
             counts",
    seen: &[],
    about: "What one thread has written the other must fetch out of its cache, so that on one \
            list L1d is of little use. It is less where the list outgrows what both walk within \
            a short time of each other: then each is alone with the part where it is. With lists \
            of their own threads do not meet, up to memory, where lines that must be written \
            back use the channels up sooner than lines that are only read.",
    plot: Plot::over_working_set(&[columns("drepper-fig-3.20.csv")]),
    cases: |machine| cases(machine, INC),
    curves: plain_curves,
    events: &[],
    claims: &[
        // With more than one thread the times of L2 are there at once, with the smallest working
        // sets: lines go back and forth. Twice is our measure.
        measured(
            "D27.1",
            drepper("3.3.4, Figure 3.20"),
            "on one list of the size of L1d, which both increment, a step of two threads takes \
             more than 2 times as long as alone",
            |e| {
                let [(_, l1), _] = near(e.machine);
                at_least(
                    "2 threads, one list over one",
                    slower(e, 2, Lists::One, l1),
                    2.0,
                )
            },
        ),
        // As soon as more than one thread runs, L1d is basically ineffective; the times that one
        // thread needs only beyond L1d are there with every size.
        measured(
            "D27.2",
            drepper("3.3.4, Figure 3.20"),
            "on one list of the size of L1d a step of two threads that increment takes as long \
             as one alone in L2, or longer: L1d is ineffective",
            |e| {
                at_least_cores(&e.machine.cpu_order, 2)?;
                let [(_, l1), (_, l2)] = near(e.machine);
                let two = e.at(&series(2, Lists::One), l1 as f64)?;
                at_least(
                    "2 threads in L1d over one in L2",
                    ratio(two, e.at(ALONE, l2 as f64)),
                    1.0,
                )
            },
        ),
        measured(
            "D27.3",
            ours("the control: without common lines there must be no such cost"),
            "on lists of their own threads that increment do not disturb each other: in L1d and \
             L2 they take less than 1.15 times as long as one",
            |e| undisturbed(e, Lists::Own, 1.15),
        ),
        // About 18 % for two threads. The paper's processors share no cache, so that each
        // fetches the list over the bus by itself: where a last level is shared, lists of their
        // own ask as much of it.
        measured(
            "D27.4",
            drepper("3.3.4, Figure 3.20"),
            "in memory two threads that increment lists of their own slow each other",
            |e| dearer_in_memory(e, 2, 1.0),
        )
        .then(1.18, "four processors on one bus"),
        // 93 % for four threads: prefetches and write-backs saturate the bus. The paper's
        // processors share no cache, so that each fetches the list over the bus by itself: where
        // a last level is shared, lists of their own ask as much of it. Half as long again is
        // our measure.
        measured(
            "D27.5",
            drepper("3.3.4, Figure 3.20"),
            "in memory four threads that increment lists of their own slow each other by more \
             than half",
            |e| dearer_in_memory(e, 4, 1.5),
        )
        .then(1.93, "four processors on one bus"),
    ],
};

pub(crate) const FIG_3_21: Experiment = Experiment {
    id: "D28",
    name: "drepper-fig-3.21",
    title: "Threads that walk at random and add",
    question: "Do threads that wait for memory hinder each other?",
    source: "Drepper 3.3.4, Figure 3.21: Addnextlast on 128-byte elements in random order; of \
             several threads the fastest counts",
    seen: &[],
    about: "A random walk waits for one or two lines at a time, which is far from what the \
            channels of memory can deliver, and today's cores have buffers and queues of their \
            own on the way. On one list the threads go in step: who waits for a line lets the \
            others catch up, and all change the same elements shortly after each other. In \
            memory the line that one fetches another need not fetch.",
    plot: Plot::over_working_set(&[columns("drepper-fig-3.21.csv")]),
    cases: |machine| cases(machine, ADD),
    curves: plain_curves,
    events: &[],
    claims: &[
        // 827 cycles for two threads and 636 for one at the largest working set. The paper's
        // processors share no cache, so that each fetches the list over the bus by itself: where
        // a last level is shared, lists of their own ask as much of it. Ten percent is our
        // measure.
        measured(
            "D28.1",
            drepper("3.3.4, Figure 3.21"),
            "in memory two threads that walk lists of their own at random slow each other by \
             more than 10 %",
            |e| dearer_in_memory(e, 2, 1.1),
        )
        .then(827.0 / 636.0, "four processors on one bus")
        .takeaway(
            Takeaway::new(
                Shown::Times,
                Touches::Some,
                "A random walk beside another over one alone, in memory",
                "A second random walk makes the first take {now} as long",
            )
            .advice(
                "Random walks of several threads disturb each other: leave room in the \
                 memory's bandwidth.",
                "Random walks of two threads hardly disturb each other: run them side by side.",
            ),
        ),
        // Around 1,500 cycles in the extreme case: 1,543 for four threads and 636 for one. The
        // paper's processors share no cache, so that each fetches the list over the bus by
        // itself: where a last level is shared, lists of their own ask as much of it.
        measured(
            "D28.2",
            drepper("3.3.4, Figure 3.21"),
            "in memory four threads that walk lists of their own at random take more than twice \
             as long as one",
            |e| dearer_in_memory(e, 4, 2.0),
        )
        .then(1543.0 / 636.0, "four processors on one bus"),
        measured(
            "D28.3",
            ours("what one list costs whose elements all threads change, where it lies in caches"),
            "on one list of the size of L2 a step of two threads that add at random takes more \
             than 2 times as long as alone",
            |e| {
                let [_, (_, l2)] = near(e.machine);
                at_least(
                    "2 threads, one list over one",
                    slower(e, 2, Lists::One, l2),
                    2.0,
                )
            },
        ),
        measured(
            "D28.4",
            ours("the control: without common lines there must be no such cost"),
            "on lists of their own threads that add at random do not disturb each other: in L1d \
             and L2 they take less than 1.15 times as long as one",
            |e| undisturbed(e, Lists::Own, 1.15),
        ),
    ],
};
