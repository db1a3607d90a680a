//! Beyond the documents: the cost of moving a line outwards, and where the line is afterwards.

// Flushes lines of a region, and stores to them, by address.
#![allow(unsafe_code)]

use crate::cpu::{
    Cldemote, Clflushopt, Clwb, Features, cldemote, clflush, clflushopt, clwb, mfence,
};
use crate::experiment::prelude::*;
use crate::experiment::shared::hint::{BYTES, settle};
use crate::experiment::shared::pollution::stream_line;
use crate::kernel::Work;
use crate::measure::Shot;
use crate::pattern::Rng;
use core::hint::black_box;

pub(crate) static ALL: &[Experiment] = &[FLUSHES];

const INSTRUCTIONS: [Evict; 4] = [Evict::Clflush, Evict::Clflushopt, Evict::Clwb, Evict::Cldemote];

const STATES: [(&str, LineState); 3] =
    [("in no cache", LineState::Absent), ("clean", LineState::Clean), ("dirty", LineState::Dirty)];

const CACHED: &str = "load of a line in L1d";
const ABSENT: &str = "load of a line in no cache";

/// Numbers of lines per run.
const LINES: [u32; 5] = [1, 4, 16, 64, MANY];
/// An eighth of the lines to choose from, and half of the smallest L1d.
const MANY: u32 = 128;

const FLUSHES: Experiment = Experiment {
    id: "X4",
    name: "flush-cost",
    title: "Flushing lines and writing them back",
    question: "What do clflush, clflushopt, clwb and cldemote cost, and where is the line \
               afterwards?",
    source: "beyond the documents; Intel SDM volume 2A, CLFLUSH, CLFLUSHOPT, CLWB, CLDEMOTE",
    seen: &[
        seen(
            "Zen 4",
            "clflush and clflushopt are equally fast, and clwb keeps the line, but not in L1d.",
        ),
        seen("Skylake", "On server parts, which have clwb, clwb evicts the line."),
    ],
    about: "The test moves a number of lines out of the caches, one instruction per line, and ends \
            with a fence that waits for all of them. The horizontal axis is the number of lines; \
            the vertical axis is the time per line. A single flush waits for memory, but several \
            flushes may overlap, so that the time per line can fall with their number. The manual \
            orders `clflush` instructions among each other, but not `clflushopt`. `clwb` writes a \
            line back, and the CPU may keep the line or evict it. A second test loads \
            a line after each instruction; the time of the load tells where the line is.",
    plot: Some(Plot::cycles(Axis::log("lines per fence"), Axis::log("time per line"))),
    cases,
    curves: |e| e.curves_of(|label| !label.starts_with("load ")),
    events: events::CONFLICTS,
    claims: &[
        measured(
            "X4.1",
            ours("whether the flushes of a buffer's lines run one after the other"),
            "flushes by clflushopt overlap: with 128 dirty lines, each takes less than half as \
             long as one line alone",
            |e| {
                let dirty = flushed(Evict::Clflushopt, "dirty");
                let share = ratio(e.at(&dirty, MANY.into()), e.at(&dirty, 1.0))?;
                at_most("a line of 128 over one alone", share, 0.5)
            },
        ),
        measured(
            "X4.2",
            ours("the manual orders clflush instructions among each other, but not clflushopt"),
            "clflush is ordered and clflushopt is not: clflush takes more than 1.1 times as long \
             as clflushopt for 128 dirty lines",
            |e| {
                let of = |by| e.at(&flushed(by, "dirty"), MANY.into());
                let slower = ratio(of(Evict::Clflush), of(Evict::Clflushopt))?;
                at_least("clflush over clflushopt", slower, 1.1)
            },
        )
        .failing("Flushes of both kinds overlap."),
        measured(
            "X4.3",
            ours("whether the write-back of a dirty line takes extra time"),
            "a flush of a dirty line takes longer than a flush of a clean line, which needs no \
             write-back",
            |e| at_least("dirty over clean", one_line(e, "dirty", "clean"), 1.0),
        ),
        measured(
            "X4.4",
            ours("whether a flush is faster if no cache holds the line"),
            "a flush of a line that is in no cache takes less time than a flush of a clean line in \
             L1d",
            |e| at_most("in no cache over clean", one_line(e, "in no cache", "clean"), 1.0),
        )
        .failing("To find out that no cache has the line, a flush asks all of them."),
        measured(
            "X4.5",
            ours("whether flushes really evict lines, which every test of a miss relies on"),
            "a flushed line must come from memory: its load takes at least 0.8 times as long as a \
             load of a line that is in no cache",
            |e| {
                all_of([Evict::Clflush, Evict::Clflushopt].map(|by| {
                    at_least(&format!("share of a miss after {}", by.name()), reloaded(e, by), 0.8)
                }))
            },
        ),
        measured(
            "X4.6",
            ours("the manual leaves open whether clwb keeps the line"),
            "clwb keeps the line in a cache: a load of the line takes less than half as long as a \
             load of a line that is in no cache",
            |e| nearer(e, Evict::Clwb),
        ),
        measured(
            "X4.7",
            ours(
                "the manual describes cldemote as a hint to move a line to an outer cache, not to \
                 memory",
            ),
            "cldemote leaves the line in a cache: a load of the line takes less than half as long \
             as a load of a line that is in no cache",
            |e| nearer(e, Evict::Cldemote),
        ),
        measured(
            "X4.8",
            ours("whether cldemote has an effect"),
            "cldemote moves the line out of L1d: a load of the line takes at least 5 core cycles \
             longer than a hit",
            |e| {
                let (after, before) = (e.at(&reload(Evict::Cldemote), 1.0)?, e.at(CACHED, 1.0)?);
                at_least("core cycles longer", minus(after, before), 5.0)
            },
        ),
    ],
};

