//! Threads and processes that an experiment asks for.

use alloc::boxed::Box;
use core::fmt::{self, Debug};
use core::time::Duration;

use crate::kernel::{Kernel, Motion, Vector};

/// A thread to be: where it runs, and what.
pub struct Worker<'k> {
    /// The CPU that it is kept on.
    pub cpu: usize,
    /// Its work.
    pub kernel: Box<dyn Kernel + Send + 'k>,
}

impl fmt::Debug for Worker<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Worker {{ cpu: {} }}", self.cpu)
    }
}

/// What one member did in a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerTime {
    /// Ticks from the common start to its own.
    pub late: u64,
    /// Ticks from its own start to its end.
    pub ticks: u64,
    /// What its kernel returned.
    pub checksum: u64,
    /// Whether the thread left its CPU meanwhile, or shared its core at either end.
    pub disturbed: bool,
}

impl WorkerTime {
    /// Ticks from the common start to its end.
    pub fn until(&self) -> u64 {
        self.late + self.ticks
    }
}

/// How a round goes.
#[derive(Clone, Copy, Debug)]
pub struct RoundOptions {
    /// Ticks from the call to the common start: time enough for every member to notice.
    pub ahead: u64,
    /// Whether a member that is done goes on, untimed, until all are: so that nobody's last
    /// operations meet less traffic than the first. Not for members that share a CPU.
    pub keep_on: bool,
}

/// Members at work, as their leader sees them.
pub trait Team {
    /// Has every member do `operations` operations, all from the same tick on. Returns their turns, in
    /// the members' order.
    fn round(&mut self, operations: u64) -> &[WorkerTime];

    /// The turns of the last round, in the members' order.
    fn turns(&self) -> &[WorkerTime];

    /// Whether the first two members had one core together when the last round began, though the host
    /// says that they have two.
    fn one_core(&self) -> bool;

    /// Ticks that a line took from the first member to the second and back when the last round began,
    /// by `lock cmpxchg`; nothing if the host says that they have one core.
    fn round_trip(&self) -> Option<f64>;

    /// Waits until the first two members have a core each, or until `patience` is used up, and takes
    /// from it what that took.
    fn wait_for_cores(&mut self, patience: &mut Duration);
}

/// What a second process does.
#[derive(Clone, Copy, Debug)]
pub struct BackgroundLoad {
    /// The CPU that it is kept on.
    pub cpu: usize,
    /// Bytes of its memory, whole blocks of 512, in each half if there are two.
    pub bytes: usize,
    /// What it does to them, round and round.
    pub motion: Motion,
    /// By what.
    pub vector: Vector,
}

/// A second process at work, until dropped.
pub trait Process: Debug {
    /// How many stretches of work it has done so far: if that grows, it is at work.
    fn stretches(&self) -> u64;

    /// Whether it still exists.
    fn lives(&mut self) -> bool;
}
