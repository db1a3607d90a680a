//! Drepper 3.3.4, list walks of several threads: Figures 3.19 to 3.22 and Table 3.3.

use crate::experiment::prelude::*;
use crate::experiment::shared::cores::on_cores;
use crate::experiment::shared::walk::{CompanySetup, Lists, WalkSetup};
use crate::kernel::Step;
use crate::order;
use crate::pattern::{Layout, Order};

mod concurrent;
mod speedup;

pub(crate) static ALL: &[Experiment] = &[
    concurrent::FIG_3_19,
    concurrent::FIG_3_20,
    concurrent::FIG_3_21,
    speedup::TABLE_3_3,
    speedup::FIG_3_22,
];

/// The machine of these figures.
const FOUR: &str = "four processors on one bus (2007)";

/// The test that the threads of a figure run: a column of the table.
#[derive(Clone, Copy)]
struct Test {
    name: &'static str,
    step: Step,
    random: bool,
}

const FOLLOW: Test = Test { name: "sequential Follow", step: Step::Follow, random: false };

const INC: Test = Test { name: "sequential Inc", step: Step::Inc, random: false };

const ADD: Test = Test { name: "random Addnextlast", step: Step::Addnextlast, random: true };

const TESTS: [Test; 3] = [FOLLOW, INC, ADD];

const ALONE: &str = "1 thread";

const LISTS: [(Lists, &str); 2] = [(Lists::One, "one list"), (Lists::Own, "own lists")];

fn series(threads: usize, lists: Lists) -> String {
    if threads == 1 {
        return ALONE.to_owned();
    }
    let whose = LISTS.iter().find(|(which, _)| *which == lists);
    let whose = whose.map_or("", |(_, name)| name);
    format!("{threads} threads, {whose}")
}

/// Returns the numbers of threads, each with one common list and with a list per thread.
fn companies(machine: &Machine) -> Vec<(usize, Lists)> {
    let mut all = Vec::new();
    for threads in on_cores(machine) {
        for (lists, _) in LISTS {
            if threads > 1 || lists == Lists::One {
                all.push((threads, lists));
            }
        }
    }
    all
}

/// Returns the numbers of threads that can be compared with one thread: all on cores of one kind.
fn of_one_kind(machine: &Machine) -> impl Iterator<Item = usize> {
    let numbers = on_cores(machine).into_iter();
    numbers.filter(|&threads| machine.cpu_order.one_kind(threads).is_ok())
}

/// Returns the largest number of threads on cores of one kind. Fails if there is one core, or if the second core
/// is of another kind.
fn most(e: &Evidence<'_>) -> Testable<usize> {
    comparable(e, 2)?;
    Ok(of_one_kind(e.machine).max().unwrap_or(1))
}

/// Checks that so many threads each have a core, and that their cores are of one kind. Of threads on cores of two
/// kinds, the fastest says nothing about the others.
fn comparable(e: &Evidence<'_>, threads: usize) -> Testable<()> {
    e.machine.cpu_order.at_least(threads)?;
    e.machine.cpu_order.one_kind(threads)
}

/// Returns the largest number of threads whose lists, each larger than L2, together fit the last
/// level.
fn most_in_llc(machine: &Machine) -> usize {
    let Range { lo, hi } = machine.ranges.llc;
    let fits = |threads: &usize| lo * *threads as f64 <= hi;
    of_one_kind(machine).filter(fits).max().unwrap_or(1)
}

/// Returns a working set in the range of the last level, small enough for the lists of
/// [`most_in_llc`] threads.
fn in_llc(machine: &Machine) -> usize {
    let llc = machine.ranges.llc;
    machine.middle_of(Range { lo: llc.lo, hi: llc.hi / most_in_llc(machine) as f64 })
}

/// Returns a working set of at least eight times the last level, where the figures' threads that walk
/// at random begin to slow each other.
fn far(machine: &Machine) -> usize {
    2 * machine.in_memory()
}

/// Returns one working set per range; a full run adds the working sets of a curve.
fn sizes(machine: &Machine) -> Vec<usize> {
    let ranges = &machine.ranges;
    let mut sizes = vec![
        machine.middle_of(ranges.l1),
        machine.middle_of(ranges.l2),
        in_llc(machine),
        machine.in_memory(),
    ];
    if machine.full {
        sizes.extend(machine.working_sets());
    }
    order::distinct(sizes.into_iter().filter(|&bytes| bytes <= machine.largest))
}

/// Returns whether `--memory` allows the lists of all threads.
fn fits(machine: &Machine, bytes: usize, threads: usize, lists: Lists) -> bool {
    let all = match lists {
        Lists::One => Some(bytes),
        Lists::Own => bytes.checked_mul(threads),
    };
    all.is_some_and(|all| all <= machine.largest)
}

