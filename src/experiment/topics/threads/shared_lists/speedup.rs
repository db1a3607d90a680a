//! What several threads are worth: Table 3.3 and Figure 3.22.

use crate::experiment::prelude::*;
use crate::experiment::shared::company::Lists;
use crate::experiment::topics::coherence::sharing::{at_least_cores, on_cores};
use crate::experiment::topics::threads::shared_lists::{
    ADD, ALONE, FOLLOW, FOUR, INC, LISTS, TESTS, Test, cases, columns, companies, in_llc,
    in_memory, most, most_in_llc, near, series, setup, slower, slower_of,
};
use crate::stats::Interval;

/// The three tests side by side, in memory.
pub(crate) const TABLE_3_3: Experiment = Experiment {
    id: "D29",
    name: "drepper-table-3.3",
    title: "How much more several threads get done in memory",
    question: "What are two and four threads worth where the caches do not help?",
    source: "Drepper 3.3.4, Table 3.3: the number of threads times the time of one over the time of \
             the fastest of them, at the largest working set of Figures 3.19 to 3.21",
    seen: &[],
    about: "The table is that of one bus: four threads got 1.65 to 2.98 times as much done as \
            one. A machine with several channels of memory gives each of a few threads what one \
            can use, and the random walk is the least in need of bandwidth. Judged on lists of \
            their own, since threads on one list fetch for each other where they share a last \
            level, which the paper's processors do not.",
    plot: Some(
        Plot::bars(
            Axis::linear("threads"),
            Axis::linear("times as much as one thread"),
            Unit::Count,
        )
        .beside(&[Reference {
            file: "drepper-table-3.3.csv",
            machine: FOUR,
            x: "threads",
            columns: &[
                ("seq_read_fig3.19", "sequential Follow"),
                ("seq_inc_fig3.20", "sequential Inc"),
                ("rand_addnextlast_fig3.21", "random Addnextlast"),
            ],
        }]),
    ),
    cases: |machine| {
        let bytes = machine.in_memory();
        let mut cases = Vec::new();
        for test in TESTS {
            for (threads, lists) in companies(machine) {
                let setup = setup(machine, test, bytes, threads, lists);
                let name = format!("{}{}", test.prefix(), series(threads, lists));
                cases.extend(setup.map(|setup| Case::new(name, bytes as f64, setup)));
            }
        }
        cases
    },
    curves: |e| {
        let mut curves = Vec::new();
        for test in TESTS {
            for (lists, whose) in LISTS {
                let point =
                    |threads: usize| Some((threads as f64, gain(e, test, threads, lists).ok()?));
                let several = on_cores(e.machine)
                    .into_iter()
                    .filter(|&threads| threads > 1);
                curves.push(Curve {
                    label: format!("{}{whose}", test.prefix()),
                    points: several.filter_map(point).collect(),
                });
            }
        }
        curves
    },
    events: &[],
    claims: &[
        // 1.69 for sequential reads by two threads, of at most 2. The paper's processors share
        // no cache, so that each fetches the list over the bus by itself: where a last level is
        // shared, lists of their own ask as much of it. 1.5 is our measure.
        measured(
            "D29.1",
            drepper("3.3.4, Table 3.3"),
            "two threads that read lists of their own in order get 1.5 times as much done in \
             memory as one, or more",
            |e| worth_it(e, FOLLOW),
        )
        .then(1.69, "four processors on one bus"),
        // 1.69 for sequential increments by two threads. The paper's processors share no cache,
        // so that each fetches the list over the bus by itself: where a last level is shared,
        // lists of their own ask as much of it.
        measured(
            "D29.2",
            drepper("3.3.4, Table 3.3"),
            "two threads that increment lists of their own in order get 1.5 times as much done \
             in memory as one, or more",
            |e| worth_it(e, INC),
        )
        .then(1.69, "four processors on one bus"),
        // 1.54 for random additions by two threads. The paper's processors share no cache, so
        // that each fetches the list over the bus by itself: where a last level is shared, lists
        // of their own ask as much of it.
        measured(
            "D29.3",
            drepper("3.3.4, Table 3.3"),
            "two threads that walk lists of their own at random get 1.5 times as much done in \
             memory as one, or more",
            |e| worth_it(e, ADD),
        )
        .then(1.54, "four processors on one bus")
        .takeaway(
            Takeaway::new(
                Shown::Times,
                Touches::Many,
                "Two threads over one, random walks of their own",
                "Two threads that walk lists at random get {now} as much done as one",
            )
            .advice(
                "Add threads to hide misses: their waits overlap.",
                "A second thread does not pay here: have several misses in flight in one \
                 thread first.",
            ),
        ),
        // 1.65 and 1.54: the additional benefit of four threads is minuscule. 1.2 is our
        // measure.
        measured(
            "D29.4",
            drepper("3.3.4, Table 3.3"),
            "four threads that walk lists of their own at random get less than 1.2 times as much \
             done in memory as two",
            |e| {
                let four = gain(e, ADD, 4, Lists::Own)?;
                let two = gain(e, ADD, 2, Lists::Own)?;
                at_most("four threads over two", ratio(four, two), 1.2)
            },
        )
        .then(1.65 / 1.54, "four processors on one bus"),
    ],
};

impl Test {
    /// What its series' names begin with in the table.
    fn prefix(self) -> String {
        format!("{}, ", self.name)
    }
}

/// How much more threads get done in memory than one.
fn gain(
    e: &Evidence<'_>,
    test: Test,
    threads: usize,
    lists: Lists,
) -> Result<Interval, Untestable> {
    let slower = slower_of(e, &test.prefix(), threads, lists, in_memory(e)?)?;
    ratio(Interval::exact(threads as f64), slower)
}

