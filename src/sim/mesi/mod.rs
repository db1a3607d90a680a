//! Coherent caches of several cores, and the messages that coherence takes.
//!
//! The caches have no capacity limit, so the counts show the cost of sharing alone.

mod table;

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Sub;

pub use table::{Event, Protocol, Request, State, Transition};

/// Messages between cores and memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Messages {
    /// Requests for a line in order to read it.
    pub reads: u64,
    /// Requests for a line in order to write it: RFO.
    pub owns: u64,
    /// Announcements of a write to a line that the writer already holds: RFO that moves no data.
    pub announcements: u64,
    /// Copies invalidated because another core writes.
    pub invalidations: u64,
    /// Lines sent from one cache to another.
    pub transfers: u64,
    /// Lines read from memory.
    pub from_memory: u64,
    /// Lines written to memory.
    pub write_backs: u64,
}

impl Messages {
    /// Returns the number of requests of all kinds, which the other cores must snoop.
    pub const fn requests(&self) -> u64 {
        self.reads + self.owns + self.announcements
    }

    /// Returns the number of requests that announce a write.
    pub const fn rfos(&self) -> u64 {
        self.owns + self.announcements
    }
}

impl Sub for Messages {
    type Output = Self;

    /// Returns the messages sent since `before`.
    fn sub(self, before: Self) -> Self {
        Messages {
            reads: self.reads - before.reads,
            owns: self.owns - before.owns,
            announcements: self.announcements - before.announcements,
            invalidations: self.invalidations - before.invalidations,
            transfers: self.transfers - before.transfers,
            from_memory: self.from_memory - before.from_memory,
            write_backs: self.write_backs - before.write_backs,
        }
    }
}

/// A rule of Drepper 3.2 that a line violates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Broken {
    /// A line that one cache holds exclusively is in another cache too.
    NotAlone,
    /// A clean copy differs from memory.
    NotAsInMemory,
}

/// One core's copy of a line.
#[derive(Clone, Copy, Debug)]
struct Copy {
    state: State,
    /// The value written last into the copy.
    value: u64,
}

/// One line: memory's value and every core's copy.
#[derive(Clone, Debug)]
struct Line {
    memory: u64,
    copies: Vec<Copy>,
}

/// The caches of several cores.
///
/// A line holds one number, so that a test can check that a read returns the value written last.
///
/// ```
/// use linefill::sim::mesi::{Mesi, Protocol, State};
///
/// let mut caches = Mesi::new(Protocol::MESI, 2);
/// caches.write(0, 7, 42);
/// assert_eq!(caches.read(1, 7), 42);
/// assert_eq!(caches.state(0, 7), State::Shared);
/// assert_eq!(caches.messages().transfers, 1);
/// ```
#[derive(Clone, Debug)]
pub struct Mesi {
    protocol: Protocol,
    cores: usize,
    lines: BTreeMap<u64, Line>,
    messages: Messages,
}

impl Mesi {
    /// Returns the empty caches of `cores` cores.
    pub fn new(protocol: Protocol, cores: usize) -> Self {
        Mesi { protocol, cores, lines: BTreeMap::new(), messages: Messages::default() }
    }

    /// Returns caches of which the first has `line` in `state`; if the state is S, all others share the line.
    #[doc(hidden)]
    pub fn in_state(protocol: Protocol, cores: usize, line: u64, state: State) -> Self {
        let mut caches = Mesi::new(protocol, cores);
        match state {
            State::Modified => drop(caches.write(0, line, 1)),
            State::Exclusive => drop(caches.read(0, line)),
            State::Shared => {
                for core in 0..cores {
                    caches.read(core, line);
                }
            }
            State::Invalid => {}
        }
        caches
    }

    /// Makes `event` of the first cache happen to `line`, and returns the first cache's state and the messages.
    /// Remote reads and writes come from the second cache.
    #[doc(hidden)]
    pub fn happen(&mut self, event: Event, line: u64) -> (State, Messages) {
        let before = self.messages;
        match event {
            Event::LocalRead => drop(self.read(0, line)),
            Event::LocalWrite => drop(self.write(0, line, 2)),
            Event::RemoteRead => drop(self.read(1, line)),
            Event::RemoteWrite => drop(self.write(1, line, 2)),
        }
        (self.state(0, line), self.messages - before)
    }

    /// Returns the messages sent so far.
    pub fn messages(&self) -> Messages {
        self.messages
    }

