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
    /// Bytes that pass.
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
        for line in (0..bytes.len()).step_by(LINE) {
            if let Some(ahead) = bytes.get(line + AHEAD * LINE) {
                hint(ahead);
            }
            black_box(bytes[line]);
        }
    }

    fn shoot(&mut self) -> u64 {
        self.walk.run(self.lap)
    }
}