fn worth_it(e: &Evidence<'_>, test: Test) -> Judged {
    at_least("two threads over one", gain(e, test, 2, Lists::Own), 1.5)
}

pub(crate) const FIG_3_22: Experiment = Experiment {
    id: "D30",
    name: "drepper-fig-3.22",
    title: "What several threads are worth, by working set",
    question: "Up to which working set do more threads get more done?",
    source: "Drepper 3.3.4, Figure 3.22: the number of threads times the time of one over the time \
             of the fastest of them, from the data of Figure 3.21",
    seen: &[],
    about: "On lists of their own threads have the caches that are theirs to themselves, and a \
            last level that they share as long as there is room for all lists. In memory the \
            paper's four threads were worth no more than two; that takes four cores to look at, \
            and more of them to see where several channels end. On one list, which all of them \
            change, each takes the lines away from the others. The paper's curves cannot be of \
            such a list: they rise to 2 and 4 at once.",
    plot: Some(
        Plot::lines(
            Axis::WORKING_SET,
            Axis::linear("times as much as one thread"),
            Unit::Count,
        )
        .beside(&[columns("drepper-fig-3.22.csv")]),
    ),
    cases: |machine| cases(machine, ADD),
    curves: |e| {
        let mut curves = Vec::new();
        for (threads, lists) in companies(e.machine) {
            let name = series(threads, lists);
            let points = paired_points(e, &name, ALONE).unwrap_or_default();
            let faster = |(x, slower): (f64, Interval)| {
                Some((x, Interval::exact(threads as f64).ratio(slower)?))
            };
            curves.push(Curve {
                label: name,
                points: points.into_iter().filter_map(faster).collect(),
            });
        }
        curves.retain(|curve| curve.label != ALONE && !curve.points.is_empty());
        curves
    },
    events: &[],
    claims: &[
        measured(
            "D30.1",
            ours("the figure's smallest sizes are too inaccurate to be read, as the document says"),
            "in L1d and L2 threads on lists of their own get more than 0.85 times their number \
             done",
            |e| {
                let threads = most(e)?;
                let mut parts = Vec::new();
                for (name, bytes) in near(e.machine) {
                    parts.push(worth_their_number(e, threads, name, bytes));
                }
                all_of(parts)
            },
        ),
        // In the range of L2 and L3 the speed-up is almost linear: nearly 2 and 4. 0.85 is our
        // measure.
        measured(
            "D30.2",
            drepper("3.3.4, Figure 3.22"),
            "in the last level, where it has room for all their lists, threads on lists of their \
             own get more than 0.85 times their number done",
            |e| {
                at_least_cores(&e.machine.cpu_order, 2)?;
                let threads = two_in_llc(e.machine)?;
                worth_their_number(e, threads, "the last level", in_llc(e.machine))
            },
        ),
        // As soon as L3 is not sufficient the numbers crash.
        measured(
            "D30.3",
            drepper("3.3.4, Figure 3.22"),
            "in memory two threads on lists of their own are worth less than in the last level",
            |e| {
                let far = speed_up(e, 2, Lists::Own, in_memory(e)?)?;
                two_in_llc(e.machine)?;
                let near = speed_up(e, 2, Lists::Own, in_llc(e.machine))?;
                at_most("memory over the last level", ratio(far, near), 1.0)
            },
        ),
        // The speed-up of two and of four threads is identical there. 1.2 is our measure.
        measured(
            "D30.4",
            drepper("3.3.4, Figure 3.22"),
            "in memory four threads on lists of their own are worth less than 1.2 times what two \
             are",
            |e| {
                let memory = in_memory(e)?;
                let four = speed_up(e, 4, Lists::Own, memory)?;
                let two = speed_up(e, 2, Lists::Own, memory)?;
                at_most("four threads over two", ratio(four, two), 1.2)
            },
        )
        .then(1.65 / 1.54, "four processors on one bus"),
        measured(
            "D30.5",
            ours(
                "whether the figure can be of one list that all change: it rises to 2 and 4 at \
                 once",
            ),
            "on one list of the size of L2 two threads that change it get less done than one",
            |e| {
                let [_, (_, l2)] = near(e.machine);
                at_most("two threads over one", speed_up(e, 2, Lists::One, l2), 1.0)
            },
        ),
    ],
};

fn worth_their_number(e: &Evidence<'_>, threads: usize, name: &str, bytes: usize) -> Judged {
    let faster = speed_up(e, threads, Lists::Own, bytes)?;
    let each = faster.scaled(1.0 / threads as f64);
    at_least(
        &format!("share of {threads} times as much, {name}"),
        each,
        0.85,
    )
}

/// How much more threads get done than one, if each does what the fastest does.
fn speed_up(
    e: &Evidence<'_>,
    threads: usize,
    lists: Lists,
    bytes: usize,
) -> Result<Interval, Untestable> {
    let slower = slower(e, threads, lists, bytes)?;
    ratio(Interval::exact(threads as f64), slower)
}

/// How many threads have lists that are larger than L2 and fit the last level together.
///
/// # Errors
/// If not even two do.
fn two_in_llc(machine: &Machine) -> Result<usize, Untestable> {
    let threads = most_in_llc(machine);
    if threads >= 2 {
        return Ok(threads);
    }
    Err(Untestable(format!(
        "no two lists larger than L2 fit the {}",
        machine.ranges.llc
    )))
}
