//! Lines that another core's cache holds in a known state, and the first access to them.

// Flushes lines by address, and follows addresses from line to line.
#![allow(unsafe_code)]

use crate::cpu::{clflush, mfence};
use crate::experiment::prelude::*;
use crate::host::{Guard, Host, Lack};
use crate::kernel::{APART, Work};
use crate::measure::Shot;
use crate::pattern::Rng;
use alloc::sync::Arc;
use core::ptr::with_exposed_provenance;
use core::sync::atomic::{AtomicU64, Ordering};

/// Where the lines are before they are accessed, and in which state of the MESI protocol.
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

/// The timed access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Want {
    /// A load, which needs the line only for reading.
    Read,
    /// A locked addition, which needs ownership of the line. A core may begin the next addition before
    /// it owns the line (Zen 5 does), so consecutive additions show the throughput that a program sees.
    /// If the core has a copy of the line, it has the value and therefore the next address, and the
    /// latency of the upgrade does not show.
    Own,
    /// A locked addition followed by an `mfence`, so that nothing begins before the line is owned. Shows
    /// the latency of a transfer or of an upgrade, plus the fence.
    OwnFenced,
}

/// Accesses to lines that other cores hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RemoteSetup {
    pub held: Held,
    pub want: Want,
    pub others: Vec<usize>,
}

static TRANSFER: Model = Model {
    name: "the latency of the place of the line",
    basis: Basis::Calibration,
    bar: 0.25,
    leaves_out: "the advantage of a load that needs only a copy",
};

/// Lines per shot: few enough for every L1d.
pub(crate) const LINES: usize = 64;

/// A line whose first word is the address of the first word of the next line to access. A number would
/// have to become an address first, and this arithmetic would count as a part of each access.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct Line([AtomicU64; LINE / 8]);

/// The request of the measuring thread to the others, in the lowest bit. The bits above count the
/// requests.
#[derive(Clone, Copy)]
#[repr(u64)]
pub(crate) enum Ask {
    Read = 0,
    Write = 1,
}

/// The state that all threads share. Each part has its own lines.
#[derive(Debug)]
pub(crate) struct Table {
    /// A vector, because its lines keep the exposed addresses when it moves.
    lines: Vec<Line>,
    request: Line,
    done: Line,
}

impl Table {
    /// Returns lines that lead to one another in random order.
    pub(crate) fn new() -> Self {
        let lines: Vec<Line> = (0..LINES * APART).map(|_| Line::default()).collect();
        let mut order: Vec<usize> = (0..LINES).map(|number| number * APART).collect();
        let mut rng = Rng::new(1);
        for place in (2..LINES).rev() {
            // The first line stays in place, because a shot begins there.
            order.swap(place, 1 + rng.below(place));
        }
        for (place, &from) in order.iter().enumerate() {
            let to = &lines[order[(place + 1) % LINES]].0[0];
            lines[from].0[0].store(address(to), Ordering::Relaxed);
        }
        Table { lines, request: Line::default(), done: Line::default() }
    }

    /// Returns all lines. Every [`APART`]th line is accessed.
    pub(crate) fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// Returns the words that are accessed.
    fn words(&self) -> impl Iterator<Item = &AtomicU64> {
        self.lines.iter().step_by(APART).map(|line| &line.0[0])
    }

    /// Reads all accessed words, and returns their sum.
    pub(crate) fn read(&self) -> u64 {
        self.words().map(|word| word.load(Ordering::Relaxed)).sum()
    }

    /// Modifies the lines of all accessed words without changing the values.
    pub(crate) fn write(&self) {
        for word in self.words() {
            add_nothing(word);
        }
    }

