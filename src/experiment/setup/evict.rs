//! Lines brought into a known state, and the instructions that move lines outwards.

// Flushes and stores to lines of a region by address.
#![allow(unsafe_code)]

use core::arch::x86_64::__m128i;
use core::hint::black_box;

use crate::cpu::{
    Cldemote, Clflushopt, Clwb, Features, cldemote, clflush, clflushopt, clwb, lfence, mfence,
    movntdq,
};
use crate::experiment::{Context, Setup, Subject, Untestable};
use crate::kernel::Work;
use crate::measure::Shot;
use crate::mem::{LINE, PAGE, Region};
use crate::pattern::Rng;
use crate::time::start;

/// The state of a line in this core's caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineState {
    /// In no cache.
    Absent,
    /// In L1d, as memory has it.
    Clean,
    /// In L1d, modified.
    Dirty,
}

/// An instruction that moves a line outwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Evict {
    /// `clflush`.
    Clflush,
    /// `clflushopt`.
    Clflushopt,
    /// `clwb`.
    Clwb,
    /// `cldemote`.
    Cldemote,
}

/// The same, with proof that the CPU has it.
#[derive(Clone, Copy)]
enum Proven {
    Clflush,
    Clflushopt(Clflushopt),
    Clwb(Clwb),
    Cldemote(Cldemote),
}

impl Evict {
    /// The instruction's name.
    pub const fn name(self) -> &'static str {
        match self {
            Evict::Clflush => "clflush",
            Evict::Clflushopt => "clflushopt",
            Evict::Clwb => "clwb",
            Evict::Cldemote => "cldemote",
        }
    }

    fn proven(self, features: Features) -> Result<Proven, Untestable> {
        let proven = match self {
            Evict::Clflush => Some(Proven::Clflush),
            Evict::Clflushopt => features.clflushopt().map(Proven::Clflushopt),
            Evict::Clwb => features.clwb().map(Proven::Clwb),
            Evict::Cldemote => features.cldemote().map(Proven::Cldemote),
        };
        proven.ok_or_else(|| Untestable(format!("this CPU has no {}", self.name())))
    }
}

/// What is done to a line in a known state, before it is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Then {
    /// Nothing.
    Nothing,
    /// The line is moved outwards.
    Evict(Evict),
    /// The whole line is written by four `movntdq`.
    NonTemporalStores,
}

/// A run of lines that is moved outwards. An operation is a line; the shot ends with the fence
/// that waits for all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EvictSetup {
    /// By which instruction; `None` for the fence alone.
    pub by: Option<Evict>,
    /// The state of the lines before.
    pub state: LineState,
    /// Lines of a run, at most [`MOST_LINES`](Self::MOST_LINES).
    pub lines: usize,
    /// Decides which lines.
    pub seed: u64,
}

/// One load of a line with a known past.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReloadSetup {
    /// The state of the line at first.
    pub state: LineState,
    /// What was done to it then, with time to take effect.
    pub then: Then,
    /// Decides which lines.
    pub seed: u64,
}

/// Bytes of the lines to choose from: no more pages than the smallest L1 dTLB covers.
const BYTES: usize = 16 * PAGE;

/// Ticks that a line is given to arrive or to leave: several times the latency of any memory.
const PATIENCE: u64 = 5000;

impl EvictSetup {
    /// The most lines of a run: half of those to choose from, and of the smallest L1d.
    pub const MOST_LINES: usize = 128;
}

impl Setup for EvictSetup {
    fn bytes(&self) -> usize {
        BYTES
    }

    fn prepare<'m>(
        &self,
        region: Region<'m>,
        context: &Context,
    ) -> Result<Subject<'m>, Untestable> {
        if self.lines == 0 || self.lines > Self::MOST_LINES {
            return Err(Untestable(format!(
                "a run has 1 to {} lines, not {}",
                Self::MOST_LINES,
                self.lines
            )));
        }
        let by = self.by.map(|by| by.proven(context.features)).transpose()?;
        let shot = EvictShot {
            lines: Lines::new(region, self.lines, self.seed),
            state: self.state,
            by,
        };
        Ok(Subject::Shot {
            shot: Box::new(shot),
            work: Work::default(),
        })
    }
}

