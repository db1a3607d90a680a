//! Tasks and the threads that run them, in place of the note's work-stealing pool.

use crate::experiment::sync::give_way;
use crate::experiment::topics::kmeans::run::cluster::Apart;
use crate::kernel::{Access, Kernel, Work};
use crate::pattern::kmeans::{CLUSTERS, Point};
use crate::prelude::*;
use alloc::sync::Arc;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// A k-means variant that is divided into tasks. An iteration consists of steps; a step ends when
/// all its tasks have ended.
pub(crate) trait Variant: Send + Sync {
    /// Returns the number of steps per iteration.
    fn steps(&self) -> usize {
        1
    }

    /// Runs `task` of a step on the task's `points`.
    fn part(&self, step: usize, task: usize, points: Range<usize>);

    /// Ends an iteration, while no task runs: computes the new means and returns whether all are at
    /// rest.
    fn finish(&self) -> bool;

    /// Restarts from the first means.
    fn reset(&self);

    fn means(&self) -> Vec<Point>;
}

/// How often a waiting thread polls a gate before it yields its CPU.
const LOOKS: u32 = 2000;

/// A barrier. The last thread to arrive calls a function before the gate opens.
#[derive(Debug, Default)]
struct Gate {
    arrived: Apart<AtomicUsize>,
    opened: Apart<AtomicUsize>,
}

impl Gate {
    fn pass(&self, threads: usize, last: impl FnOnce()) {
        let (arrived, opened) = (&self.arrived.0, &self.opened.0);
        // The gate cannot open before this thread has arrived.
        let before = opened.load(Ordering::Acquire);
        if arrived.fetch_add(1, Ordering::AcqRel) + 1 == threads {
            last();
            arrived.store(0, Ordering::Relaxed);
            opened.store(before.wrapping_add(1), Ordering::Release);
            return;
        }
        let mut looks = 0;
        while opened.load(Ordering::Acquire) == before {
            if looks < LOOKS {
                looks += 1;
                core::hint::spin_loop();
            } else {
                // The awaited thread may need this CPU.
                give_way();
            }
        }
    }
}

/// The state of a k-means run, shared by its threads.
pub(crate) struct Run {
    variant: Box<dyn Variant>,
    points: usize,
    tasks: usize,
    threads: usize,
    /// The next task of this step that no thread has taken.
    next: Apart<AtomicUsize>,
    gate: Gate,
    /// Iterations since the run began.
    iterations: AtomicU64,
    at_rest: AtomicBool,
    /// Whether the run restarts once all means are at rest, so that any number of iterations are
    /// the note's.
    anew: bool,
}

impl Run {
    /// Creates a run over `points` points in `tasks` tasks on `threads` threads. With `anew`, it
    /// restarts whenever all means are at rest.
    pub(crate) fn new(
        variant: Box<dyn Variant>,
        points: usize,
        [tasks, threads]: [usize; 2],
        anew: bool,
    ) -> Self {
        variant.reset();
        Run {
            anew,
            variant,
            points,
            tasks,
            threads,
            next: Apart(AtomicUsize::new(threads)),
            gate: Gate::default(),
            iterations: AtomicU64::new(0),
            at_rest: AtomicBool::new(false),
        }
    }

    /// Returns the points of a task. The last task also takes the remainder.
    fn points_of(&self, task: usize) -> Range<usize> {
        let each = self.points / self.tasks;
        let end = match task + 1 {
            last if last == self.tasks => self.points,
            next => next * each,
        };
        task * each..end
    }

    /// Runs thread `index`'s share of an iteration: first the task of the same number, then any
    /// task that no thread has taken.
    fn iterate(&self, index: usize) {
        let steps = self.variant.steps();
        for step in 0..steps {
            let mut task = index;
            while task < self.tasks {
                self.variant.part(step, task, self.points_of(task));
                task = self.next.0.fetch_add(1, Ordering::Relaxed);
            }
            self.gate.pass(self.threads, || {
                self.next.0.store(self.threads, Ordering::Relaxed);
                if step + 1 == steps {
                    self.end_iteration();
                }
            });
        }
    }

    fn end_iteration(&self) {
        let at_rest = self.variant.finish();
        self.at_rest.store(at_rest, Ordering::Relaxed);
        self.iterations.fetch_add(1, Ordering::Relaxed);
        if at_rest && self.anew {
            self.variant.reset();
        }
    }

    /// Runs iterations until all means are at rest or `most` iterations are done.
    pub(crate) fn to_rest(&self, index: usize, most: u64) {
        // Between two gates, all threads see the same values.
        while !self.at_rest.load(Ordering::Relaxed) && self.iterations() < most {
            self.iterate(index);
        }
    }

    pub(crate) fn iterations(&self) -> u64 {
        self.iterations.load(Ordering::Relaxed)
    }

