//! The time of a step beside other threads: Figures 3.19 to 3.21.

use crate::experiment::prelude::*;
use crate::experiment::shared::walk::Lists;
use crate::experiment::topics::threads::shared_lists::{
    ADD, ALONE, FOLLOW, INC, LISTS, cases, columns, comparable, dearer, far_in_memory, in_memory,
    most, series, slower, undisturbed, undisturbed_in,
};

pub(crate) const FIG_3_19: Experiment = Experiment {
    id: "D26",
    name: "drepper-fig-3.19",
    title: "Several threads that read lists sequentially",
    question: "Does a thread read as fast beside other threads as alone?",
    source: "Drepper 3.3.4, Figure 3.19: Follow on 128-byte elements; the time is that of the \
             fastest thread",
    about: "Several threads, each on a core, walk lists sequentially, either one common list or a \
            list per thread. The chart shows the time per step of the fastest thread; the record \
            also has the slowest. Threads on one list help each other: the first thread to reach \
            an element fetches it for all threads that share the last level. Lists per thread make \
            as much memory traffic per thread as in the paper, whose processors share no cache; \
            the claims therefore compare these lists with the paper's numbers. The paper's four \
            processors share one bus, and two readers are enough to saturate it. Cores today share \
            a last-level cache and several memory channels, and one core cannot use all of their \
            bandwidth. Where parts of memory differ in speed, the faster of two threads is some \
            percent faster than a single thread, even if the threads do not affect each other.",
    plot: Plot::over_working_set(&[columns("drepper-fig-3.19.csv")]),
    cases: |machine| cases(machine, FOLLOW),
    claims: &[
        // Lines that are only read need no RFO and can be in all caches: 0.95 to 1.11 times as long
        // in L2. In the smallest sizes, which are too inaccurate, two threads take up to 3.8 times as
        // long. The threshold is ours.
        measured(
            "D26.1",
            drepper("3.3.4, Figure 3.19"),
            "on one list in L2 that all threads only read, a step takes less than 1.15 times as \
             many core cycles as with one thread",
            |e| {
                let [_, l2] = e.machine.near();
                undisturbed_in(e, Lists::One, l2)
            },
        )
        .then_between(0.95, 1.11, "four processors on one bus"),
        measured(
            "D26.2",
            ours(
                "whether threads help each other that fetch the same list or use the same channels",
            ),
            "in memory, the fastest of several reading threads is no faster than one thread alone, \
             10 % allowed",
            |e| {
                let threads = most(e)?;
                all_of(LISTS.map(|(lists, _)| {
                    let slower = slower(e, threads, lists, in_memory(e)?)?;
                    at_least(&format!("{} over one", series(threads, lists)), slower, 0.9)
                }))
            },
        ),
        // Up to 18 % for the fastest of two threads: both buses are shared. The number is that of
        // 2^23 bytes, four times the last level, as here. Ten percent is our threshold.
        measured(
            "D26.3",
            drepper("3.3.4, Figure 3.19"),
            "in memory, two threads that read lists of their own slow each other by more than 10 %",
            |e| dearer(e, 2, in_memory(e)?, 1.1),
        )
        .then(394.6 / 338.0, "four processors on one bus")
        .takeaway(
            Shown::Times,
            Touches::Some,
            "One reader beside another over one alone, in memory",
            "A second reading thread makes a walk through memory take {now} as long",
        )
        .advice(
            "Plan memory bandwidth per package, not per core.",
            "Memory has bandwidth for a second such walk beside the first.",
        )
        .holding("Two such walks contend for memory's bandwidth.")
        .failing("One such walk needs too little of memory's bandwidth to slow a second."),
        // Up to 34 % for the fastest of four threads at the largest working set, 19 % at 2^23
        // bytes, four times the last level, as here. The threshold is ours.
        measured(
            "D26.4",
            drepper("3.3.4, Figure 3.19"),
            "in memory, at four times the last level or more, four threads that read lists of \
             their own slow each other by more than 15 %",
            |e| dearer(e, 4, in_memory(e)?, 1.15),
        )
        .then(403.7 / 338.0, "four processors on one bus"),
    ],
    ..Experiment::PLAIN
};

