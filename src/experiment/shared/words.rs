//! Threads that share words: they increment words, take locks, hand a line on, or touch the fields of a
//! structure.

use crate::experiment::prelude::*;
use crate::experiment::shared::walk::all_different;
use crate::host::Worker;
use crate::kernel::{Access, Increment, IncrementWay, Kernel, RoundTrip, RoundTripWay, Work};
use core::sync::atomic::{AtomicU64, Ordering};

/// The distance between the words of the threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Spacing {
    /// All threads have the same word.
    Shared,
    /// Each thread has its own word, this many bytes after the previous thread's word: 8 is an array
    /// without gaps.
    Apart(usize),
}

impl Spacing {
    /// Returns the byte offset of the word of thread `index`.
    pub fn at(self, index: usize) -> usize {
        match self {
            Spacing::Shared => 0,
            Spacing::Apart(bytes) => index * bytes,
        }
    }
}

/// Threads that hand one line to each other. The line lies on a new page, which the first thread's CPU
/// touched first. On a machine with several nodes, the home of the line is therefore that CPU's node,
/// and not the measuring CPU's node for all pairs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RoundTripSetup {
    pub way: RoundTripWay,
    /// The CPU of each thread, all different: two threads on one CPU would wait for the scheduler.
    pub cpus: Vec<usize>,
}

impl RoundTripSetup {
    /// Returns the threads, whose token is word number `token`.
    fn workload<'m>(&self, region: Region<'m>, token: usize) -> Testable<Workload<'m>> {
        let threads = self.cpus.len();
        let words = region.into_atomics();
        let workers = self.cpus.iter().enumerate().map(|(index, &cpu)| {
            let kernel = RoundTrip::new(words, token, index, threads, self.way)
                .ok_or_else(|| Untestable("the token does not lie in the region".to_owned()))?;
            Ok(Worker::new(cpu, kernel))
        });
        let workers = workers.collect::<Testable<_>>()?;
        // All threads take equally long, so the median thread is the least disturbed.
        Ok(Workload::in_step(workers, SampleOf::Median, 1))
    }
}

impl Setup for RoundTripSetup {
    fn bytes(&self) -> usize {
        // Two pages contain a whole aligned page, wherever the region begins.
        2 * PAGE
    }

    fn first_touched_by(&self) -> Option<usize> {
        self.cpus.first().copied()
    }

    fn prepare<'m>(&self, mut region: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        all_different(&self.cpus)?;
        region.bytes_mut().fill(0);
        let token = match self.cpus.first() {
            Some(&cpu) => {
                let page = context.host.first_touched_on(region.bytes_mut(), cpu)?;
                let page = page.as_ptr().addr();
                (page - region.bytes().as_ptr().addr()) / size_of::<u64>()
            }
            None => 0,
        };
        self.workload(region, token)
    }

    /// Traces without a home node: the place and the owner of the line do not affect its accesses.
    fn traced<'m>(&self, mut region: Region<'m>, _: &Context) -> Testable<Workload<'m>> {
        region.bytes_mut().fill(0);
        self.workload(region, 0)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WordWay {
    /// `lock xadd`.
    Atomic,
    /// A load, an addition and a store.
    Plain,
}

/// A byte of the memory, and the access to the 8 bytes around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SharedWord {
    /// The offset of the byte in the memory.
    pub at: usize,
    /// Whether the word is incremented; otherwise it is only read.
    pub write: bool,
}

/// Threads that touch words, each its own list of words.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SharedFieldsSetup {
    /// The words that each thread touches in a round.
    pub words: Vec<Vec<SharedWord>>,
    pub way: WordWay,
    pub cpus: Vec<usize>,
    /// The thread whose time counts.
    pub pace: SampleOf,
    pub bytes: usize,
}

/// A thread that touches several words, or only reads. One operation is one round.
struct Rounds<'m> {
    words: &'m [AtomicU64],
    touched: Vec<SharedWord>,
    way: WordWay,
}

/// Returns the index of the word that contains a byte.
fn word(at: usize) -> usize {
    at / size_of::<u64>()
}

