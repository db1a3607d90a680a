//! Drepper's list walks, by one thread or by several at the same time.

use crate::experiment::machine::predict::{Places, in_order, random};
use crate::experiment::prelude::*;
use crate::host::Worker;
use crate::kernel::{SharedWalk, Step, Visit, Walk};
use crate::order;
use crate::pattern::{Layout, Order, Ring};

/// A ring and a walk along it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WalkSetup {
    pub layout: Layout,
    pub count: usize,
    pub order: Order,
    pub step: Step,
}

impl WalkSetup {
    /// Returns a `Follow` walk over as many elements as fit `working_set` bytes, at least one.
    pub fn follow(layout: Layout, working_set: usize, order: Order) -> Self {
        WalkSetup { layout, count: layout.count(working_set).max(1), order, step: Step::Follow }
    }

    /// Returns the places of the elements, for predictions. Elements that straddle lines, or that are
    /// read in two places of several lines, are not predicted.
    fn places(&self) -> Option<Places> {
        let layout = self.layout;
        let element = layout.element();
        let dense = layout == Layout::npad(layout.padding());
        let apart = Layout::npad(layout.padding()).spaced(layout.stride());
        let rotating = layout == apart.rotating();
        let one_line = element <= LINE || matches!(self.step, Step::Follow | Step::Inc);
        let known = dense || ((layout == apart || rotating) && element == LINE);
        (known && one_line).then_some(Places {
            count: self.count,
            stride: layout.stride(),
            rotating,
        })
    }

    pub fn with(self, step: Step) -> Self {
        WalkSetup { step, ..self }
    }

    /// Returns a `Follow` walk in random order.
    pub(crate) fn random(layout: Layout, working_set: usize, seed: u64) -> Self {
        WalkSetup::follow(layout, working_set, Order::Random { seed })
    }

    pub(crate) fn ring<'m>(&self, region: Region<'m>) -> Testable<Ring<'m>> {
        Ok(Ring::new(region, self.layout, self.count, self.order)?)
    }

    /// Builds the ring in `region`, and returns the walk along it.
    pub(crate) fn walk<'m>(&self, region: Region<'m>) -> Testable<Walk<'m>> {
        Ok(Walk::new(self.ring(region)?, self.step)?)
    }
}

impl Setup for WalkSetup {
    fn bytes(&self) -> usize {
        self.layout.span(self.count)
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Testable<Workload<'m>> {
        Ok(Workload::steady(self.walk(region)?, self.count as u64))
    }

    /// Predicts the same load for a step that writes, but with lines that are written back.
    fn predict(&self, parameters: &Parameters<'_>) -> Option<Forecast> {
        let places = self.places()?;
        let stores = self.step != Step::Follow;
        match self.order {
            Order::Random { .. } => random(parameters, places, None),
            Order::RandomInBlocks { pages, .. } => random(parameters, places, Some(pages)),
            Order::Sequential | Order::Backward => in_order(parameters, places, stores),
            // All elements are visited, in as many rounds as a stride has elements.
            Order::Strided { elements } => {
                let stride = elements * places.stride;
                in_order(parameters, Places { stride, ..places }, stores)
            }
            _ => None,
        }
    }
}

/// The series of [`near_and_far`].
const NEAR: &str = "L1d";
pub(crate) const FAR: &str = "memory";

/// Returns a random walk in L1d and a random walk in memory. They equal cases of the table of each
/// level's latency, so that a run measures them once.
pub(crate) fn near_and_far(machine: &Machine) -> [Case; 2] {
    let near = machine.middle_of(machine.ranges.l1);
    [(NEAR, near), (FAR, machine.in_memory())].map(|(series, bytes)| {
        let setup = WalkSetup::random(Layout::npad(7), bytes, machine.seed);
        Case::new(series, bytes as f64, setup).in_large_pages()
    })
}

/// Returns the latencies of L1d and of memory that the cases of [`near_and_far`] measured.
pub(crate) fn latencies(e: &Evidence<'_>) -> Testable<[Reading; 2]> {
    let memory = e.machine.memory_size()?;
    let (_, near) = e.last(NEAR)?;
    Ok([near, e.at(FAR, memory)?])
}

