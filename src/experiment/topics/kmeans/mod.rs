//! Sestoft's k-means, timed: sections 1 to 3.

pub mod cluster_lines;
pub mod run;

use crate::experiment::prelude::*;
use crate::experiment::topics::kmeans::run::{KMeansSetup, KMeansWay};
use crate::order;
use crate::pattern::kmeans::POINTS;
use problem::PROBLEM;
use streams::STREAMS;

mod problem;
mod streams;

families![cluster_lines, kmeans in self::ALL];

pub(crate) static ALL: &[Experiment] = &[PROBLEM, LISTS, IN_TURN, AT_ONCE, PADDED, STREAMS];

/// The variants, with the names of their series.
pub const WAYS: [(&str, KMeansWay); 7] = [
    ("1P", KMeansWay::Lists),
    ("2P", KMeansWay::InTurn),
    ("2Q", KMeansWay::AtOnce),
    ("2Q padded", KMeansWay::Padded),
    ("3P", KMeansWay::Streams),
    ("own sums", KMeansWay::OwnSums),
    ("own sums, vectors", KMeansWay::Vectors),
];

const ONE_P: &str = WAYS[0].0;
const TWO_P: &str = WAYS[1].0;
const TWO_Q: &str = WAYS[2].0;
const TWO_Q_PADDED: &str = WAYS[3].0;
const THREE_P: &str = WAYS[4].0;
const OWN: &str = WAYS[5].0;
const VECTORS: &str = WAYS[6].0;

fn way(series: &str) -> KMeansWay {
    let found = WAYS.iter().find(|(name, _)| *name == series);
    found.map_or(KMeansWay::InTurn, |(_, way)| *way)
}

/// The largest number of tasks, in the documents' runs and here.
const MOST_TASKS: usize = 64;

/// Points per thread in a quick run: few enough for many samples between two interruptions, and
/// enough that the threads' waits for each other take a hundredth of an iteration.
const QUICK_POINTS: usize = 4000;

/// Returns one task per core, at most `MOST_TASKS`.
fn on_cores(machine: &Machine) -> usize {
    machine.cpu_order.cores().clamp(1, MOST_TASKS)
}

/// Returns up to four tasks, because the note's i7 has four cores.
fn of_four_cores(machine: &Machine) -> usize {
    on_cores(machine).min(4)
}

/// Returns the numbers of tasks: one, up to four, one per core. A full run adds the note's numbers
/// and powers of two, some of them larger than the number of CPUs.
fn tasks(machine: &Machine) -> Vec<usize> {
    let cores = on_cores(machine);
    let mut tasks = vec![1, of_four_cores(machine), cores];
    if machine.full {
        tasks.extend([2, 4, 8, 16, 32, 48, MOST_TASKS]);
    }
    order::distinct(tasks)
}

/// Returns the CPUs of the threads, one CPU per thread and at most one thread per task.
fn cpus(machine: &Machine, tasks: usize) -> Vec<usize> {
    let locations = machine.cpu_order.locations().iter();
    locations.map(|location| location.cpu).take(tasks).collect()
}

/// Returns how many of the note's points are clustered.
fn points(machine: &Machine, tasks: usize) -> usize {
    if machine.full {
        return POINTS;
    }
    let threads = cpus(machine, tasks).len().max(1);
    (threads * QUICK_POINTS).min(POINTS)
}

fn setup(machine: &Machine, series: &str, tasks: usize) -> KMeansSetup {
    KMeansSetup {
        way: way(series),
        points: points(machine, tasks),
        tasks,
        cpus: cpus(machine, tasks),
        turn: 0,
    }
}

/// How many turns variants of similar speed are timed in: load of other guests on the host comes
/// and goes within tenths of a second.
const TURNS: u32 = 3;

/// Returns the name of a variant's series in a turn.
fn in_turn(series: &str, turn: u32) -> String {
    match turn {
        0 => series.to_owned(),
        turn => format!("{series}, turn {}", turn + 1),
    }
}

