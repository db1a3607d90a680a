//! Events by the names that the vendors print.
//!
//! The tables list the events that say something about memory: cycles, instructions, branches,
//! caches, TLBs, fill buffers, prefetches, the front end and machine clears. They are text of
//! some 50 KiB that is searched line by line, since one looks an event up once.

mod row;
mod unknown;

use super::{Encoding, Microarch};
use row::Row;
pub use unknown::UnknownEvent;

/// A line for an event and the cores that encode it alike; sorted by name. Generated once from
/// the files that [`Microarch::source`] names.
const TABLES: [&str; 3] = [
    include_str!("intel_core.csv"),
    include_str!("intel_atom.csv"),
    include_str!("amd.csv"),
];

/// An event of a core: what its vendor calls it, how it is selected, and which counters count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventCode {
    /// The vendor's name, such as `L1D_PEND_MISS.PENDING` or `ls_mab_alloc.loads`.
    pub name: &'static str,
    /// The core that counts it.
    pub microarch: Microarch,
    /// What selects it in a general counter.
    pub encoding: Encoding,
    /// The general counters that count it, a bit each; all bits if any does, 0 if none.
    pub counters: u32,
    /// The fixed counter that counts the same.
    pub fixed: Option<u8>,
}

impl EventCode {
    /// Where the encoding comes from; see [`Microarch::source`].
    pub const fn source(&self) -> &'static str {
        self.microarch.source()
    }
}

/// The event that `name` means on a core. Case and underscores do not matter, so that AMD's
/// `LsMabAlloc` and perf's `ls_mab_alloc` are one.
///
/// # Errors
/// If the table of that core has no such event; the error says what it has instead.
pub fn event(name: &str, microarch: Microarch) -> Result<EventCode, UnknownEvent> {
    find(name, microarch).ok_or_else(|| UnknownEvent::new(name, microarch))
}

/// The same for those who do not ask why there is none.
pub(super) fn find(name: &str, microarch: Microarch) -> Option<EventCode> {
    rows_of(name).find_map(|row| on(microarch, &row))
}

/// All events of a core, by name.
pub fn events(microarch: Microarch) -> impl Iterator<Item = EventCode> {
    lines()
        .filter_map(Row::parse)
        .filter_map(move |row| on(microarch, &row))
}

/// What a row says of a core, if anything.
fn on(microarch: Microarch, row: &Row) -> Option<EventCode> {
    row.cores()
        .any(|mark| mark == microarch.mark())
        .then_some(EventCode {
            name: row.name,
            microarch,
            encoding: row.encoding,
            counters: row.counters,
            fixed: row.fixed,
        })
}

/// The rows of one name. Only their lines are read to the end.
fn rows_of(name: &str) -> impl Iterator<Item = Row> {
    let named = move |line: &&str| {
        let begins = letters(line).next() == letters(name).next();
        begins && line.split(',').next().is_some_and(|here| same(here, name))
    };
    lines().filter(named).filter_map(Row::parse)
}

fn lines() -> impl Iterator<Item = &'static str> {
    TABLES.into_iter().flat_map(str::lines)
}

/// The letters of a name that matter.
fn letters(name: &str) -> impl Iterator<Item = u8> {
    let matters = name.bytes().filter(|byte| *byte != b'_');
    matters.map(|byte| byte.to_ascii_uppercase())
}

fn same(one: &str, other: &str) -> bool {
    letters(one).eq(letters(other))
}