    /// Returns the state of a line in a core's cache.
    ///
    /// # Panics
    /// If `core` does not exist.
    pub fn state(&self, core: usize, line: u64) -> State {
        assert!(core < self.cores, "core {core} of {}", self.cores);
        let line = self.lines.get(&line);
        line.map_or(State::Invalid, |line| line.copies[core].state)
    }

    /// Reads a line on a core, and returns its value.
    ///
    /// # Panics
    /// If `core` does not exist.
    pub fn read(&mut self, core: usize, line: u64) -> u64 {
        self.local(core, line, Event::LocalRead).value
    }

    /// Writes a line on a core, as a store or an atomic operation, and returns the previous value.
    ///
    /// # Panics
    /// If `core` does not exist.
    pub fn write(&mut self, core: usize, line: u64, value: u64) -> u64 {
        let copy = self.local(core, line, Event::LocalWrite);
        core::mem::replace(&mut copy.value, value)
    }

    /// Evicts a line from a core's cache, and writes it to memory if it is modified.
    ///
    /// # Panics
    /// If `core` does not exist.
    pub fn evict(&mut self, core: usize, line: u64) {
        assert!(core < self.cores, "core {core} of {}", self.cores);
        let Some(line) = self.lines.get_mut(&line) else { return };
        let copy = &mut line.copies[core];
        if copy.state == State::Modified {
            line.memory = copy.value;
            self.messages.write_backs += 1;
        }
        copy.state = State::Invalid;
    }

    /// Returns the first rule that a line violates, if there is one.
    pub fn broken(&self, line: u64) -> Option<Broken> {
        let line = self.lines.get(&line)?;
        let present = || line.copies.iter().filter(|c| c.state != State::Invalid);
        if present().any(|copy| copy.state.sole()) && present().count() > 1 {
            return Some(Broken::NotAlone);
        }
        let clean = |copy: &&Copy| copy.state != State::Modified;
        let stale = present().filter(clean).any(|c| c.value != line.memory);
        stale.then_some(Broken::NotAsInMemory)
    }

    /// Performs a read or write of `core` with its requests, and returns the core's copy afterwards.
    fn local(&mut self, core: usize, line: u64, event: Event) -> &mut Copy {
        let cores = self.cores;
        assert!(core < cores, "core {core} of {cores}");
        let line = self.lines.entry(line).or_insert_with(|| Line {
            memory: 0,
            copies: vec![Copy { state: State::Invalid, value: 0 }; cores],
        });
        let transition = self.protocol.on(line.copies[core].state, event);
        let asked = match transition.request {
            Request::None => None,
            Request::Read => Some((Event::RemoteRead, &mut self.messages.reads)),
            Request::Own => Some((Event::RemoteWrite, &mut self.messages.owns)),
            Request::Announce => Some((Event::RemoteWrite, &mut self.messages.announcements)),
        };
        // The other cores answer before this core goes on.
        let mut shared = line.others(core);
        if let Some((remote, count)) = asked {
            *count += 1;
            let sent = line.snoop(core, remote, &self.protocol, &mut self.messages);
            if transition.request != Request::Announce {
                line.copies[core].value = match sent {
                    Some(value) => {
                        self.messages.transfers += 1;
                        value
                    }
                    None => {
                        self.messages.from_memory += 1;
                        line.memory
                    }
                };
            }
            shared = line.others(core);
        }
        let copy = &mut line.copies[core];
        copy.state = if shared { transition.shared } else { transition.alone };
        copy
    }
}

impl Line {
    /// Returns whether a core other than `core` has a copy.
    fn others(&self, core: usize) -> bool {
        let mut copies = self.copies.iter().enumerate();
        copies.any(|(other, copy)| other != core && copy.state != State::Invalid)
    }

    /// Makes the other cores answer a request of `core`; returns the line's value if one of them sent
    /// it.
    fn snoop(
        &mut self,
        core: usize,
        event: Event,
        protocol: &Protocol,
        messages: &mut Messages,
    ) -> Option<u64> {
        let mut sent = None;
        for (other, copy) in self.copies.iter_mut().enumerate() {
            if other == core || copy.state == State::Invalid {
                continue;
            }
            let answer = protocol.on(copy.state, event);
            if answer.sends {
                sent = Some(copy.value);
            }
            if answer.writes_back {
                self.memory = copy.value;
                messages.write_backs += 1;
            }
            copy.state = answer.shared;
            messages.invalidations += u64::from(copy.state == State::Invalid);
        }
        sent
    }
}