    /// Does one step of another thread: carries out the request, if it differs from `seen`.
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

/// Returns the address of a word, which may then be followed.
fn address(word: &AtomicU64) -> u64 {
    word.as_ptr().expose_provenance() as u64
}

/// Does a `lock xadd` of 0, which leaves the word unchanged and its line modified. The 0 is hidden
/// because compilers replace an addition of a known 0 by a load.
#[inline]
fn add_nothing(word: &AtomicU64) -> u64 {
    word.fetch_add(core::hint::black_box(0), Ordering::Relaxed)
}

/// The other threads, as seen by the measuring thread.
pub(crate) struct Others {
    table: Arc<Table>,
    others: Vec<Box<dyn Guard>>,
    requests: u64,
}

impl Others {
    pub(crate) fn start(host: &dyn Host, table: &Arc<Table>, cpus: &[usize]) -> Result<Self, Lack> {
        let other = |&cpu: &usize| {
            let table = Arc::clone(table);
            let mut seen = 0;
            host.background_thread(cpu, Box::new(move || table.serve(&mut seen)))
        };
        Ok(Others {
            others: cpus.iter().map(other).collect::<Result<_, _>>()?,
            table: Arc::clone(table),
            requests: 0,
        })
    }

    /// Sends a request to the other threads, and waits until all have carried it out.
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

struct Remote {
    table: Arc<Table>,
    others: Others,
    held: Held,
    want: Want,
}

impl Remote {
    fn new(host: &dyn Host, setup: &RemoteSetup) -> Result<Self, Lack> {
        let table = Arc::new(Table::new());
        let others = Others::start(host, &table, &setup.others)?;
        Ok(Remote { table, others, held: setup.held, want: setup.want })
    }

    fn flush(&self) {
        for word in self.table.words() {
            // SAFETY: the word is borrowed, so its address can be loaded.
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

    /// Returns the address of the word after the last one accessed.
    fn shoot(&mut self) -> u64 {
        let mut at = address(&self.table.lines[0].0[0]);
        for _ in 0..LINES {
            // SAFETY: every accessed word holds the address of another one of the table, which lives as
            // long as `self`. All threads only read the words of this table or add 0 to them.
            let word = unsafe { &*with_exposed_provenance::<AtomicU64>(at as usize) };
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
    // Needs no region: the lines lie in memory that the threads own together.
    fn prepare<'m>(&self, _: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        // Two threads on one CPU would wait for the scheduler.
        let host = context.host;
        if host.current_cpu().is_some_and(|cpu| self.others.contains(&cpu)) {
            return Err(Untestable(
                "the other threads need another CPU than the measuring thread".into(),
            ));
        }
        let stores = u32::from(self.want != Want::Read);
        Ok(Workload::shot(Remote::new(host, self)?, Work::default().load(1, 8).store(stores, 8)))
    }

    /// Predicts a load: of an uncached line from the latency of memory, of another core's line from half
    /// a round trip. A hit in the core's own cache is too short to predict beside the fences of a shot.
    fn predict(&self, parameters: &Parameters<'_>) -> Option<Forecast> {
        (self.want == Want::Read).then_some(())?;
        match self.held {
            Held::Nowhere => {
                Some(Forecast { own_quantity: true, ..TRANSFER.forecast(parameters.memory()?) })
            }
            Held::Modified | Held::Exclusive => {
                Some(TRANSFER.forecast(parameters.round_trip()? / 2.0))
            }
            Held::Own | Held::Shared => None,
        }
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use crate::experiment::Linux;
    use crate::os::allowed;

    /// Every line is accessed once, whichever core held it.
    #[test]
    fn a_shot_goes_once_around_all_lines_in_every_state() {
        let cpus = allowed();
        for held in [Held::Own, Held::Nowhere, Held::Modified, Held::Exclusive, Held::Shared] {
            for want in [Want::Read, Want::Own, Want::OwnFenced] {
                let setup = RemoteSetup { held, want, others: vec![cpus[0]] };
                let mut remote = Remote::new(&Linux, &setup).unwrap();
                remote.prepare();
                // The loaded word is the next address: nothing is computed between two loads.
                let lines = &remote.table.lines;
                let words: Vec<u64> = lines.iter().map(|line| address(&line.0[0])).collect();
                let mut seen = [false; LINES];
                let mut at = words[0];
                for _ in 0..LINES {
                    let line = words.iter().position(|word| *word == at).unwrap();
                    assert_eq!(line % APART, 0);
                    assert!(!core::mem::replace(&mut seen[line / APART], true));
                    at = lines[line].0[0].load(Ordering::Relaxed);
                }
                assert_eq!(remote.shoot(), at);
                assert_eq!(at, words[0], "the last line leads to the first");
            }
        }
    }
}
