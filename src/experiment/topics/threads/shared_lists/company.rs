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
    about: "The paper's four processors shared one bus, and two readers were enough to fill it. \
            Cores of today share a last-level cache and several channels of memory, of which one \
            core cannot use all, so that a second one takes nothing away from the first. Threads \
            on one list are in each other's company: whoever comes first to an element fetches it \
            for all who share the last level. Lists of their own make traffic of their own, as the \
            paper's processors did with their own caches. The record has the slowest thread beside \
            the fastest. Where walks through memory differ from stretch to stretch, the fastest of \
            two is some percent quicker than the only one, in company or not.",
    plot: Plot::over_working_set(&[columns("drepper-fig-3.19.csv")]),
    cases: |machine| cases(machine, FOLLOW),
    curves: plain_curves,
    events: &[],
    claims: &[
        measured(
            "D26.1",
            UNSURE,
            "a list that is only read is shared for nothing: in L1d and L2 threads take less than \
             1.15 times as long as one",
            |e| undisturbed(e, Lists::One, 1.15),
        ),
        measured(
            "D26.2",
            UNSURE,
            "in memory no company makes the fastest thread quicker than it is alone, 10 % allowed",
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
        measured(
            "D26.3",
            UNSURE,
            "in memory two threads that read slow each other by more than 10 % (the paper: 18 %)",
            |e| dearer_in_memory(e, 2, 1.1),
        ),
        measured(
            "D26.4",
            UNSURE,
            "four slow each other by more than 25 % (the paper: 34 %)",
            |e| dearer_in_memory(e, 4, 1.25),
        ),
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
    about: "What one thread has written the other must fetch out of its cache, so that with one \
            list L1d is of no use, as the paper found; and as L1d has become quicker and another \
            core's cache has not, the factor has grown to fifty and more. It is less where the list \
            outgrows what both walk within a short time of each other: then each is alone with the \
            part where it is. With lists of their own threads do not meet, up to memory, where \
            lines that must be written back use the channels up sooner than lines that are only \
            read.",
    plot: Plot::over_working_set(&[columns("drepper-fig-3.20.csv")]),
    cases: |machine| cases(machine, INC),
    curves: plain_curves,
    events: &[],
    claims: &[
        measured(
            "D27.1",
            UNSURE,
            "on one list that L1d holds a step of two threads takes more than 2 times as long as \
             alone",
            |e| {
                let [(_, l1), _] = near(e.machine);
                at_least(
                    "2 threads, one list over one",
                    slower(e, 2, Lists::One, l1),
                    2.0,
                )
            },
        ),
        measured(
            "D27.2",
            UNSURE,
            "on one list L1d is ineffective: a step of two threads there takes as long as one \
             alone in L2, or longer",
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
            UNSURE,
            "on lists of their own threads do not disturb each other: in L1d and L2 they take less \
             than 1.15 times as long as one",
            |e| undisturbed(e, Lists::Own, 1.15),
        ),
        measured(
            "D27.4",
            UNSURE,
            "in memory two threads that write slow each other (the paper: 18 %)",
            |e| dearer_in_memory(e, 2, 1.0),
        ),
        measured(
            "D27.5",
            UNSURE,
            "four slow each other by more than half (the paper: 93 %)",
            |e| dearer_in_memory(e, 4, 1.5),
        ),
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
    about: "A random walk waits for one or two lines at a time, which is far from what the channels \
            of memory can deliver, and today's cores have buffers and queues of their own on the \
            way. So the paper's worst case has become the one that suffers least, until many cores \
            walk. On one list the threads go in step: who waits for a line lets the others catch \
            up, and all change the same elements shortly after each other. In the caches that is \
            ruinous; in memory the line that one fetches another need not fetch.",
    plot: Plot::over_working_set(&[columns("drepper-fig-3.21.csv")]),
    cases: |machine| cases(machine, ADD),
    curves: plain_curves,
    events: &[],
    claims: &[
        measured(
            "D28.1",
            UNSURE,
            "in memory two threads slow each other by more than 10 % (the paper: 30 %)",
            |e| dearer_in_memory(e, 2, 1.1),
        ),
        measured(
            "D28.2",
            UNSURE,
            "four take more than twice as long as one (the paper: 1543 cycles for 636)",
            |e| dearer_in_memory(e, 4, 2.0),
        ),
        measured(
            "D28.3",
            UNSURE,
            "on one list that L2 holds a step of two threads takes more than 2 times as long as \
             alone",
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
            UNSURE,
            "on lists of their own threads do not disturb each other: in L1d and L2 they take less \
             than 1.15 times as long as one",
            |e| undisturbed(e, Lists::Own, 1.15),
        ),
    ],
};