/// Which list a thread walks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lists {
    /// All threads walk the same list, from its first element on.
    One,
    /// Each thread has its own list, with the same layout.
    Own,
}

/// Threads that walk lists.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CompanySetup {
    pub list: WalkSetup,
    pub lists: Lists,
    /// The CPU of each thread, all different.
    pub cpus: Vec<usize>,
    /// The thread whose time counts.
    pub pace: SampleOf,
}

impl CompanySetup {
    /// Returns the bytes of a list, rounded up to whole pages.
    fn span(&self) -> usize {
        self.list.bytes().next_multiple_of(PAGE)
    }

    fn workers<'m>(&self, region: Region<'m>) -> Testable<Vec<Worker<'m>>> {
        let mut workers = Vec::with_capacity(self.cpus.len());
        match self.lists {
            Lists::One => {
                let shared = self.list.ring(region)?.share();
                let shared =
                    shared.ok_or_else(|| Untestable("the elements lie across words".to_owned()))?;
                for &cpu in &self.cpus {
                    let walk = SharedWalk::new(shared, Visit::Step(self.list.step))?;
                    workers.push(Worker::new(cpu, walk));
                }
            }
            Lists::Own => {
                let parts = region.into_bytes().chunks_exact_mut(self.span());
                for (own, &cpu) in parts.zip(&self.cpus) {
                    workers.push(Worker::new(cpu, self.list.walk(Region::new(own)?)?));
                }
                if workers.len() < self.cpus.len() {
                    return Err(Untestable("the memory has no room for another list".to_owned()));
                }
            }
        }
        Ok(workers)
    }
}

/// Checks that no two threads share a CPU, because they would wait for the scheduler.
pub(crate) fn all_different(cpus: &[usize]) -> Testable<()> {
    match order::distinct(cpus.iter().copied()).len() {
        different if different == cpus.len() => Ok(()),
        different => {
            Err(Untestable(format!("this needs {} CPUs, and there are {different}", cpus.len())))
        }
    }
}

impl Setup for CompanySetup {
    fn bytes(&self) -> usize {
        match self.lists {
            Lists::One => self.span(),
            Lists::Own => self.span() * self.cpus.len(),
        }
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Testable<Workload<'m>> {
        all_different(&self.cpus)?;
        Ok(Workload::at_once(self.workers(region)?, self.pace, self.list.count as u64))
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;

    fn setup(lists: Lists, cpus: Vec<usize>) -> CompanySetup {
        let list = WalkSetup::random(Layout::npad(15), 100 * 128, 7).with(Step::Inc);
        CompanySetup { list, lists, cpus, pace: SampleOf::Fastest }
    }

    /// Returns the sum of all counters in memory after each worker's walk over its list.
    fn counted(setup: &CompanySetup) -> u64 {
        let mut bytes = vec![0; setup.bytes() + 64];
        let mut region = Region::new(&mut bytes).unwrap();
        let words = region.len() / 8;
        for mut worker in setup.workers(region.reborrow()).unwrap() {
            worker.kernel.run(100);
        }
        // A walk increments word 1 of every 16 words.
        let counters = (0..words).filter(|word| word % 16 == 1);
        counters.map(|word| region.word(8 * word)).sum()
    }

    #[test]
    fn every_thread_visits_every_element_of_its_list() {
        for lists in [Lists::One, Lists::Own] {
            assert_eq!(counted(&setup(lists, vec![0, 1, 2])), 300, "{lists:?}");
        }
    }

    #[test]
    fn lists_of_their_own_take_memory_of_their_own() {
        let one = setup(Lists::One, vec![0, 1, 2]).bytes();
        assert_eq!(setup(Lists::Own, vec![0, 1, 2]).bytes(), 3 * one);
    }

    #[test]
    fn threads_that_share_a_cpu_are_refused() {
        let mut bytes = vec![0; 1 << 16];
        let region = Region::new(&mut bytes).unwrap();
        let refused = setup(Lists::One, vec![0, 1, 0]).prepare(region, &Context::here());
        let reason = refused.unwrap_err().to_string();
        assert!(reason.contains("this needs 3 CPUs, and there are 2"), "{reason}");
    }
}
