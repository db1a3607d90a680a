//! Threads that run the note's program on a shared map.

use crate::experiment::prelude::*;
use crate::experiment::sync::{Mutex, lock};
use crate::experiment::topics::maps::map::{MapKind, Share, SharedMap, Tally};
use crate::host::{RoundOptions, Worker};
use crate::kernel::{Access, Kernel};
use alloc::sync::Arc;

/// Number of stripes of the note's maps.
const STRIPES: usize = 32;

/// Set-up of threads that look up, put and remove keys, starting from an empty map.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MapSetup {
    pub map: MapKind,
    /// Operations of all threads together.
    pub operations: u64,
    /// Keys lie in `0..range`.
    pub range: u32,
    /// The CPU of each thread.
    pub cpus: Vec<usize>,
}

impl MapSetup {
    fn make(&self) -> Testable<Arc<dyn SharedMap>> {
        self.map.make(STRIPES, self.range as usize)
    }

    /// Returns the threads' shares. As in the note, operations that do not divide evenly are left
    /// out.
    fn shares(&self) -> impl Iterator<Item = Share> {
        let threads = self.cpus.len() as u64;
        let operations = self.operations / threads.max(1);
        let range = self.range;
        (0..threads as u32).map(move |thread| Share { thread, operations, range })
    }
}

/// The map of the next run, which the threads fetch.
type Slot = Arc<Mutex<Arc<dyn SharedMap>>>;

/// A thread that runs its share on the map of the current run.
struct Sharer {
    slot: Slot,
    map: Arc<dyn SharedMap>,
    share: Share,
    tally: Tally,
    came_to: Arc<Mutex<Tally>>,
}

impl Kernel for Sharer {
    /// Runs the share, whatever the number of operations, without a lock of this file: many threads would
    /// wait for it longer than they work. Returns the number of keys put.
    ///
    /// With 0 operations, adds the tally of the last run to that of all threads, and fetches the map of the
    /// next run.
    fn run(&mut self, operations: u64) -> u64 {
        if operations == 0 {
            self.map = Arc::clone(&lock(&self.slot));
            let mut all = lock(&self.came_to);
            *all = all.with(core::mem::take(&mut self.tally));
            return 0;
        }
        let tally = self.map.exercise(self.share);
        self.tally = self.tally.with(tally);
        tally.added
    }

    /// Does nothing and reports nothing: the accesses of an operation depend on the map and its
    /// content.
    fn trace(&mut self, _: u64, _: &mut dyn FnMut(Access)) -> u64 {
        0
    }
}

/// The threads, and the state that they share.
struct Sharers {
    workers: Vec<Worker<'static>>,
    slot: Slot,
    came_to: Arc<Mutex<Tally>>,
}

impl Sharers {
    fn of(setup: &MapSetup) -> Testable<Self> {
        let map = setup.make()?;
        let slot: Slot = Arc::new(Mutex::new(Arc::clone(&map)));
        let came_to = Arc::default();
        let worker = |(&cpu, share)| {
            Worker::new(
                cpu,
                Sharer {
                    slot: Arc::clone(&slot),
                    map: Arc::clone(&map),
                    share,
                    tally: Tally::default(),
                    came_to: Arc::clone(&came_to),
                },
            )
        };
        let workers = setup.cpus.iter().zip(setup.shares()).map(worker).collect();
        Ok(Sharers { workers, slot, came_to })
    }
}

impl Setup for MapSetup {
    // The region is not used: maps allocate their own memory.
    fn prepare<'m>(&self, _: Region<'m>, _: &Context) -> Testable<Workload<'m>> {
        Ok(runs(self, self, None, Sharers::of(self)?))
    }
}

/// Returns runs of map `one`. With `less`, that share of the other map's time is subtracted.
fn runs<'m>(one: &MapSetup, other: &MapSetup, less: Option<f64>, sharers: Sharers) -> Workload<'m> {
    let (one, other, slot) = (one.clone(), other.clone(), sharers.slot);
    let operations = one.operations;
    let renew = move |which| {
        let setup = match which {
            Run::One => &one,
            Run::Other => &other,
        };
        // A kind of map that was made once can be made again.
        if let Ok(map) = setup.make() {
            *lock(&slot) = map;
        }
    };
    Workload::Threads {
        workers: sharers.workers,
        timing: Timing::Runs { renew: Box::new(renew), operations, less },
    }
}

