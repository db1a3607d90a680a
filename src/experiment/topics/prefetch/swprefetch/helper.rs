//! Figure 6.8: a helper thread that reads ahead of a walk and so fetches its lines.

use crate::experiment::prelude::*;
use crate::experiment::shared::walk::WalkSetup;
use crate::experiment::topics::prefetch::swprefetch::{FIVE, NODE, PLAIN, WORK, by_t0, setup};
use crate::host::{Nearness, RunAheadBudget, RunAheadLimit, Worker};
use crate::kernel::{Access, Kernel, SharedWalk, Visit, Work};
use crate::pattern::SharedRing;
use alloc::sync::Arc;

/// The largest allowed lead of the helper, in nodes.
const LEAD: u32 = 100;

const AHEAD: &str = "5 ahead";
const SIBLING: &str = "helper on the same core";
const OTHER: &str = "helper on another core";

pub(crate) const FIG_6_8: Experiment = Experiment {
    id: "E42",
    name: "drepper-fig-6.8",
    title: "A helper thread that reads ahead of the walk",
    question: "Does a second thread that only reads ahead make the first thread faster?",
    source: "Drepper 6.3.4, Figure 6.8: the walk of Figure 6.7, and a helper on the other \
             hyper-thread that reads both lines of each node about 100 nodes ahead, held back by a \
             futex",
    about: "A helper thread reads the nodes of a random walk up to 100 nodes ahead of it. The \
            axis is the size of the list. The helper sleeps when it is 100 nodes ahead, and is \
            woken when 50 of them are left. The walk reports its place every 10 nodes and never \
            waits. In the caches the helper has nothing to save, and waking it costs a system \
            call every 50 nodes, in a guest also an interrupt of another virtual CPU. Beyond the \
            caches the helper follows the same chain of misses and needs a full miss per node; \
            the walk goes at the helper's pace and saves at most its own work. The document's \
            curve also rises there. A software prefetch by jump pointers follows no chain. A \
            helper on another core fills only its own caches and the shared last level, so the \
            walk loads each line from there.",
    plot: Plot::over_working_set(&[Reference {
        file: "drepper-fig-6.8.csv",
        machine: "Pentium 4 with hyper-threads, 512 KiB L2 (2007)",
        x: "working_set_bytes",
        columns: &[
            ("One Thread", PLAIN),
            ("With Prefetch", AHEAD),
            ("With Helper Thread", SIBLING),
        ],
    }]),
    cases,
    claims: &[
        // If the working set fits into L2, the helper, on the other hyper-thread of the same core,
        // reduces performance by 10 to 60 %.
        measured(
            "E42.1",
            drepper("6.3.4, Figure 6.8"),
            "in L1d and L2, a helper thread on the same core that reads ahead slows a random walk \
             down: it takes 1 to 2 times as long",
            |e| slows(e, SIBLING),
        )
        .then_between(1.1, 1.6, "Pentium 4 with hyper-threads, 512 KiB L2"),
        // Beyond L2 the helper reduces the run time by about 25 %; the figure has 22 to 26.
        measured(
            "E42.2",
            drepper("6.3.4, Figure 6.8"),
            "in memory, a helper thread on the same core saves more than 5 % of the time of a \
             random walk",
            |e| saves(e, SIBLING),
        )
        .then_between(0.74, 0.78, "Pentium 4 with hyper-threads, 512 KiB L2"),
        measured(
            "E42.3",
            ours(
                "few virtual machines have a spare hyper-thread: does a helper on another core \
                 pay?",
            ),
            "in memory, a helper thread on another core that shares a cache saves more than 5 % \
             of the time of a random walk",
            |e| saves(e, OTHER),
        ),
        measured(
            "E42.5",
            ours(
                "few virtual machines have a spare hyper-thread: what does a helper on another \
                 core cost where it has nothing to save?",
            ),
            "in L1d and L2, a helper thread on another core that shares a cache slows a random \
             walk down: it takes 1 to 2 times as long",
            |e| slows(e, OTHER),
        ),
        counted(
            "E42.4",
            ours("a helper without a limit could evict the lines that it fetched"),
            "a helper thread is never more than 100 nodes ahead of its walk",
            bounded,
        ),
    ],
    ..Experiment::PLAIN
};

/// Returns the helpers that share a cache with the walk: on its own core, and on the nearest other
/// core.
fn helpers(machine: &Machine) -> Vec<(&'static str, [usize; 2])> {
    let pair = |near| machine.cpu_order.pair(near).ok();
    let sibling = pair(Nearness::Core).map(|cpus| (SIBLING, cpus));
    let others = [Nearness::Level2, Nearness::LastLevel].into_iter();
    let other = others.filter_map(pair).next().map(|cpus| (OTHER, cpus));
    sibling.into_iter().chain(other).collect()
}