pub(crate) const FIG_3_20: Experiment = Experiment {
    id: "D27",
    name: "drepper-fig-3.20",
    title: "Several threads that increment lists sequentially",
    question: "How effective are caches when threads write to the same list?",
    source: "Drepper 3.3.4, Figure 3.20: Inc on 128-byte elements; the time is that of the fastest \
             thread",
    about: "Several threads, each on a core, walk lists sequentially and increment each element, \
            either on one common list or on a list per thread. The chart shows the time per step \
            of the fastest thread. On one list, a thread must fetch each line that another thread \
            has written from that core's cache, so that its own L1d helps little. This cost falls \
            when the list is so long that the threads work on distant parts of it. With lists of \
            their own, threads share no lines and should not disturb each other in L1d and L2. In \
            memory they share the channels, and lists that are written saturate the channels \
            earlier than lists that are read, because modified lines must be written back.",
    plot: Plot::over_working_set(&[columns("drepper-fig-3.20.csv")]),
    cases: |machine| cases(machine, INC),
    claims: &[
        // With more than one thread the times of L2 are there at once, with the smallest working
        // sets: lines go back and forth. A factor of 2 is our threshold.
        measured(
            "D27.1",
            drepper("3.3.4, Figure 3.20"),
            "on one list that fits in L1d, which both threads increment, a step takes more than 2 \
             times as long as with one thread",
            |e| {
                let [(_, l1), _] = e.machine.near();
                at_least("2 threads, one list over one", slower(e, 2, Lists::One, l1), 2.0)
            },
        ),
        // As soon as more than one thread runs, L1d is ineffective; the times that one thread needs
        // only beyond L1d are there with every size.
        measured(
            "D27.2",
            drepper("3.3.4, Figure 3.20"),
            "on one list that fits in L1d, a step of two incrementing threads takes at least as \
             long as a step of one thread on a list that fits in L2: L1d is ineffective",
            |e| {
                comparable(e, 2)?;
                let e = &e.in_time();
                let [(_, l1), (_, l2)] = e.machine.near();
                let two = e.at(&series(2, Lists::One), l1 as f64)?;
                at_least("2 threads in L1d over one in L2", ratio(two, e.at(ALONE, l2 as f64)), 1.0)
            },
        ),
        measured(
            "D27.3",
            ours("the control: without common lines this cost must be absent"),
            "on lists of their own, threads that increment do not disturb each other: in L1d and \
             L2, a step takes less than 1.15 times as many core cycles as with one thread",
            undisturbed,
        ),
        // About 18 % for two threads. The number is that of 2^23 bytes, four times the last level,
        // as here.
        measured(
            "D27.4",
            drepper("3.3.4, Figure 3.20"),
            "in memory, two threads that increment lists of their own slow each other by 10 % or \
             more",
            |e| dearer(e, 2, in_memory(e)?, LONGER),
        )
        .then(474.9 / 428.1, "four processors on one bus")
        .failing("Two such walks leave bandwidth unused and hardly slow each other."),
        // 93 % for four threads at the largest working set, because prefetches and write-backs
        // saturate the bus; 21 % at 2^23 bytes, four times the last level, as here. The threshold
        // is ours.
        measured(
            "D27.5",
            drepper("3.3.4, Figure 3.20"),
            "in memory, at four times the last level or more, four threads that increment lists of \
             their own slow each other by more than 15 %",
            |e| dearer(e, 4, in_memory(e)?, 1.15),
        )
        .then(517.9 / 428.1, "four processors on one bus"),
    ],
    ..Experiment::PLAIN
};

pub(crate) const FIG_3_21: Experiment = Experiment {
    id: "D28",
    name: "drepper-fig-3.21",
    title: "Several threads that walk lists at random and add",
    question: "Do threads that wait for memory slow each other?",
    source: "Drepper 3.3.4, Figure 3.21: Addnextlast on 128-byte elements in random order; the \
             time is that of the fastest thread",
    about: "Several threads, each on a core, walk lists in random order and add a word of the next \
            element to the current one, either on one common list or on a list per thread. The \
            chart shows the time per step of the fastest thread. A random walk waits for one or \
            two lines at a time, which is far less than the memory channels can deliver, so that \
            walks on lists of their own should hardly disturb each other. On one list the threads \
            catch up with each other: a thread that waits for a line lets the others draw level. \
            The threads then modify the same elements shortly after each other, and lines move \
            between their cores. In memory, one thread's fetch of a line can save another thread \
            the same fetch.",
    plot: Plot::over_working_set(&[columns("drepper-fig-3.21.csv")]),
    cases: |machine| cases(machine, ADD),
    claims: &[
        // 827 cycles for two threads and 636 for one at the largest working set; 583 and 459 at
        // 2^24 bytes, eight times the last level, as here, and 431 and 425 at four times. Ten
        // percent is our threshold.
        measured(
            "D28.1",
            drepper("3.3.4, Figure 3.21"),
            "in memory, at eight times the last level or more, two threads that walk lists of \
             their own at random slow each other by more than 10 %",
            |e| dearer(e, 2, far_in_memory(e)?, 1.1),
        )
        .then(583.1 / 458.7, "four processors on one bus")
        .takeaway(
            Shown::Times,
            Touches::Some,
            "One random walk beside another over one alone, in memory",
            "A second random walk makes the first take {now} as long",
        )
        .advice(
            "Random walks of several threads slow each other: leave some memory bandwidth unused.",
            "Random walks of two threads hardly slow each other: run them in parallel.",
        )
        .failing(
            "A random walk has one miss in flight at a time. Two such walks are far from the \
             bandwidth of memory.",
        ),
        // Around 1,500 cycles in the extreme case: 1,543 for four threads and 636 for one; 719 and
        // 425 at 2^23 bytes, four times the last level, as here. The threshold is ours.
        measured(
            "D28.2",
            drepper("3.3.4, Figure 3.21"),
            "in memory, at four times the last level or more, a step of four threads that walk \
             lists of their own at random takes more than 1.5 times as long as with one thread",
            |e| dearer(e, 4, in_memory(e)?, 1.5),
        )
        .then(719.4 / 425.1, "four processors on one bus"),
        measured(
            "D28.3",
            ours("what a cached list costs if all threads modify its elements"),
            "on one list that fits in L2, a step of two threads that add at random takes more than \
             2 times as long as with one thread",
            |e| {
                let [_, (_, l2)] = e.machine.near();
                at_least("2 threads, one list over one", slower(e, 2, Lists::One, l2), 2.0)
            },
        ),
        measured(
            "D28.4",
            ours("the control: without common lines this cost must be absent"),
            "on lists of their own, threads that add at random do not disturb each other: in L1d \
             and L2, a step takes less than 1.15 times as many core cycles as with one thread",
            undisturbed,
        ),
    ],
    ..Experiment::PLAIN
};