/// Returns the set-up of threads that run a test, or `None` without enough memory or CPUs.
fn setup(
    machine: &Machine,
    test: Test,
    bytes: usize,
    threads: usize,
    lists: Lists,
) -> Option<CompanySetup> {
    if !fits(machine, bytes, threads, lists) {
        return None;
    }
    let order = if test.random { Order::Random { seed: machine.seed } } else { Order::Sequential };
    let list = WalkSetup::follow(Layout::npad(15), bytes, order).with(test.step);
    let cpus = machine.cpu_order.of(threads).ok()?;
    Some(CompanySetup { list, lists, cpus, pace: SampleOf::Fastest })
}

fn cases(machine: &Machine, test: Test) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |bytes, (threads, lists)| {
        let setup = setup(machine, test, bytes, threads, lists);
        cases.extend(setup.map(|setup| Case::new(series(threads, lists), bytes as f64, setup)));
    };
    // Cases that claims compare are measured one after the other.
    for bytes in sizes(machine) {
        for of in companies(machine) {
            add(bytes, of);
        }
    }
    // A full run measures this working set anyway.
    if test.random && !machine.full {
        for of in [(1, Lists::One), (2, Lists::Own)] {
            add(far(machine), of);
        }
    }
    cases
}

/// Returns the time of a step of the fastest of several threads divided by that of one thread, in the unit of the
/// evidence. `prefix` precedes the names of both series.
fn over_one(
    e: &Evidence<'_>,
    prefix: &str,
    threads: usize,
    lists: Lists,
    bytes: usize,
) -> Testable<Interval> {
    comparable(e, threads.max(2))?;
    if !fits(e.machine, bytes, threads, lists) {
        let [each, largest] = [bytes, e.machine.largest].map(|bytes| bytes >> 20);
        return Err(Untestable(format!(
            "{threads} lists of {each} MiB are more than `--memory` allows, which is {largest} MiB"
        )));
    }
    let of = format!("{prefix}{}", series(threads, lists));
    paired_at(e, &of, &format!("{prefix}{ALONE}"), bytes as f64)
}

/// Returns the same ratio in time. The clock of several busy cores is often slower than that of one: a ratio of core
/// cycles is then no ratio of times.
fn slower(e: &Evidence<'_>, threads: usize, lists: Lists, bytes: usize) -> Testable<Interval> {
    over_one(&e.in_time(), "", threads, lists, bytes)
}

/// Returns the working set that lies in memory. Fails if none may be large enough.
fn in_memory(e: &Evidence<'_>) -> Testable<usize> {
    let bytes = e.machine.in_memory();
    e.machine.place_in_memory(bytes).map(|_| bytes)
}

/// Returns the working set of [`far`]. Fails if the memory size may not lie in memory.
fn far_in_memory(e: &Evidence<'_>) -> Testable<usize> {
    in_memory(e).map(|_| far(e.machine))
}

/// Judges that in L1d and L2 threads on lists of their own take less than 1.15 times as many core cycles as
/// one thread.
fn undisturbed(e: &Evidence<'_>) -> Judged {
    let places = e.machine.near().into_iter();
    all_of(places.map(|place| undisturbed_in(e, Lists::Own, place)))
}

/// Judges the same of such lists in one of these working sets. These caches run at the clock of the core, and
/// a slower clock is no disturbance by other threads: core cycles count, not the time.
fn undisturbed_in(e: &Evidence<'_>, lists: Lists, (name, bytes): (&str, usize)) -> Judged {
    let threads = most(e)?;
    let slower = over_one(e, "", threads, lists, bytes)?;
    at_most(&format!("{} over one, {name}", series(threads, lists)), slower, 1.15)
}

/// Judges that `threads` threads, each on a list of its own of `bytes` bytes, take at least `factor` times as long
/// as one thread.
///
/// Claims compare such lists with the document's numbers: its processors share no cache, so that each fetches the
/// list over the bus itself. Where threads share a last level, lists per thread make as much traffic.
fn dearer(e: &Evidence<'_>, threads: usize, bytes: usize, factor: f64) -> Judged {
    let slower = slower(e, threads, Lists::Own, bytes)?;
    at_least(&format!("{} over one", series(threads, Lists::Own)), slower, factor)
}

const fn columns(file: &'static str) -> Reference {
    Reference {
        file,
        machine: FOUR,
        x: "working_set_bytes",
        columns: &[("#Threads=1", ALONE), ("#Threads=2", "2 threads"), ("#Threads=4", "4 threads")],
    }
}
