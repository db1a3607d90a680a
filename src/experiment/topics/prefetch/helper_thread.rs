//! A walk with work at each node, and a helper thread that reads the list ahead of it.

use crate::experiment::prelude::*;
use crate::host::{RunAheadBudget, RunAheadLimit, Worker};
use crate::kernel::{Access, Kernel, SharedWalk, Visit, Work};
use crate::mem::Region;
use crate::pattern::{Layout, Order, Ring, SharedRing};
use alloc::sync::Arc;

/// A walk that a helper runs ahead of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HelperSetup {
    /// Where the elements lie. Each occupies two lines.
    pub layout: Layout,
    /// Bytes of all elements together.
    pub working_set: usize,
    /// In which order they are visited.
    pub order: Order,
    /// Dependent multiplications per node, 3 core cycles each.
    pub work: u32,
    /// The most nodes that the helper may be ahead.
    pub lead: u32,
    /// The CPU of the walk, and that of the helper.
    pub cpus: [usize; 2],
}

/// Nodes between two reports of the walk. A report is a store to a line that the helper reads.
const BETWEEN: u64 = 10;

/// The most nodes that the helper reads before it looks where the walk is.
const BATCH: u32 = 8;

impl Setup for HelperSetup {
    fn bytes(&self) -> usize {
        self.layout.span(self.layout.count(self.working_set))
    }

    fn prepare<'m>(
        &self,
        region: Region<'m>,
        context: &Context,
    ) -> Result<Workload<'m>, Untestable> {
        let [walker, helper] = self.cpus;
        if walker == helper {
            return Err(Untestable(
                "the helper thread needs a second CPU, and this process has one".to_owned(),
            ));
        }
        let count = self.layout.count(self.working_set);
        let ring = Ring::new(region, self.layout, count, self.order)?;
        let ring = ring.share();
        let ring = ring.ok_or_else(|| Untestable("the elements lie across words".to_owned()))?;
        let limit = Arc::new(RunAheadLimit::new(context.host, self.lead));
        let walk = |visit| SharedWalk::new(ring, visit);
        let walker = Worker {
            cpu: walker,
            kernel: Box::new(Walker {
                walk: walk(Visit::Work(self.work))?,
                ring,
                limit: Arc::clone(&limit),
                steps: 0,
            }),
        };
        let helper = Worker {
            cpu: helper,
            kernel: Box::new(Helper {
                walk: walk(Visit::Lines)?,
                limit: Arc::clone(&limit),
                steps: 0,
                goal: 0,
            }),
        };
        Ok(Workload::Threads {
            members: vec![walker, helper],
            timing: Timing::Helped {
                period: count as u64,
                limit,
            },
        })
    }
}

/// The walk itself.
struct Walker<'m> {
    walk: SharedWalk<'m>,
    ring: SharedRing<'m>,
    limit: Arc<RunAheadLimit>,
    steps: u64,
}

/// Lets the helper go if the walk ends by a panic: whoever comes to an end forgets it.
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

/// The thread that reads ahead. It skips the operations that the walk has done already.
/// A round ends for both at the same node.
struct Helper<'m> {
    walk: SharedWalk<'m>,
    limit: Arc<RunAheadLimit>,
    /// Nodes from the first, read or left out.
    steps: u64,
    /// Where the walk will be at the end of the round.
    goal: u64,
}

impl Kernel for Helper<'_> {
    /// Returns how many nodes it read.
    fn run(&mut self, operations: u64) -> u64 {
        self.goal += operations;
        let mut read = 0;
        loop {
            match self.limit.slack(self.steps, self.goal) {
                RunAheadBudget::Over => return read,
                RunAheadBudget::Behind { steps, place } => {
                    self.steps = steps;
                    // The walk reported a node's place.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::Features;
    use crate::experiment::Linux;
    use crate::host::RoundOptions;
    use crate::mem::LINE;
    use crate::os::{allowed, team};

    const LEAD: u32 = 100;

    fn setup(cpus: [usize; 2]) -> HelperSetup {
        HelperSetup {
            layout: Layout::npad(15),
            working_set: 1 << 20,
            order: Order::Random { seed: 5 },
            work: 53,
            lead: LEAD,
            cpus,
        }
    }

    const CONTEXT: fn() -> Context = || Context {
        features: Features::detect(),
        host: &Linux,
    };

    #[test]
    fn a_helper_reads_ahead_and_never_by_more_than_the_bound() {
        let cpus = allowed();
        let [first, last] = [cpus[0], *cpus.last().unwrap()];
        if first == last {
            return;
        }
        let setup = setup([first, last]);
        let mut bytes = vec![0; setup.bytes() + 2 * LINE];
        let region = Region::new(&mut bytes).unwrap();
        let subject = setup.prepare(region, &CONTEXT()).unwrap();
        let Workload::Threads {
            mut members,
            timing: Timing::Helped { limit, .. },
        } = subject
        else {
            panic!("no helper");
        };
        let manner = RoundOptions {
            ahead: 100_000,
            keep_on: false,
        };
        let count = setup.layout.count(setup.working_set) as u64;
        let proofs = team(&mut members, manner, |team| {
            [1, 5, 1000, 4 * count].map(|operations| {
                let turns = team.round(operations);
                (turns[0].checksum, turns[1].checksum <= operations)
            })
        });
        for (place, no_more_than_asked) in proofs.unwrap() {
            assert!(place < setup.working_set as u64 && no_more_than_asked);
        }
        let most = limit.leads().map_or(0, |lead| lead.most);
        assert!(most <= LEAD, "{most}");
    }

    #[test]
    fn one_cpu_is_not_enough() {
        let setup = setup([0, 0]);
        let mut bytes = vec![0; setup.bytes() + 2 * LINE];
        let region = Region::new(&mut bytes).unwrap();
        assert!(setup.prepare(region, &CONTEXT()).is_err());
    }

    /// A walk that ends by a panic takes its helper along.
    #[test]
    fn a_helper_does_not_wait_for_a_walk_that_is_gone() {
        let limit = RunAheadLimit::new(&Linux, LEAD);
        let outcome = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| {
            let _held = Held(&limit);
            panic!("the walk");
        }));
        assert!(outcome.is_err());
        assert_eq!(limit.slack(0, 1000), RunAheadBudget::Over);
    }
}