fn flushed(by: Evict, state: &str) -> String {
    format!("{}, {state}", by.name())
}

fn reload(by: Evict) -> String {
    format!("load after {} of a dirty line", by.name())
}

fn cases(machine: &Machine) -> Vec<Case> {
    let seed = machine.seed;
    let mut cases = Vec::new();
    let run = |by, state, lines: u32| EvictSetup { by, state, lines: lines as usize, seed };
    cases.push(Case::new("mfence alone", 1, run(None, LineState::Clean, 1)));
    for by in INSTRUCTIONS {
        for (name, state) in STATES {
            let series = flushed(by, name);
            cases.extend(
                LINES.map(|lines| Case::new(series.clone(), lines, run(Some(by), state, lines))),
            );
        }
    }
    let load =
        |series: String, state, then| Case::new(series, 1, ReloadSetup { state, then, seed });
    cases.push(load(ABSENT.to_owned(), LineState::Absent, Then::Nothing));
    cases.push(load(CACHED.to_owned(), LineState::Dirty, Then::Nothing));
    cases.extend(INSTRUCTIONS.map(|by| load(reload(by), LineState::Dirty, Then::Evict(by))));
    cases
}

/// Returns the time of clflush of one line in state `of` divided by that of one in state `to`.
fn one_line(e: &Evidence<'_>, of: &str, to: &str) -> Testable<Interval> {
    let time = |state| e.at(&flushed(Evict::Clflush, state), 1.0);
    ratio(time(of), time(to))
}

/// Returns the share that a load after `by` takes of a load of a line in no cache.
fn reloaded(e: &Evidence<'_>, by: Evict) -> Testable<Interval> {
    signed_ratio(e.at(&reload(by), 1.0)?, e.at(ABSENT, 1.0)?)
}

/// Judges that a load after `by` takes less than half as long as a load of a line in no cache.
fn nearer(e: &Evidence<'_>, by: Evict) -> Judged {
    at_most(&format!("share of a miss after {}", by.name()), reloaded(e, by), 0.5)
}

/// The state of a line in this core's caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineState {
    /// In no cache.
    Absent,
    /// In L1d, not modified.
    Clean,
    /// In L1d, modified.
    Dirty,
}

/// An instruction that moves a line outwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Evict {
    Clflush,
    Clflushopt,
    Clwb,
    Cldemote,
}

/// An instruction with proof that the CPU has it.
#[derive(Clone, Copy)]
enum Proven {
    Clflush,
    Clflushopt(Clflushopt),
    Clwb(Clwb),
    Cldemote(Cldemote),
}

impl Evict {
    pub const fn name(self) -> &'static str {
        match self {
            Evict::Clflush => "clflush",
            Evict::Clflushopt => "clflushopt",
            Evict::Clwb => "clwb",
            Evict::Cldemote => "cldemote",
        }
    }

    fn proven(self, features: Features) -> Testable<Proven> {
        let proven = match self {
            Evict::Clflush => Some(Proven::Clflush),
            Evict::Clflushopt => features.clflushopt().map(Proven::Clflushopt),
            Evict::Clwb => features.clwb().map(Proven::Clwb),
            Evict::Cldemote => features.cldemote().map(Proven::Cldemote),
        };
        proven.ok_or_else(|| Untestable(format!("this CPU has no {}", self.name())))
    }
}

/// The operation on a line in a known state, before the line is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Then {
    Nothing,
    /// The line is moved outwards.
    Evict(Evict),
    /// The whole line is written by four `movntdq`.
    NonTemporalStores,
}

