//! What is left of a hot set after other data passed through.

use core::hint::black_box;

use crate::cpu::{prefetchnta, prefetcht0};
use crate::experiment::{Context, Setup, Subject, Untestable};
use crate::kernel::{Kernel, Step, Walk, Work};
use crate::measure::Shot;
use crate::mem::{LINE, Region};
use crate::pattern::{Layout, Order, Ring};

/// How the other data pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Passage {
    /// Not at all.
    Nothing,
    /// Each line prefetched with `prefetcht0` some lines ahead, then loaded.
    T0,
    /// Each line prefetched with `prefetchnta` some lines ahead, then loaded.
    Nta,
}

/// A hot ring that fits a cache, and lines that pass between two laps of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PollutionSetup {
    /// Bytes of the hot ring.
    pub hot: usize,
    /// Bytes that pass: a power of two.
    pub passing: usize,
    /// How they pass.
    pub passage: Passage,
    /// Decides the order of the ring.
    pub seed: u64,
}

/// How many lines ahead of its load a passing line is prefetched.
const AHEAD: usize = 16;

impl Setup for PollutionSetup {
    fn bytes(&self) -> usize {
        self.hot.next_multiple_of(LINE) + self.passing
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Result<Subject<'m>, Untestable> {
        let layout = Layout::npad(7);
        let laps = layout.count(self.hot);
        let (hot, passing) = region
            .split(self.hot)
            .ok_or_else(|| Untestable("no room for lines that pass".to_owned()))?;
        let order = Order::Random { seed: self.seed };
        let ring = Ring::new(hot, layout, laps, order).map_err(Untestable::because)?;
        let walk = Walk::new(ring, Step::Follow).map_err(Untestable::because)?;
        let loads = laps as u32;
        Ok(Subject::Shot {
            shot: Box::new(PollutionShot {
                walk,
                lap: laps as u64,
                passing,
                passage: self.passage,
            }),
            work: Work {
                loads,
                bytes_read: loads * 8,
                ..Work::default()
            },
        })
    }
}

/// Byte offset of the line that passes as number `index`, round and round.
///
/// The lines pass in an order that no hardware prefetcher follows: those fetch into L2 whatever
/// the hint says. The step is 0.618 of the whole, so that neighbours in time are never neighbours
/// in memory, and odd, so that it meets every line of a power of two.
fn scattered(index: usize, lines: usize) -> usize {
    let step = (lines as f64 * 0.618) as usize | 1;
    index.wrapping_mul(step) % lines * LINE
}

struct PollutionShot<'m> {
    walk: Walk<'m>,
    lap: u64,
    passing: Region<'m>,
    passage: Passage,
}

impl Shot for PollutionShot<'_> {
    fn prepare(&mut self) {
        black_box(self.walk.run(2 * self.lap));
        let hint: fn(*const u8) = match self.passage {
            Passage::Nothing => return,
            Passage::T0 => |line| prefetcht0(line),
            Passage::Nta => |line| prefetchnta(line),
        };
        let bytes = self.passing.bytes();
        let lines = bytes.len() / LINE;
        for index in 0..lines {
            hint(&raw const bytes[scattered(index + AHEAD, lines)]);
            black_box(bytes[scattered(index, lines)]);
        }
    }

    fn shoot(&mut self) -> u64 {
        self.walk.run(self.lap)
    }
}
