//! Lines that another core's cache holds in a known state, and the first access to them.

// Flushes lines by address.
#![allow(unsafe_code)]

use crate::cpu::{clflush, mfence};
use crate::experiment::prelude::*;
use crate::host::{Guard, Host, Lack};
use crate::kernel::{APART, Work};
use crate::measure::Shot;
use crate::mem::{LINE, Region};
use crate::pattern::Rng;
use alloc::sync::Arc;
use core::sync::atomic::{AtomicU64, Ordering};

/// Where the lines are, and in which state of the MESI protocol, before they are accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Held {
    /// Modified in the measuring core's own cache.
    Own,
    /// In no cache.
    Nowhere,
    /// Modified in the other core's cache.
    Modified,
    /// Clean in the other core's cache, and in no other.
    Exclusive,
    /// Clean in the measuring core's cache and in all others.
    Shared,
}

/// The access that is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Want {
    /// To read the line: a load.
    Read,
    /// To own it: a locked addition. A core may begin the next one before it owns the line (Zen 5
    /// does), so that additions one after the other show what a program sees of their throughput.
    /// If the core has a copy of the line, it has the value and thus the next address, and the
    /// latency of the upgrade does not show.
    Own,
    /// The same with an `mfence` after it, so that nothing begins before the line is owned: the
    /// latency of a transfer or of an upgrade, plus the fence.
    OwnFenced,
}

/// Accesses to lines that other cores hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RemoteSetup {
    /// Which core holds them.
    pub held: Held,
    /// What is timed.
    pub want: Want,
    /// The CPUs of the others.
    pub others: Vec<usize>,
    /// Decides in which order the lines are accessed.
    pub seed: u64,
}

static TRANSFER: Model = Model {
    name: "the latency of the place of the line",
    basis: Basis::Calibration,
    bar: 0.25,
    leaves_out: "the advantage of a load that needs only a copy",
};

/// Lines of one shot: few enough for every L1d.
pub(crate) const LINES: usize = 64;

/// A line whose first word is the number of the next to be accessed.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct Line([AtomicU64; LINE / 8]);

/// The request of the measuring thread to the others; the bits above count the requests.
#[derive(Clone, Copy)]
#[repr(u64)]
pub(crate) enum Ask {
    Read = 0,
    Write = 1,
}

/// The state that all threads share: each part on its own lines.
#[derive(Debug)]
pub(crate) struct Table {
    lines: Box<[Line]>,
    request: Line,
    done: Line,
}

impl Table {
    pub(crate) fn new(seed: u64) -> Self {
        let lines: Box<[Line]> = (0..LINES * APART).map(|_| Line::default()).collect();
        let mut order: Vec<usize> = (0..LINES).map(|number| number * APART).collect();
        let mut rng = Rng::new(seed);
        for place in (2..LINES).rev() {
            // The first stays, because a shot begins there.
            order.swap(place, 1 + rng.below(place));
        }
        for (place, &from) in order.iter().enumerate() {
            let to = order[(place + 1) % LINES];
            lines[from].0[0].store(to as u64, Ordering::Relaxed);
        }
        Table {
            lines,
            request: Line::default(),
            done: Line::default(),
        }
    }

    /// All lines. Every [`APART`]th is accessed.
    pub(crate) fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// The words that are accessed.
    fn words(&self) -> impl Iterator<Item = &AtomicU64> {
        self.lines.iter().step_by(APART).map(|line| &line.0[0])
    }

    /// Reads them all, and returns their sum.
    pub(crate) fn read(&self) -> u64 {
        self.words().map(|word| word.load(Ordering::Relaxed)).sum()
    }

    /// Modifies them all, and leaves them as they are.
    pub(crate) fn write(&self) {
        for word in self.words() {
            add_nothing(word);
        }
    }

    /// Another thread's step: does what is requested, if the request differs from `seen`.
    fn serve(&self, seen: &mut u64) {
        let request = self.request.0[0].load(Ordering::Acquire);
        if request == *seen {
            core::hint::spin_loop();
            return;
        }
        *seen = request;
        if request & 1 == Ask::Write as u64 {
            self.write();
        } else {
            core::hint::black_box(self.read());
        }
        self.done.0[0].fetch_add(1, Ordering::AcqRel);
    }
}

/// `lock xadd` of 0: leaves the word unchanged and its line modified. Compilers replace an addition
/// of a known 0 by a load.
#[inline]
fn add_nothing(word: &AtomicU64) -> u64 {
    word.fetch_add(core::hint::black_box(0), Ordering::Relaxed)
}

/// The other threads, as the measuring one sees them.
pub(crate) struct Others {
    table: Arc<Table>,
    others: Vec<Box<dyn Guard>>,
    requests: u64,
}