/// Set-up that moves a run of lines outwards. An operation is a line; the shot ends with a fence
/// that waits for all lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EvictSetup {
    /// The instruction; `None` for the fence alone.
    pub by: Option<Evict>,
    pub state: LineState,
    /// Lines per run: 1 to `MANY`.
    pub lines: usize,
    pub seed: u64,
}

/// Set-up of one load of a line with a known past.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReloadSetup {
    /// The state of the line at first.
    pub state: LineState,
    /// The operation on the line, which gets time to take effect.
    pub then: Then,
    pub seed: u64,
}

impl Setup for EvictSetup {
    fn bytes(&self) -> usize {
        BYTES
    }

    fn prepare<'m>(&self, region: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        if !(1..=MANY as usize).contains(&self.lines) {
            return Err(Untestable(format!("a run has 1 to {MANY} lines, not {}", self.lines)));
        }
        let by = self.by.map(|by| by.proven(context.features)).transpose()?;
        Ok(match self.state {
            LineState::Absent => self.shot(region, by, absent),
            LineState::Clean => self.shot(region, by, clean),
            LineState::Dirty => self.shot(region, by, dirty),
        })
    }
}

impl Setup for ReloadSetup {
    fn bytes(&self) -> usize {
        BYTES
    }

    fn prepare<'m>(&self, region: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        let evict = match self.then {
            Then::Evict(by) => Some(by.proven(context.features)?),
            Then::Nothing | Then::NonTemporalStores => None,
        };
        Ok(match self.state {
            LineState::Absent => self.shot(region, evict, absent),
            LineState::Clean => self.shot(region, evict, clean),
            LineState::Dirty => self.shot(region, evict, dirty),
        })
    }
}

/// Leaves the flushed line at byte `line` absent.
fn absent(_: &mut Region<'_>, _: usize) {}

/// Loads the line.
fn clean(region: &mut Region<'_>, line: usize) {
    black_box(region.word(line));
}

/// Modifies the line.
fn dirty(region: &mut Region<'_>, line: usize) {
    region.set_word(line, line as u64);
}

/// A run of lines somewhere in a region. Its type fixes what brings the lines into their state: if a branch
/// chose that, a mispredicted one would load a line that was to stay absent. In some passes every shot did.
struct Lines<'m, B> {
    region: Region<'m>,
    count: usize,
    rng: Rng,
    /// Byte offset of the run.
    at: usize,
    bring: B,
}

impl<'m, B: Fn(&mut Region<'_>, usize)> Lines<'m, B> {
    fn new(region: Region<'m>, count: usize, seed: u64, bring: B) -> Self {
        Lines { region, count, rng: Rng::new(seed), at: 0, bring }
    }

    /// Chooses another run and brings its lines into the state.
    fn choose(&mut self) {
        let places = self.region.len() / LINE - self.count + 1;
        self.at = self.rng.below(places) * LINE;
        self.evict(Proven::Clflush);
        mfence();
        for line in (self.at..self.at + self.count * LINE).step_by(LINE) {
            (self.bring)(&mut self.region, line);
        }
        mfence();
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
}

struct EvictShot<'m, B> {
    lines: Lines<'m, B>,
    by: Option<Proven>,
}

impl EvictSetup {
    fn shot<'m>(
        &self,
        region: Region<'m>,
        by: Option<Proven>,
        bring: impl Fn(&mut Region<'_>, usize) + 'm,
    ) -> Workload<'m> {
        let lines = Lines::new(region, self.lines, self.seed, bring);
        Workload::shot(EvictShot { lines, by }, Work::default())
    }
}

impl<B: Fn(&mut Region<'_>, usize)> Shot for EvictShot<'_, B> {
    fn prepare(&mut self) {
        self.lines.choose();
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

struct ReloadShot<'m, B> {
    lines: Lines<'m, B>,
    evict: Option<Proven>,
    stream: bool,
}

impl ReloadSetup {
    fn shot<'m>(
        &self,
        region: Region<'m>,
        evict: Option<Proven>,
        bring: impl Fn(&mut Region<'_>, usize) + 'm,
    ) -> Workload<'m> {
        let shot = ReloadShot {
            lines: Lines::new(region, 1, self.seed, bring),
            evict,
            stream: self.then == Then::NonTemporalStores,
        };
        Workload::shot(shot, Work::default().load(1, 8))
    }
}

impl<B: Fn(&mut Region<'_>, usize)> Shot for ReloadShot<'_, B> {
    fn prepare(&mut self) {
        self.lines.choose();
        if let Some(by) = self.evict {
            self.lines.evict(by);
        }
        if self.stream {
            let at = self.lines.at;
            stream_line(&mut self.lines.region.bytes_mut()[at..at + LINE]);
        }
        mfence();
        settle();
    }

    fn shoot(&mut self) -> u64 {
        self.lines.region.word(self.lines.at)
    }
}
