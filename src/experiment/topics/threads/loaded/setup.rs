//! A walk beside streams that pause.

use super::{BURST, LAYOUT};
use crate::experiment::prelude::*;
use crate::host::Worker;
use crate::kernel::{Access, Addition, Bandwidth, Kernel, Motion, Step, Vector, Walk, Work};
use crate::pattern::{Order, Ring};

/// The thread that is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Timed {
    /// The walk: an operation is a step.
    Walk,
    /// A stream: an operation is a burst and its pause.
    Stream,
}

/// Set-up of a walk beside streams, one thread each.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct LoadedSetup {
    /// Bytes that the walk works on.
    pub(super) bytes: usize,
    /// Bytes of each stream.
    pub(super) stream: usize,
    pub(super) order: Order,
    pub(super) motion: Motion,
    /// Additions after each burst.
    pub(super) pause: u64,
    pub(super) timed: Timed,
    /// The CPU of each thread, all different. The first is the measuring CPU.
    pub(super) cpus: Vec<usize>,
}

impl Setup for LoadedSetup {
    fn bytes(&self) -> usize {
        self.bytes + self.stream * self.cpus.len().saturating_sub(1)
    }

    fn moves_pages(&self) -> bool {
        true
    }

    fn prepare<'m>(&self, region: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        // The thread that is timed runs on the measuring CPU.
        let mut cpus = self.cpus.clone();
        let ([_, _, ..], timed) = (&cpus[..], self.timed) else {
            return Err(Untestable(
                "the test needs two CPUs, and this process may use only one".to_owned(),
            ));
        };
        if timed == Timed::Stream {
            cpus.swap(0, 1);
        }
        let too_small = || Untestable("no room for a walk and its streams".to_owned());
        let (own, others) = region.split(self.bytes).ok_or_else(too_small)?;
        let count = LAYOUT.count(self.bytes);
        let walk = Walk::new(Ring::new(own, LAYOUT, count, self.order)?, Step::Follow)?;
        let mut period = count as u64;
        let mut workers = vec![Worker::new(cpus[0], walk)];
        let parts = others.into_bytes();
        let parts = parts.chunks_exact_mut(self.stream.max(1));
        for (part, &cpu) in parts.zip(&cpus[1..]) {
            // The result is ignored: before Linux 5.18, pages of the hugetlb pool stay where they
            // are.
            let _ = context.host.first_touched_on(part, cpu);
            let stream = Bandwidth::new(Region::new(part)?, self.motion, Vector::Sse2)?;
            if timed == Timed::Stream {
                period = stream.pass() / BURST;
            }
            let stream = PacedStream { stream, pause: Addition::default(), additions: self.pause };
            workers.push(match timed {
                Timed::Walk => Worker::new(cpu, Untimed(stream)),
                Timed::Stream => Worker::new(cpu, stream),
            });
        }
        if workers.len() < cpus.len() {
            return Err(too_small());
        }
        if timed == Timed::Stream {
            workers.swap(0, 1);
        }
        Ok(Workload::at_once(workers, SampleOf::First, period))
    }
}

/// A stream that pauses after each burst. An operation is a burst and its pause.
struct PacedStream<'m> {
    stream: Bandwidth<'m>,
    pause: Addition,
    /// Additions per pause.
    additions: u64,
}

impl Kernel for PacedStream<'_> {
    fn run(&mut self, operations: u64) -> u64 {
        let mut checksum = 0u64;
        for _ in 0..operations {
            checksum = checksum.wrapping_add(self.stream.run(BURST));
            // Left out of the checksum, which is then the same however long the pause is.
            core::hint::black_box(self.pause.run(self.additions));
        }
        checksum
    }

    fn work(&self) -> Work {
        self.stream.work().times(BURST as u32)
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        let bursts = (0..operations).map(|_| self.stream.trace(BURST, sink));
        bursts.fold(0, u64::wrapping_add)
    }
}

/// Requested operations per burst of an [`Untimed`] stream. The group runs it in portions of a sixteenth of a round's
/// operations until the walk is done: these are still a few bursts of 4 KiB.
const UNTIMED_SHARE: u64 = 64;

/// A stream beside a timed walk. All threads get the same number of operations per round, and a burst with a long
/// pause lasts as long as hundreds of steps: the round would last until the streams are done. This kernel performs
/// a small share of the operations, and the group then runs it until the walk is done.
struct Untimed<'m>(PacedStream<'m>);

impl Kernel for Untimed<'_> {
    fn run(&mut self, operations: u64) -> u64 {
        self.0.run(operations.div_ceil(UNTIMED_SHARE))
    }

    fn work(&self) -> Work {
        self.0.work()
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        self.0.trace(operations.div_ceil(UNTIMED_SHARE), sink)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A paced stream makes the accesses of the stream alone, whatever the pause.
    #[test]
    fn a_pause_changes_no_access() {
        let [mut paced, mut plain] = [vec![0; (1 << 14) + 63], vec![0; (1 << 14) + 63]];
        let stream = |bytes| {
            Bandwidth::new(Region::new(bytes).unwrap(), Motion::Update, Vector::Sse2).unwrap()
        };
        let mut alone = stream(&mut plain);
        let mut paced =
            PacedStream { stream: stream(&mut paced), pause: Addition::default(), additions: 5 };
        let of = |kernel: &mut dyn Kernel, operations| {
            let mut accesses = Vec::new();
            kernel.trace(operations, &mut |access| accesses.push(access));
            accesses
        };
        assert_eq!(of(&mut paced, 3), of(&mut alone, 3 * BURST));
        assert_eq!(paced.work(), alone.work().times(BURST as u32));
        assert_eq!(paced.run(2), alone.run(BURST).wrapping_add(alone.run(BURST)));
    }
}