/// Returns the cases of the given series, ordered by the number of tasks. The numbers of tasks that
/// claims compare (1, up to four, one per core) are measured in `turns` turns, the others once.
fn cases(machine: &Machine, series: &[&'static str], turns: u32) -> Vec<Case> {
    let mut cases = Vec::new();
    for tasks in tasks(machine) {
        let compared = [1, of_four_cores(machine), on_cores(machine)].contains(&tasks);
        for turn in 0..if compared { turns } else { 1 } {
            cases.extend(series.iter().map(|name| {
                let setup = KMeansSetup { turn, ..setup(machine, name, tasks) };
                Case::new(in_turn(name, turn), tasks as f64, setup)
            }));
        }
    }
    cases
}

/// Returns the curves in ns per point. An operation is an iteration over all points.
fn curves(e: &Evidence<'_>) -> Vec<Curve> {
    let mut curves = e.curves_of(|label| WAYS.iter().any(|(name, _)| *name == label));
    for (tasks, time) in curves.iter_mut().flat_map(|curve| &mut curve.points) {
        *time = time.scaled(1.0 / points(e.machine, *tasks as usize) as f64);
    }
    curves
}

const fn plot(reference: &'static [Reference]) -> Option<Plot> {
    Some(
        Plot::nanoseconds(Axis::log("tasks"), Axis::log("time per point and iteration"))
            .beside(reference),
    )
}

const I7: &str = "i7-4870HQ, 4 cores, Java 8 (2017)";
const XEON: &str = "2 x Xeon E5-2680 v3, 24 cores, Java 8 (2017)";
const BOTH: &str = "i7-4870HQ with 4 cores, 2 x Xeon E5-2680 v3 with 24, 2 tasks per core";

const fn reference(
    machine: &'static str,
    columns: &'static [(&'static str, &'static str)],
) -> Reference {
    Reference { file: "sestoft_kmeans_per_point.csv", machine, x: "tasks", columns }
}

/// Returns the time of `of` divided by the time of `to`, with `tasks` tasks. Each turn of each pass
/// gives a ratio, because both series of a turn meet the same other load. The result is the median
/// of all ratios, bound by bound.
fn over(e: &Evidence<'_>, of: &str, to: &str, tasks: usize) -> Testable<Interval> {
    let place = tasks as f64;
    // If a point is missing, its own reason is reported.
    e.at(of, place)?;
    e.at(to, place)?;
    let mut ratios = Vec::new();
    for turn in 0..TURNS {
        let passes = |series: &str| e.passes_at(&in_turn(series, turn), place);
        let pairs = side_by_side([&passes(of), &passes(to)]).into_iter();
        for [of, to] in pairs {
            // For the reason if there is no ratio.
            ratio(of, to)?;
            ratios.extend(of.ratio(to));
        }
    }
    let median = Interval::median_of(&ratios);
    let none =
        || Untestable(format!("no ratio of `{of}` to `{to}` was measured in {}", of_tasks(tasks)));
    // Half a percent keeps a ratio that lies on its threshold from deciding.
    Ok(median.ok_or_else(none)?.widened(0.005))
}

fn of_tasks(tasks: usize) -> String {
    match tasks {
        1 => "one task".to_owned(),
        several => format!("{several} tasks"),
    }
}

/// Returns the largest number of tasks with a core each. Fails if it is below `least`.
fn several(e: &Evidence<'_>, least: usize) -> Testable<usize> {
    let tasks = on_cores(e.machine);
    if tasks < least {
        return Err(Untestable(format!(
            "the claim needs {least} cores, and this process has {tasks}"
        )));
    }
    Ok(tasks)
}

const LISTS: Experiment = Experiment {
    id: "B2",
    name: "sestoft-kmeans-1p",
    title: "k-means with locked lists",
    question: "How much faster does the exam's first variant become with more tasks?",
    source: "The exam of January 2017 behind Sestoft's note, variant 1P, which the note does not \
             time: a cluster is an immutable mean and a locked list of its points, and every \
             iteration makes new clusters",
    about: "KMeans1P appends each point to the locked list of its cluster as soon as the point is \
            assigned. The axis is the number of tasks, the height the time per point and \
            iteration. The lock lies on the line of the mean that all tasks read, as the lock of \
            every Java object lies in its header. 1P is thus 2Q (B4) with lists instead of sums. \
            The means of 1P are plain numbers here; the other variants read means as atomic \
            numbers, through a general register.",
    plot: plot(&[]),
    cases: |machine| cases(machine, &[ONE_P, TWO_P], 1),
    curves,
    claims: &[measured(
        "B2.1",
        ours("the exam's first variant, which the note does not time"),
        "from one task to a task on each core, KMeans1P gains less speed than KMeans2P",
        |e| {
            let tasks = several(e, 2)?;
            // Equals the quotient of the two gains, but from times that were taken side by side.
            let at = |tasks| over(e, ONE_P, TWO_P, tasks);
            let less = ratio(at(1), at(tasks))?;
            at_most(&format!("1P's gain over 2P's, {}", of_tasks(tasks)), less, 1.0)
        },
    )
    .holding(
        "1P takes its locks on the lines of the means that other tasks read. A thread also sleeps \
         if it meets a lock whose list is growing.",
    )],
    ..Experiment::PLAIN
};

const IN_TURN: Experiment = Experiment {
    id: "B3",
    name: "sestoft-kmeans-2p",
    title: "k-means that assigns all points before it adds them",
    question: "How much faster is k-means on several cores if tasks share the sums, but nobody \
               writes means while they are read?",
    source: "Sestoft, section 1, KMeans2P: 4.240 s with 1 task and 1.310 s with 8 on the i7 with \
             4 cores, 0.853 s with 48 on the Xeon",
    seen: &[seen(
        "Zen 4",
        "With two tasks, a point takes more than half as long as with one. With separate sums per \
         task (B6) it takes half as long.",
    )],
    about: "KMeans2P first assigns every point to a cluster, then adds all points to the sums of \
            their clusters. The axis is the number of tasks, the height the time per point and \
            iteration. A quick run uses 4,000 of the points per thread, a full run all 200,000; \
            iterations are timed until the means rest, again and again. Each CPU has one thread, \
            as in a pool that steals work: more tasks than CPUs are smaller portions, not more \
            threads. Locks of the standard library guard the sums. In the second step, each core \
            finds the line of most clusters in another core's cache.",
    plot: plot(&[reference(I7, &[("i7_2P", TWO_P)]), reference(XEON, &[("xeon_2P", TWO_P)])]),
    cases: |machine| cases(machine, &[TWO_P], 1),
    curves,
    claims: &[
        // 4.240 s with one task and 1.310 s with eight on the i7 with its four cores: 3.2 times as
        // fast.
        measured(
            "B3.1",
            sestoft("1, KMeans2P"),
            "with a task on each of up to four cores, the speed of KMeans2P over one task is at \
             least 0.6 times the number of tasks",
            |e| {
                several(e, 2)?;
                let tasks = of_four_cores(e.machine);
                e.machine.cpu_order.one_kind(tasks)?;
                // A quick run has more points for more threads.
                let a_point = |tasks: usize| {
                    let iteration = e.at(TWO_P, tasks as f64)?;
                    Ok::<_, Untestable>(iteration.scaled(1.0 / points(e.machine, tasks) as f64))
                };
                let gain = ratio(a_point(1), a_point(tasks))?;
                let what = format!("gain by {tasks} tasks, per core");
                at_least(&what, gain.scaled(1.0 / tasks as f64), 0.6)
            },
        )
        .then(0.81, "i7-4870HQ, 4 cores with 2 tasks each"),
    ],
    ..Experiment::PLAIN
};

const AT_ONCE: Experiment = Experiment {
    id: "B4",
    name: "sestoft-kmeans-2q",
    title: "k-means that adds each point as soon as it is assigned",
    question: "Is the shorter variant, which does less work, the slower one on several cores?",
    source: "Sestoft, sections 1 and 2, KMeans2Q: 4.019 s with 1 task, 5 % less than 2P; 2.234 s \
             with 8 on the i7, 70 % more than 2P; 6.587 s with 48 on the Xeon, 7.7 times as long \
             as 2P",
    about: "KMeans2Q adds each point to its cluster as soon as the point is assigned. The axis is \
            the number of tasks. 2Q reads and writes less than 2P and takes as many locks. But it \
            writes the sums while other tasks read the means on the same lines, and each write \
            takes the line away from all other cores. This false sharing is the note's \
            explanation of its slowdown. B15 counts these requests in a model, B7 spreads the \
            note's slowdown over the accesses, and B8 times the bare lines. The variants are \
            timed in turn, three times per pass, and the median of the ratios is judged, because \
            other load of a host comes and goes.",
    plot: plot(&[
        reference(I7, &[("i7_2P", TWO_P), ("i7_2Q", TWO_Q)]),
        reference(XEON, &[("xeon_2P", TWO_P), ("xeon_2Q", TWO_Q)]),
    ]),
    cases: |machine| cases(machine, &[TWO_P, TWO_Q, TWO_Q_PADDED], TURNS),
    curves,
    claims: &[
        // Executed sequentially, 2Q is 5 percent faster: 4.019 s instead of 4.240.
        measured(
            "B4.1",
            sestoft("1, KMeans2Q"),
            "with one task, KMeans2Q takes 0.85 to 1.05 times as long as KMeans2P",
            |e| between("2Q over 2P, one task", over(e, TWO_Q, TWO_P, 1), 0.85, 1.05),
        )
        .then(0.948, "i7-4870HQ, 4 cores"),
        // 2Q is 70 percent slower with 8 tasks on the i7, and 7.7 times slower with 48 on the Xeon.
        measured(
            "B4.2",
            sestoft("1, KMeans2Q"),
            "with a task on each core of four or more, KMeans2Q takes more than 1.2 times as long \
             as KMeans2P",
            |e| slower_at_once(e, 4, 1.2),
        )
        .then_between(1.71, 7.72, BOTH),
        measured(
            "B4.3",
            ours("the note's machines have 4 and 24 cores: do two cores show the slowdown?"),
            "with a task on each core of two or more, KMeans2Q is slower than KMeans2P",
            |e| slower_at_once(e, 2, 1.0),
        ),
    ],
    ..Experiment::PLAIN
};

fn slower_at_once(e: &Evidence<'_>, cores: usize, least: f64) -> Judged {
    let tasks = several(e, cores)?;
    at_least(&format!("2Q over 2P, {}", of_tasks(tasks)), over(e, TWO_Q, TWO_P, tasks), least)
}

const PADDED: Experiment = Experiment {
    id: "B5",
    name: "sestoft-kmeans-2q-padded",
    title: "k-means with the sums on other lines than the mean",
    question: "Does the line that the mean shares with the sums cause the slowdown?",
    source: "Sestoft, section 2: 16 longs between mean and sums, and 16 after the sums. i7: 2P \
             1.344 s, 2Q padded 1.342 s; Xeon: 1.055 s and 1.469 s",
    about: "Padding puts 128 bytes between the mean and the lock with its sums, and again before \
            the next cluster's mean; nothing else of KMeans2Q changes. The axis is the number of \
            tasks. If the shared line causes the slowdown, the padded curve lies near that of 2P. \
            In both variants, cores also take the lines of the sums from each other. The note's \
            Xeon with 24 cores took 1.4 times as long padded as with 2P.",
    plot: plot(&[
        reference(I7, &[("i7_2P", TWO_P), ("i7_padded", TWO_Q_PADDED)]),
        reference(XEON, &[("xeon_2P", TWO_P), ("xeon_padded", TWO_Q_PADDED)]),
    ]),
    cases: |machine| cases(machine, &[TWO_P, TWO_Q, TWO_Q_PADDED], TURNS),
    curves,
    claims: &[
        // With padding, the performance on the four cores of the i7 is indistinguishable from that
        // of 2P: 1.342 and 1.344 s.
        measured(
            "B5.1",
            sestoft("2, padded clusters"),
            "with a task on each of up to four cores, padded KMeans2Q takes less than 1.15 times \
             as long as KMeans2P",
            |e| {
                several(e, 2)?;
                let tasks = of_four_cores(e.machine);
                let slower = over(e, TWO_Q_PADDED, TWO_P, tasks)?;
                at_most(&format!("padded over 2P, {}", of_tasks(tasks)), slower, 1.15)
            },
        )
        .then(1.0, "i7-4870HQ, 4 cores with 2 tasks each"),
        // The padding dramatically improves 2Q: 1.342 s instead of 2.234 on the i7, 1.469 s instead
        // of 6.587 on the Xeon.
        measured(
            "B5.2",
            sestoft("2, padded clusters"),
            "with a task on each core, KMeans2Q is faster with the padding than without",
            |e| {
                let tasks = several(e, 2)?;
                let faster = over(e, TWO_Q_PADDED, TWO_Q, tasks)?;
                at_most(&format!("padded over 2Q, {}", of_tasks(tasks)), faster, 1.0)
            },
        )
        .then_between(0.22, 0.6, BOTH)
        .takeaway(
            Shown::Share,
            Touches::Some,
            "Time of padded over unpadded k-means",
            "Padded clusters take {now} of the time of unpadded ones",
        )
        .advice(
            "Pad data that several tasks update.",
            "Padding does not pay in this program: look for other data that tasks share.",
        )
        .holding(
            "Only the distance from the mean to the sums differs, so the shared line causes the \
             slowdown.",
        ),
    ],
    ..Experiment::PLAIN
};