    pub(crate) fn means(&self) -> Vec<Point> {
        self.variant.means()
    }
}

/// A thread of a run. An operation is an iteration, in which all threads take part.
pub(crate) struct Task {
    pub(crate) run: Arc<Run>,
    pub(crate) index: usize,
}

impl Kernel for Task {
    /// Returns the iterations since the run began.
    fn run(&mut self, operations: u64) -> u64 {
        for _ in 0..operations {
            self.run.iterate(self.index);
        }
        self.run.iterations()
    }

    fn work(&self) -> Work {
        work(self.run.points_of(0).len())
    }

    /// Reports the accesses that all variants share: for each point of the task with this thread's
    /// number, the point and all means. Accesses to sums differ between variants and are left out.
    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        trace(self.run.points_of(self.index), operations, sink);
        self.run.iterations()
    }
}

/// Bytes of a point, and of a mean.
const POINT: u32 = size_of::<Point>() as u32;

/// Returns the work of assigning `points` points.
pub(crate) fn work(points: usize) -> Work {
    let loads = points as u32 * (CLUSTERS as u32 + 1);
    Work {
        loads,
        bytes_read: loads * POINT,
        flops: 5 * (points * CLUSTERS) as u64,
        ..Work::default()
    }
}

/// Reports the accesses of assigning these points. Each mean lies on its own line, before the
/// points.
pub(crate) fn trace(points: Range<usize>, operations: u64, sink: &mut dyn FnMut(Access)) {
    const LINE: usize = crate::mem::LINE;
    for _ in 0..operations {
        for point in points.clone() {
            sink(Access::load(CLUSTERS * LINE + point * POINT as usize, POINT));
            (0..CLUSTERS).for_each(|mean| sink(Access::load(mean * LINE, POINT)));
        }
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use std::sync::Mutex;
    use std::thread;

    use super::*;
    use crate::experiment::sync::lock;

    /// Records the tasks of each step, and comes to rest every third iteration.
    #[derive(Default)]
    struct Noted {
        seen: Mutex<Vec<(usize, usize, Range<usize>)>>,
        iterations: AtomicU64,
        resets: AtomicU64,
    }

    impl Variant for Arc<Noted> {
        fn steps(&self) -> usize {
            2
        }

        fn part(&self, step: usize, task: usize, points: Range<usize>) {
            lock(&self.seen).push((step, task, points));
        }

        fn finish(&self) -> bool {
            (self.iterations.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(3)
        }

        fn reset(&self) {
            self.resets.fetch_add(1, Ordering::Relaxed);
        }

        fn means(&self) -> Vec<Point> {
            Vec::new()
        }
    }

    fn in_threads(noted: &Arc<Noted>, tasks: usize, threads: usize, anew: bool) -> Arc<Run> {
        let run = Arc::new(Run::new(Box::new(Arc::clone(noted)), 103, [tasks, threads], anew));
        thread::scope(|scope| {
            for index in 0..threads {
                let run = Arc::clone(&run);
                scope.spawn(move || {
                    if anew {
                        Task { run, index }.run(7);
                    } else {
                        run.to_rest(index, 100);
                    }
                });
            }
        });
        run
    }

    #[test]
    fn every_task_is_done_once_a_step_and_no_step_before_the_one_before_it() {
        for (tasks, threads) in [(1, 1), (8, 3), (4, 4), (10, 1)] {
            let noted = Arc::new(Noted::default());
            let run = in_threads(&noted, tasks, threads, false);
            assert_eq!((run.iterations(), noted.resets.load(Ordering::Relaxed)), (3, 1));
            let mut seen = lock(&noted.seen);
            assert_eq!(seen.len(), 3 * 2 * tasks);
            for (number, step) in seen.chunks_mut(tasks).enumerate() {
                step.sort_by_key(|(_, task, _)| *task);
                let mut end = 0;
                for (task, (of, number_of, points)) in step.iter().enumerate() {
                    assert_eq!((*of, *number_of), (number % 2, task));
                    assert_eq!(points.start, end);
                    end = points.end;
                }
                assert_eq!(end, 103);
            }
        }
    }

    #[test]
    fn at_rest_it_begins_anew_if_it_is_to() {
        let noted = Arc::new(Noted::default());
        let run = in_threads(&noted, 4, 2, true);
        assert_eq!(run.iterations(), 7);
        assert_eq!(noted.resets.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn what_comes_to_no_rest_ends_as_well() {
        let run = Run::new(Box::new(Arc::new(Noted::default())), 10, [1, 1], false);
        run.to_rest(0, 2);
        assert_eq!(run.iterations(), 2);
    }

    #[test]
    fn a_trace_is_the_declared_work() {
        let mut loads = 0;
        trace(5..9, 2, &mut |access| {
            assert_eq!(access.bytes, POINT);
            loads += 1;
        });
        assert_eq!(loads, 2 * work(4).loads);
    }
}
