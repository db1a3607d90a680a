//! Drepper 3.3.4, the two situations in which a core must ask for ownership of lines.

use crate::experiment::prelude::*;
use crate::experiment::shared::walk::WalkSetup;
use crate::experiment::topics::coherence::remote::{Held, Want};
use crate::experiment::topics::coherence::transfer::states::upgrade;
use crate::experiment::topics::coherence::transfer::{remote, two_cores, walks_and_trip};
use crate::host::{Guard, Host};
use crate::kernel::{Kernel, Step, Walk};
use crate::measure::Shot;
use crate::pattern::Layout;
use core::hint::black_box;

pub(crate) static ALL: &[Experiment] = &[SITUATIONS];

const LAPS: [(&str, Lap); 3] = [
    ("the thread stays", Lap::Home),
    ("the first lap after a move", Lap::First),
    ("the second lap after a move", Lap::Second),
];

const OWN: &str = "a locked addition to a line that the core owns";
const READ: &str = "a locked addition to a line that another core has read";
const OWN_FENCED: &str = "the same to a line that the core owns, with a fence behind it";
const READ_FENCED: &str = "the same to a line that another core has read, with a fence behind it";

/// Places on the axis of the evidence that the two CPUs are two cores. It is not drawn.
const THERE: f64 = 1.0;
const HERE: f64 = 0.0;

const SITUATIONS: Experiment = Experiment {
    id: "D24",
    name: "drepper-rfo-situations",
    title: "A thread that moves to another core, and a line that two cores need",
    question: "What does it cost a core to take over lines that another core has modified?",
    source: "Drepper 3.3.4: the two situations in which requests for ownership are necessary. A \
             thread modifies all elements of a list on one core, moves to the nearest other core, \
             and continues there",
    about: "A thread walks a list and modifies each element, first on one core, then on another. \
            When the thread moves, its modified lines stay in the caches of the first core. The \
            first lap on the new core must fetch each line from there, at the price of one \
            transfer per line. It also starts with a TLB and branch predictors that know nothing \
            of the thread. The second lap should find the lines in the new core's caches. A list \
            in L1d is walked so quickly that the last requests for ownership of the first lap may \
            continue into the second. In the other situation two cores need the same line: \
            whenever another core has read it, a write must first upgrade it from shared to \
            exclusive. A core that overlaps locked additions hides this latency in a sequence; a \
            fence after each addition exposes it. Loads that depend on each other and a round \
            trip of one word show whether the two CPUs are threads of one core, where no line \
            moves. X13 shows the price by line state, and B8 shows what programs pay that write \
            to one line.",
    plot: Plot::over_working_set(&[]),
    cases: |machine| {
        let Ok(cpus) = machine.cpu_order.two_cores() else { return Vec::new() };
        let mut cases = Vec::new();
        for (_, bytes) in machine.near() {
            let list = WalkSetup::random(Layout::npad(7), bytes, machine.seed).with(Step::Inc);
            cases.extend(LAPS.map(|(series, lap)| {
                Case::new(series, bytes as f64, MigrateSetup { list, lap, cpus })
            }));
        }
        // The same cases as in X13, so that a run measures those of own lines once.
        for (series, held, want) in [
            (OWN, Held::Own, Want::Own),
            (READ, Held::Shared, Want::Own),
            (OWN_FENCED, Held::Own, Want::OwnFenced),
            (READ_FENCED, Held::Shared, Want::OwnFenced),
        ] {
            let others = if held == Held::Own { Vec::new() } else { vec![cpus[1]] };
            cases.push(Case::new(series, LINE as f64, remote(held, want, others)));
        }
        cases.extend(walks_and_trip(cpus, [THERE, HERE]));
        cases
    },
    curves: |e| e.curves_of(|label| LAPS.iter().any(|(name, _)| *name == label)),
    claims: &[
        // First situation: all lines of a migrated thread move once. A factor of 1.5 is our
        // threshold.
        measured(
            "D24.1",
            drepper("3.3.4"),
            "in a list that fits in L2, the first lap after a move to another core takes more than \
             1.5 times as long as a lap of a thread that stays",
            |e| {
                let [_, (_, l2)] = e.machine.near();
                at_least("first lap over staying, L2", over_staying(e, LAPS[1].0, l2), 1.5)
            },
        ),
        // The same situation, in a smaller list.
        measured(
            "D24.2",
            drepper("3.3.4"),
            "in a list that fits in L1d, the first lap after a move to another core takes more \
             than 1.5 times as long as a lap of a thread that stays",
            |e| {
                let [(_, l1), _] = e.machine.near();
                at_least("first lap over staying, L1d", over_staying(e, LAPS[1].0, l1), 1.5)
            },
        ),
        // The lines move only once.
        measured(
            "D24.3",
            drepper("3.3.4"),
            "in a list that fits in L2, the second lap after a move to another core takes less \
             than 1.2 times as long as a lap of a thread that stays: lines move once",
            |e| {
                let [_, (_, l2)] = e.machine.near();
                at_most("second lap over staying, L2", over_staying(e, LAPS[2].0, l2), 1.2)
            },
        ),
        // Second situation: two processors really need a line, and each RFO is slow. We take the
        // latency of the upgrade; the threshold is ours.
        measured(
            "D24.4",
            drepper("3.3.4"),
            "the upgrade of a line that another core has read takes more than half as long as a \
             locked addition to a line that the core owns, timed with a fence after each addition",
            |e| {
                two_cores(e, [THERE, HERE])?;
                at_least("upgrade over addition", cost_of_upgrade(e), 0.5)
            },
        ),
        measured(
            "D24.5",
            ours(
                "how much of the upgrade latency a program sees: some cores overlap locked \
                 additions and hide it",
            ),
            "in sequence, without fences, locked additions to lines that another core has read \
             take more than 1.5 times as long as locked additions to lines that the core owns",
            |e| {
                two_cores(e, [THERE, HERE])?;
                let at = |series| e.at(series, LINE as f64);
                at_least("shared over own", ratio(at(READ), at(OWN)), 1.5)
            },
        )
        .holding("Each addition waits for its line before the next addition begins.")
        .failing(
            "The core begins an addition before it owns the line of the previous addition, and \
             hides most of the upgrade cost. A fence after each addition exposes this cost.",
        ),
    ],
    ..Experiment::PLAIN
};