impl Setup for ReloadSetup {
    fn bytes(&self) -> usize {
        BYTES
    }

    fn prepare<'m>(
        &self,
        region: Region<'m>,
        context: &Context,
    ) -> Result<Subject<'m>, Untestable> {
        let evict = match self.then {
            Then::Evict(by) => Some(by.proven(context.features)?),
            Then::Nothing | Then::NonTemporalStores => None,
        };
        let shot = ReloadShot {
            lines: Lines::new(region, 1, self.seed),
            state: self.state,
            evict,
            stream: self.then == Then::NonTemporalStores,
        };
        Ok(Subject::Shot {
            shot: Box::new(shot),
            work: Work {
                loads: 1,
                bytes_read: 8,
                ..Work::default()
            },
        })
    }
}

/// A run of lines somewhere in a region.
struct Lines<'m> {
    region: Region<'m>,
    count: usize,
    rng: Rng,
    /// Byte offset of the run.
    at: usize,
}

impl<'m> Lines<'m> {
    fn new(region: Region<'m>, count: usize, seed: u64) -> Self {
        Lines {
            region,
            count,
            rng: Rng::new(seed),
            at: 0,
        }
    }

    /// Chooses another run and brings its lines into `state`.
    fn choose(&mut self, state: LineState) {
        let places = self.region.len() / LINE - self.count + 1;
        self.at = self.rng.below(places) * LINE;
        self.evict(Proven::Clflush);
        mfence();
        let run = self.at..self.at + self.count * LINE;
        for line in run.step_by(LINE) {
            match state {
                LineState::Absent => {}
                LineState::Clean => {
                    black_box(self.region.word(line));
                }
                LineState::Dirty => self.region.set_word(line, line as u64),
            }
        }
        settle();
    }

    /// Moves every line of the run outwards.
    fn evict(&self, by: Proven) {
        let run = &self.region.bytes()[self.at..self.at + self.count * LINE];
        let lines = run.chunks_exact(LINE).map(<[u8]>::as_ptr);
        // SAFETY: the lines lie in the region.
        unsafe {
            match by {
                Proven::Clflush => lines.for_each(|line| clflush(line)),
                Proven::Clflushopt(has) => lines.for_each(|line| clflushopt(has, line)),
                Proven::Clwb(has) => lines.for_each(|line| clwb(has, line)),
                Proven::Cldemote(has) => lines.for_each(|line| cldemote(has, line)),
            }
        }
    }

    /// Writes the first line of the run whole, past the cache.
    fn stream(&mut self) {
        let line = &mut self.region.bytes_mut()[self.at..self.at + LINE];
        for quarter in line.chunks_exact_mut(16) {
            // SAFETY: the chunk has 16 bytes, and lines start on a multiple of them; all zeroes are
            // a vector.
            unsafe { movntdq(quarter.as_mut_ptr().cast::<__m128i>(), core::mem::zeroed()) };
        }
    }
}

/// Waits until what was begun has come to pass.
fn settle() {
    mfence();
    let begin = start();
    while start() - begin < PATIENCE {}
    lfence();
}

struct EvictShot<'m> {
    lines: Lines<'m>,
    state: LineState,
    by: Option<Proven>,
}

impl Shot for EvictShot<'_> {
    fn prepare(&mut self) {
        self.lines.choose(self.state);
    }

    fn shoot(&mut self) -> u64 {
        if let Some(by) = self.by {
            self.lines.evict(by);
        }
        mfence();
        self.lines.at as u64
    }

    fn operations(&self) -> u64 {
        self.lines.count as u64
    }
}

struct ReloadShot<'m> {
    lines: Lines<'m>,
    state: LineState,
    evict: Option<Proven>,
    stream: bool,
}

impl Shot for ReloadShot<'_> {
    fn prepare(&mut self) {
        self.lines.choose(self.state);
        if let Some(by) = self.evict {
            self.lines.evict(by);
        }
        if self.stream {
            self.lines.stream();
        }
        settle();
    }

    fn shoot(&mut self) -> u64 {
        self.lines.region.word(self.lines.at)
    }
}