impl Kernel for Rounds<'_> {
    /// Returns the sum of the values read or written in the last round.
    fn run(&mut self, operations: u64) -> u64 {
        let mut sum = 0_u64;
        for _ in 0..operations {
            sum = 0;
            for touched in &self.touched {
                let word = &self.words[word(touched.at)];
                let found = match (touched.write, self.way) {
                    (false, _) => word.load(Ordering::Relaxed),
                    (true, WordWay::Atomic) => word.fetch_add(1, Ordering::Relaxed).wrapping_add(1),
                    (true, WordWay::Plain) => {
                        let next = word.load(Ordering::Relaxed).wrapping_add(1);
                        word.store(next, Ordering::Relaxed);
                        next
                    }
                };
                sum = sum.wrapping_add(found);
            }
        }
        sum
    }

    fn work(&self) -> Work {
        let loads = self.touched.len() as u32;
        let stores = self.touched.iter().filter(|word| word.write).count() as u32;
        Work::default().load(loads, 8).store(stores, 8)
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        for _ in 0..operations {
            for touched in &self.touched {
                let at = 8 * word(touched.at);
                sink(Access::load(at, 8));
                if touched.write {
                    sink(Access::store(at, 8));
                }
            }
        }
        self.run(operations)
    }
}

impl SharedFieldsSetup {
    /// Returns the kernel of a thread. If the thread touches a single word and writes it, the kernel is
    /// the assembly that B8 uses.
    fn kernel<'m>(
        &self,
        touched: &[SharedWord],
        words: &'m [AtomicU64],
    ) -> Testable<Box<dyn Kernel + Send + 'm>> {
        let outside = touched.iter().find(|one| word(one.at) >= words.len());
        if let Some(outside) = outside {
            let at = outside.at;
            return Err(Untestable(format!("byte {at} does not lie in the region")));
        }
        let way = match self.way {
            WordWay::Atomic => IncrementWay::FetchAdd,
            WordWay::Plain => IncrementWay::Plain,
        };
        if let [SharedWord { at, write: true }] = *touched
            && let Some(one) = Increment::new(words, word(at), way)
        {
            return Ok(Box::new(one));
        }
        Ok(Box::new(Rounds { words, touched: touched.to_vec(), way: self.way }))
    }
}

impl Setup for SharedFieldsSetup {
    fn bytes(&self) -> usize {
        self.bytes.max(LINE)
    }

    fn prepare<'m>(&self, mut region: Region<'m>, _: &Context) -> Testable<Workload<'m>> {
        region.bytes_mut().fill(0);
        let words = region.into_atomics();
        let worker = |(touched, &cpu): (&Vec<SharedWord>, &usize)| {
            Ok(Worker { cpu, kernel: self.kernel(touched, words)? })
        };
        let workers = self.words.iter().zip(&self.cpus).map(worker);
        Ok(Workload::at_once(workers.collect::<Testable<_>>()?, self.pace, 1))
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;

    fn setup(way: WordWay) -> SharedFieldsSetup {
        let word = |at, write| SharedWord { at, write };
        SharedFieldsSetup {
            words: vec![
                vec![word(4, true)],
                vec![word(8, true), word(0, false), word(127, true)],
                vec![word(8, false)],
            ],
            way,
            cpus: vec![0, 0, 0],
            pace: SampleOf::Slowest,
            bytes: 128,
        }
    }

    #[test]
    fn words_are_counted_where_they_lie() {
        let context = Context::here();
        for way in [WordWay::Atomic, WordWay::Plain] {
            let mut bytes = [7; 256];
            let mut workers = match setup(way).prepare(Region::new(&mut bytes).unwrap(), &context) {
                Ok(Workload::Threads { workers, .. }) => workers,
                other => panic!("{other:?}"),
            };
            let run = |worker: &mut Worker<'_>| worker.kernel.run(10);
            // The first worker counts to 10, and the second reads that value too.
            let proofs: Vec<u64> = workers.iter_mut().map(run).collect();
            assert_eq!(proofs, [10, 30, 10]);
            let works: Vec<[u32; 2]> = workers
                .iter()
                .map(|worker| worker.kernel.work())
                .map(|work| [work.loads, work.stores])
                .collect();
            assert_eq!(works, [[1, 1], [3, 2], [1, 0]]);
            let mut accesses = Vec::new();
            workers[1].kernel.trace(1, &mut |access| accesses.push(access));
            let (load, store) = (Access::load, Access::store);
            assert_eq!(
                accesses,
                [load(8, 8), store(8, 8), load(0, 8), load(120, 8), store(120, 8)]
            );
        }
    }

    #[test]
    fn a_word_outside_the_region_is_refused() {
        let setup = SharedFieldsSetup {
            words: vec![vec![SharedWord { at: 1 << 20, write: true }]],
            ..setup(WordWay::Plain)
        };
        let context = Context::here();
        let mut bytes = [0; 256];
        let refused = setup.prepare(Region::new(&mut bytes).unwrap(), &context).unwrap_err();
        assert!(refused.to_string().contains("byte 1048576"), "{refused}");
    }
}