impl Others {
    /// Starts a thread on each of `cpus`.
    pub(crate) fn start(host: &dyn Host, table: &Arc<Table>, cpus: &[usize]) -> Result<Self, Lack> {
        let other = |&cpu: &usize| {
            let table = Arc::clone(table);
            let mut seen = 0;
            host.partner(cpu, Box::new(move || table.serve(&mut seen)))
        };
        Ok(Others {
            others: cpus.iter().map(other).collect::<Result<_, _>>()?,
            table: Arc::clone(table),
            requests: 0,
        })
    }

    /// Requests something of the others, and waits until they have done it.
    pub(crate) fn ask(&mut self, ask: Ask) {
        let before = self.table.done.0[0].load(Ordering::Relaxed);
        self.requests += 1;
        let request = self.requests << 1 | ask as u64;
        self.table.request.0[0].store(request, Ordering::Release);
        let all = before + self.others.len() as u64;
        while self.table.done.0[0].load(Ordering::Acquire) < all {
            core::hint::spin_loop();
        }
    }
}

/// The measuring thread's side.
struct Remote {
    table: Arc<Table>,
    others: Others,
    held: Held,
    want: Want,
}

impl Remote {
    /// Starts the others.
    fn new(host: &dyn Host, setup: &RemoteSetup) -> Result<Self, Lack> {
        let table = Arc::new(Table::new(setup.seed));
        Ok(Remote {
            others: Others::start(host, &table, &setup.others)?,
            table,
            held: setup.held,
            want: setup.want,
        })
    }

    fn flush(&self) {
        for word in self.table.words() {
            // SAFETY: the word is a reference's, so it can be loaded.
            unsafe { clflush(word.as_ptr().cast()) };
        }
        mfence();
    }
}

impl Shot for Remote {
    fn prepare(&mut self) {
        self.flush();
        match self.held {
            Held::Own => self.table.write(),
            Held::Nowhere => {}
            Held::Modified => self.others.ask(Ask::Write),
            Held::Exclusive => self.others.ask(Ask::Read),
            Held::Shared => {
                core::hint::black_box(self.table.read());
                self.others.ask(Ask::Read);
            }
        }
        mfence();
    }

    /// Returns the number of the line after the last.
    fn shoot(&mut self) -> u64 {
        let lines = &*self.table.lines;
        let mut at = 0;
        for _ in 0..LINES {
            let word = &lines[at as usize % lines.len()].0[0];
            at = match self.want {
                Want::Read => word.load(Ordering::Relaxed),
                Want::Own => add_nothing(word),
                Want::OwnFenced => {
                    let next = add_nothing(word);
                    mfence();
                    next
                }
            };
        }
        at
    }

    fn operations(&self) -> u64 {
        LINES as u64
    }
}

impl Setup for RemoteSetup {
    /// None of the region: the lines lie in memory that the threads own together.
    fn bytes(&self) -> usize {
        0
    }

    fn prepare<'m>(&self, _: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        // Two threads of one CPU would wait for the scheduler.
        let host = context.host;
        if host
            .current_cpu()
            .is_some_and(|cpu| self.others.contains(&cpu))
        {
            return Err(Untestable(
                "the other threads need another CPU than the measuring thread".into(),
            ));
        }
        let stores = u32::from(self.want != Want::Read);
        Ok(Workload::shot(
            Remote::new(host, self)?,
            Work {
                loads: 1,
                stores,
                bytes_read: 8,
                bytes_written: 8 * stores,
                ..Work::default()
            },
        ))
    }

    /// Predicts a load: of an uncached line from memory, of another core's line by half a round trip. A
    /// hit in the own cache is too short beside the fences of a shot.
    fn predict(&self, parameters: &Parameters<'_>) -> Option<Forecast> {
        (self.want == Want::Read).then_some(())?;
        match self.held {
            Held::Nowhere => Some(Forecast {
                own_quantity: true,
                ..TRANSFER.forecast(parameters.memory()?)
            }),
            Held::Modified | Held::Exclusive => {
                Some(TRANSFER.forecast(parameters.round_trip()? / 2.0))
            }
            Held::Own | Held::Shared => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Linux;
    use crate::os::allowed;

    /// Every line is accessed once, whichever core had it.
    #[test]
    fn a_shot_goes_once_around_all_lines_in_every_state() {
        let cpus = allowed();
        for held in [
            Held::Own,
            Held::Nowhere,
            Held::Modified,
            Held::Exclusive,
            Held::Shared,
        ] {
            for want in [Want::Read, Want::Own, Want::OwnFenced] {
                let setup = RemoteSetup {
                    held,
                    want,
                    others: vec![cpus[0]],
                    seed: 3,
                };
                let mut remote = Remote::new(&Linux, &setup).unwrap();
                remote.prepare();
                assert_eq!(remote.shoot(), 0, "the last line leads to the first");
                let mut seen = [false; LINES];
                let mut at = 0;
                for _ in 0..LINES {
                    assert!(!core::mem::replace(&mut seen[at / APART], true));
                    at = remote.table.lines[at].0[0].load(Ordering::Relaxed) as usize;
                }
            }
        }
    }
}