/// Set-up that measures how much longer a map takes than a share of another map's time. The runs of
/// the two maps are interleaved: the time of a line between cores may change from one second to the
/// next, and then changes for both.
#[derive(Clone, Debug, PartialEq)]
pub struct MapPairSetup {
    pub run: MapSetup,
    pub other: MapKind,
    /// The share of the other map's time.
    pub share: f64,
}

impl Setup for MapPairSetup {
    fn prepare<'m>(&self, _: Region<'m>, _: &Context) -> Testable<Workload<'m>> {
        let other = MapSetup { map: self.other, ..self.run.clone() };
        other.make()?;
        let sharers = Sharers::of(&self.run)?;
        Ok(runs(&self.run, &other, Some(self.share), sharers))
    }
}

/// A property of a map's size after a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MapSize {
    /// The number of keys that the map reports.
    Said,
    /// How far the reported size is from the keys put less the keys removed, plus how far it is
    /// from the keys counted one by one.
    Off,
}

/// Set-up that reports a property of a map's size after a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MapSizeSetup {
    pub run: MapSetup,
    pub size: MapSize,
}

impl Setup for MapSizeSetup {
    fn is_count(&self) -> bool {
        true
    }

    fn prepare<'m>(&self, _: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        let mut sharers = Sharers::of(&self.run)?;
        let options = RoundOptions { ahead: 0, keep_on: false };
        context.host.thread_group(&mut sharers.workers, options, &mut |group| {
            group.round(1);
            group.round(0);
        })?;
        let map = lock(&sharers.slot);
        let tally = *lock(&sharers.came_to);
        let said = map.len() as u64;
        let value = match self.size {
            MapSize::Said => said,
            MapSize::Off => {
                let mut counted = 0_u64;
                map.for_each(&mut |_, _| counted += 1);
                // If more keys were removed than put, the difference wraps around and the size
                // counts as off.
                said.abs_diff(tally.added.wrapping_sub(tally.removed)) + said.abs_diff(counted)
            }
        };
        Ok(Workload::Count(value as f64))
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use core::time::Duration;
    use std::sync::mpsc::channel;

    /// A map whose keys nobody may count.
    struct Uncounted(Arc<dyn SharedMap>);

    impl SharedMap for Uncounted {
        fn get(&self, key: u32) -> Option<u64> {
            self.0.get(key)
        }

        fn put(&self, key: u32, value: u64) -> Option<u64> {
            self.0.put(key, value)
        }

        fn put_if_absent(&self, key: u32, value: u64) -> Option<u64> {
            self.0.put_if_absent(key, value)
        }

        fn remove(&self, key: u32) -> Option<u64> {
            self.0.remove(key)
        }

        fn for_each(&self, _: &mut dyn FnMut(u32, u64)) {
            panic!("the keys were counted");
        }

        fn len(&self) -> usize {
            self.0.len()
        }
    }

    #[test]
    fn a_timed_run_takes_no_shared_lock_and_counts_no_keys() {
        let setup =
            MapSetup { map: MapKind::Striped, operations: 2000, range: 100, cpus: vec![0, 1] };
        let mut sharers = Sharers::of(&setup).unwrap();
        let map: Arc<dyn SharedMap> = Arc::new(Uncounted(setup.make().unwrap()));
        *lock(&sharers.slot) = Arc::clone(&map);
        let mut worker = sharers.workers.remove(0).kernel;
        assert_eq!(worker.run(0), 0);
        let held = (lock(&sharers.slot), lock(&sharers.came_to));
        let (done, finished) = channel();
        std::thread::spawn(move || {
            let added = worker.run(1);
            done.send((worker, added)).unwrap();
        });
        let came = finished.recv_timeout(Duration::from_secs(20));
        drop(held);
        let (mut worker, added) = came.expect("the run waits for a lock of another thread");
        assert!(map.len() > 50 && added >= map.len() as u64);
        assert_eq!(*lock(&sharers.came_to), Tally::default());
        worker.run(0);
        assert_eq!(lock(&sharers.came_to).added, added);
    }
}
