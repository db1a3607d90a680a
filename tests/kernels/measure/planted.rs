//! Kernels with known costs, and monitors that follow a script.

use std::cell::{Cell, RefCell};

use linefill::kernel::Kernel;
use linefill::measure::{Buffers, Monitor, Outcome, Plan, Sample, steady};
use linefill::time::start;

/// A plan that only ends by its budget, its precision or a full buffer; the test changes one of them.
pub const ENDLESS: Plan<'static> = {
    let mut plan = Plan::of_ticks(2_000, u64::MAX);
    plan.least = 1;
    // Even equal samples do not reach this precision.
    plan.precision = -1.0;
    plan
};

/// This plan after `change`.
pub fn endless<'a>(change: impl FnOnce(&mut Plan<'a>)) -> Plan<'a> {
    let mut plan = ENDLESS;
    change(&mut plan);
    plan
}

/// A precision that any positive median reaches.
pub const ANY: f64 = 1e9;

/// Spins for at least `ticks` ticks.
pub fn spin(ticks: u64) {
    let began = start();
    while start() - began < ticks {}
}

/// A kernel with known costs, which records the lengths of its runs.
pub struct Planted<'a> {
    /// Ticks per run, whatever its length.
    fixed: u64,
    /// Ticks per operation.
    each: &'a Cell<u64>,
    runs: &'a RefCell<Vec<u64>>,
    done: u64,
}

impl<'a> Planted<'a> {
    pub fn new(fixed: u64, each: &'a Cell<u64>, runs: &'a RefCell<Vec<u64>>) -> Self {
        Planted { fixed, each, runs, done: 0 }
    }
}

impl Kernel for Planted<'_> {
    fn run(&mut self, operations: u64) -> u64 {
        self.runs.borrow_mut().push(operations);
        spin(self.fixed + operations * self.each.get());
        self.done += operations;
        self.done
    }
}

/// A kernel whose runs call a function.
pub struct Taking<F>(pub F);

impl<F: FnMut(u64) -> u64> Kernel for Taking<F> {
    fn run(&mut self, operations: u64) -> u64 {
        (self.0)(operations)
    }
}

/// A monitor that is asked before and after every sample. A function of the question's number gives its
/// answer.
pub struct Scripted<F> {
    asked: usize,
    answer: F,
}

pub fn scripted<F: FnMut(usize) -> u64>(answer: F) -> Scripted<F> {
    Scripted { asked: 0, answer }
}

impl<F: FnMut(usize) -> u64> Monitor for Scripted<F> {
    fn state(&mut self) -> u64 {
        self.asked += 1;
        (self.answer)(self.asked - 1)
    }
}

/// Memory for `room` samples.
pub struct Memory {
    pub samples: Vec<Sample>,
    pub scratch: Vec<f64>,
}

impl Memory {
    pub fn new(room: usize) -> Self {
        Memory { samples: vec![Sample::default(); room], scratch: vec![0.0; room] }
    }

    pub fn buffers(&mut self) -> Buffers<'_> {
        Buffers { samples: &mut self.samples, scratch: &mut self.scratch }
    }
}

/// Measures a kernel of 200 ticks per operation, and returns the lengths of its runs.
pub fn measure(
    plan: &Plan<'_>,
    watch: &mut dyn Monitor,
    room: usize,
) -> (Option<Outcome>, Vec<u64>) {
    let (each, runs) = (Cell::new(200), RefCell::default());
    let mut memory = Memory::new(room);
    let outcome = steady(&mut Planted::new(0, &each, &runs), plan, watch, memory.buffers());
    (outcome, runs.into_inner())
}