/// Returns the latency of an upgrade, in locked additions.
pub(crate) fn cost_of_upgrade(e: &Evidence<'_>) -> Testable<Interval> {
    let at = |series| e.at(series, LINE as f64);
    upgrade(at(READ_FENCED)?, at(OWN_FENCED)?, at(OWN)?)
}

/// Returns the time of a lap over the time of a lap of a thread that stays.
fn over_staying(e: &Evidence<'_>, period: &str, bytes: usize) -> Testable<Interval> {
    two_cores(e, [THERE, HERE])?;
    paired_at(e, period, LAPS[0].0, bytes as f64)
}

/// The lap that is timed, after several laps on the home CPU: another lap there, or the first or the
/// second lap on the other CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lap {
    Home,
    First,
    Second,
}

/// A list whose elements a thread modifies on one CPU and then on another. An operation is a step.
#[derive(Clone, Copy, Debug)]
struct MigrateSetup {
    list: WalkSetup,
    lap: Lap,
    /// The home CPU and the other CPU.
    cpus: [usize; 2],
}

impl Setup for MigrateSetup {
    fn bytes(&self) -> usize {
        self.list.bytes()
    }

    fn prepare<'m>(&self, region: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        let [home, away] = self.cpus;
        if home == away {
            return Err(Untestable(
                "the test needs two CPUs, and this process may use only one".to_owned(),
            ));
        }
        let host = context.host;
        let home = host.pin(home)?;
        // Fails before the first shot if the thread may not run on the other CPU.
        drop(host.pin(away)?);
        let walk = self.list.walk(region)?;
        let work = walk.work();
        let steps = self.list.count as u64;
        let MigrateSetup { lap, cpus, .. } = *self;
        let shot = MigrateShot { host, walk, steps, lap, cpus, moved: None, _home: home };
        Ok(Workload::shot(shot, work))
    }
}

struct MigrateShot<'m> {
    host: &'static dyn Host,
    walk: Walk<'m>,
    steps: u64,
    lap: Lap,
    cpus: [usize; 2],
    /// Keeps the thread on the CPU to which it was moved. When it is dropped, before `_home`, the
    /// thread returns to the home CPU.
    moved: Option<Box<dyn Guard>>,
    _home: Box<dyn Guard>,
}

impl Shot for MigrateShot<'_> {
    fn prepare(&mut self) {
        let [home, away] = self.cpus;
        self.moved = None;
        black_box(self.walk.run(2 * self.steps));
        // A thread that stays makes the same system call, to its own CPU.
        let to = if self.lap == Lap::Home { home } else { away };
        self.moved = self.host.pin(to).ok();
        if self.lap == Lap::Second {
            black_box(self.walk.run(self.steps));
        }
    }

    fn shoot(&mut self) -> u64 {
        self.walk.run(self.steps)
    }

    fn operations(&self) -> u64 {
        self.steps
    }

    fn moves(&self) -> bool {
        true
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use crate::os::preempt::current_cpu;
    use crate::os::{allowed, pin};

    #[test]
    fn a_thread_is_where_its_lap_is_and_home_again_afterwards() {
        let all = allowed();
        let [home, away] = [all[0], *all.last().unwrap()];
        let mut bytes = vec![0; 64 * 102];
        for lap in [Lap::Home, Lap::First, Lap::Second] {
            let list = WalkSetup::random(Layout::npad(7), 100 * LINE, 3).with(Step::Inc);
            let setup = MigrateSetup { list, lap, cpus: [home, away] };
            let region = Region::new(&mut bytes).unwrap();
            let context = Context::here();
            let before = current_cpu();
            let pinned = pin(before.unwrap()).unwrap();
            match setup.prepare(region, &context) {
                Err(reason) => assert!(home == away, "{reason}"),
                Ok(Workload::Shot { mut shot, .. }) => {
                    for _ in 0..3 {
                        shot.prepare();
                        let at = if lap == Lap::Home { home } else { away };
                        assert_eq!(current_cpu(), Some(at));
                        assert_eq!(shot.shoot(), 0, "a lap ends where it began");
                    }
                }
                Ok(other) => panic!("{other:?}"),
            }
            assert_eq!(current_cpu(), before);
            drop(pinned);
        }
    }
}