fn cases(machine: &Machine) -> Vec<Case> {
    let mut cases = Vec::new();
    for bytes in machine.working_sets_or_one_a_range() {
        let x = bytes as f64;
        let walk = |ahead| setup(machine, bytes, WORK, ahead);
        // Compared walks are measured one after the other.
        cases.push(Case::new(PLAIN, x, walk(None)).in_turn());
        for (series, cpus) in helpers(machine) {
            let setup = HelperSetup { list: WalkSetup::random(NODE, bytes, machine.seed), cpus };
            cases.push(Case::new(series, x, setup).in_turn());
        }
        if machine.full || bytes == machine.in_memory() {
            cases.push(Case::new(AHEAD, x, walk(by_t0(FIVE))).in_turn());
        }
    }
    cases
}

/// Checks that this machine has CPUs for a helper of `series`.
fn has(e: &Evidence<'_>, series: &'static str) -> Testable<()> {
    // If nothing could be measured, the points' own reason is reported.
    e.series(PLAIN)?;
    if helpers(e.machine).iter().any(|(name, _)| *name == series) {
        return Ok(());
    }
    if series == SIBLING {
        e.machine.cpu_order.pair(Nearness::Core)?;
    }
    Err(Untestable(
        "no other core of this process shares a cache with the measuring core".to_owned(),
    ))
}

/// Judges what a helper costs in the caches.
fn slows(e: &Evidence<'_>, series: &'static str) -> Judged {
    has(e, series)?;
    let ranges = &e.machine.ranges;
    all_of([("L1d", ranges.l1), ("L2", ranges.l2)].map(|(name, range)| {
        let slower = paired(e, series, PLAIN, range)?;
        between(&format!("{series} over none, {name}"), slower, 1.0, 2.0)
    }))
}

/// Judges what a helper saves in memory.
fn saves(e: &Evidence<'_>, series: &'static str) -> Judged {
    has(e, series)?;
    at_most(&format!("{series} over none"), paired(e, series, PLAIN, e.machine.ranges.memory), 0.95)
}

/// Judges that no counted lead exceeds `LEAD`.
fn bounded(e: &Evidence<'_>) -> Judged {
    let helpers = helpers(e.machine);
    if helpers.is_empty() {
        return Err(Untestable::because(
            "the helper needs two CPUs that share a cache, and this process has none",
        ));
    }
    let mut most: Option<u32> = None;
    for (series, _) in &helpers {
        // If the series has no points, its own reason is reported.
        e.series(series)?;
        let points = e.points.iter().filter(|point| point.series == *series);
        let leads = points.filter_map(|point| point.measured()?.thread_stats?.lead);
        most = most.max(leads.map(|lead| lead.most).max());
    }
    let most = most.ok_or_else(|| Untestable("no lead was counted".to_owned()))?;
    let verdict = if most <= LEAD { Verdict::Holds } else { Verdict::DoesNotHold };
    Ok(Judgement::in_words(verdict, format!("at most {most} nodes ahead, {LEAD} allowed")))
}

/// A walk with a helper that runs ahead of it.
#[derive(Clone, Debug)]
struct HelperSetup {
    list: WalkSetup,
    /// The CPU of the walk, and the CPU of the helper.
    cpus: [usize; 2],
}

/// Nodes between two reports of the walk. A report stores to a line that the helper reads.
const BETWEEN: u64 = 10;

/// The most nodes that the helper reads before it checks where the walk is.
const BATCH: u32 = 8;

impl Setup for HelperSetup {
    fn bytes(&self) -> usize {
        self.list.bytes()
    }

    fn prepare<'m>(&self, region: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        let [walker, helper] = self.cpus;
        if walker == helper {
            return Err(Untestable(
                "the helper thread needs a second CPU, and this process has one".to_owned(),
            ));
        }
        let ring = self.list.ring(region)?.share();
        let ring = ring.ok_or_else(|| Untestable("the elements lie across words".to_owned()))?;
        let limit = Arc::new(RunAheadLimit::new(context.host, LEAD));
        let walk = |visit| SharedWalk::new(ring, visit);
        let walker = Worker::new(
            walker,
            Walker { walk: walk(Visit::Work(WORK))?, ring, limit: Arc::clone(&limit), steps: 0 },
        );
        let helper = Worker::new(
            helper,
            Helper { walk: walk(Visit::Lines)?, limit: Arc::clone(&limit), steps: 0, goal: 0 },
        );
        Ok(Workload::Threads {
            workers: vec![walker, helper],
            timing: Timing::Helped { period: self.list.count as u64, limit },
        })
    }
}

struct Walker<'m> {
    walk: SharedWalk<'m>,
    ring: SharedRing<'m>,
    limit: Arc<RunAheadLimit>,
    steps: u64,
}

/// Releases the helper if the walk panics. A walk that ends normally forgets this guard.
struct Held<'l>(&'l RunAheadLimit);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.let_go();
    }
}

impl Kernel for Walker<'_> {
    fn run(&mut self, operations: u64) -> u64 {
        let held = Held(&self.limit);
        let mut left = operations;
        while left > 0 {
            let part = left.min(BETWEEN);
            self.walk.run(part);
            self.steps += part;
            let place = self.ring.offset(self.walk.at()) / 8;
            self.limit.advance(self.steps, place as u32);
            left -= part;
        }
        core::mem::forget(held);
        self.limit.settle();
        self.ring.offset(self.walk.at()) as u64
    }

    fn work(&self) -> Work {
        self.walk.work()
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        self.steps += operations;
        self.walk.trace(operations, sink)
    }
}

/// The kernel of the helper, which reads ahead. It skips the nodes that the walk has already
/// passed. A round ends for both kernels at the same node.
struct Helper<'m> {
    walk: SharedWalk<'m>,
    limit: Arc<RunAheadLimit>,
    /// Nodes since the first, read or skipped.
    steps: u64,
    /// The step that the walk reaches at the end of the round.
    goal: u64,
}

impl Kernel for Helper<'_> {
    /// Returns the number of nodes read.
    fn run(&mut self, operations: u64) -> u64 {
        self.goal += operations;
        let mut read = 0;
        loop {
            match self.limit.budget(self.steps, self.goal) {
                RunAheadBudget::Over => return read,
                RunAheadBudget::Behind { steps, place } => {
                    self.steps = steps;
                    // The walk reported this place, so a node lies there.
                    self.walk.go_to(8 * place as usize);
                }
                RunAheadBudget::Ahead { lead, room } => {
                    let part = room.min(BATCH);
                    self.walk.run(part.into());
                    self.steps += u64::from(part);
                    read += u64::from(part);
                    self.limit.note(lead + part);
                }
            }
        }
    }

    fn work(&self) -> Work {
        self.walk.work()
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        self.goal += operations;
        self.steps += operations;
        self.walk.trace(operations, sink);
        operations
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use crate::experiment::Linux;
    use crate::host::{RoundOptions, ThreadGroup as _};
    use crate::mem::LINE;
    use crate::os::{allowed, thread_group};
    use crate::untested;

    fn setup(cpus: [usize; 2]) -> HelperSetup {
        HelperSetup { list: WalkSetup::random(NODE, 1 << 20, 5), cpus }
    }

    #[test]
    fn a_helper_reads_ahead_and_never_by_more_than_the_bound() {
        let cpus = allowed();
        let [first, last] = [cpus[0], *cpus.last().unwrap()];
        if first == last {
            return untested::machine("a helper needs a second CPU");
        }
        let setup = setup([first, last]);
        let mut bytes = vec![0; setup.bytes() + 2 * LINE];
        let subject = setup.prepare(Region::new(&mut bytes).unwrap(), &Context::here()).unwrap();
        let Workload::Threads { mut workers, timing: Timing::Helped { limit, .. } } = subject
        else {
            panic!("no helper");
        };
        let options = RoundOptions { ahead: 100_000, keep_on: false };
        let count = setup.list.count as u64;
        let proofs = thread_group(&mut workers, options, |group| {
            [1, 5, 1000, 4 * count].map(|operations| {
                let times = group.round(operations);
                (times[0].checksum, times[1].checksum <= operations)
            })
        });
        for (place, no_more_than_asked) in proofs.unwrap() {
            assert!(place < setup.bytes() as u64 && no_more_than_asked);
        }
        let most = limit.leads().map_or(0, |lead| lead.most);
        assert!(most <= LEAD, "{most}");
    }

    #[test]
    fn one_cpu_is_not_enough() {
        let setup = setup([0, 0]);
        let mut bytes = vec![0; setup.bytes() + 2 * LINE];
        assert!(setup.prepare(Region::new(&mut bytes).unwrap(), &Context::here()).is_err());
    }

    /// A walk that panics releases its helper.
    #[test]
    fn a_helper_does_not_wait_for_a_walk_that_is_gone() {
        let limit = RunAheadLimit::new(&Linux, LEAD);
        let outcome = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| {
            let _held = Held(&limit);
            panic!("the walk");
        }));
        assert!(outcome.is_err());
        assert_eq!(limit.budget(0, 1000), RunAheadBudget::Over);
    }
}
