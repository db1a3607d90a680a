//! Events under the names that the vendors publish.
//!
//! The tables list the events that concern memory: cycles, instructions, branches, caches, TLBs, fill
//! buffers, prefetches, the front end and machine clears. They are about 50 KiB of text, searched line
//! by line, because an event is looked up only once.

use core::fmt;

use super::{Encoding, Microarch};
use crate::cpu::Text;

/// The tables, sorted by name: one line per event and group of cores that encode it alike. Generated
/// once from the files that [`Microarch::source`] names.
const TABLES: [&str; 3] = [
    include_str!("events/intel_core.csv"),
    include_str!("events/intel_atom.csv"),
    include_str!("events/amd.csv"),
];

/// An event of a core: the vendor's name, the encoding, and the counters that can count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventCode {
    /// The vendor's name, such as `L1D_PEND_MISS.PENDING` or `ls_mab_alloc.loads`.
    pub name: &'static str,
    /// The core that counts it.
    pub microarch: Microarch,
    /// The encoding for a general counter.
    pub encoding: Encoding,
    /// Mask of the general counters that can count the event: all bits if any of them can, 0 if none
    /// can.
    pub counters: u32,
    /// The fixed counter that counts the same event.
    pub fixed: Option<u8>,
}

impl EventCode {
    /// Returns the source of the encoding; see [`Microarch::source`].
    pub const fn source(&self) -> &'static str {
        self.microarch.source()
    }
}

/// Returns the event called `name` on a core. Case and underscores do not matter: AMD's `LsMabAlloc` and
/// perf's `ls_mab_alloc` are the same name.
///
/// # Errors
/// If the table of that core has no such event. The error gives the nearest name that it has.
pub fn event(name: &str, microarch: Microarch) -> Result<EventCode, UnknownEvent> {
    find(name, microarch).ok_or_else(|| UnknownEvent::new(name, microarch))
}

/// Like [`event`], but returns `None` instead of an error.
pub(super) fn find(name: &str, microarch: Microarch) -> Option<EventCode> {
    rows_of(name).find_map(|row| on(microarch, &row))
}

/// Returns all events of a core, sorted by name.
pub fn events(microarch: Microarch) -> impl Iterator<Item = EventCode> {
    lines().filter_map(Row::parse).filter_map(move |row| on(microarch, &row))
}

/// Returns the event of a row if the row applies to this core.
fn on(microarch: Microarch, row: &Row) -> Option<EventCode> {
    row.cores().any(|mark| mark == microarch.mark()).then_some(EventCode {
        name: row.name,
        microarch,
        encoding: row.encoding,
        counters: row.counters,
        fixed: row.fixed,
    })
}

/// Returns the rows of one name. Only the lines with this name are parsed in full.
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

/// Returns the significant bytes of a name: upper-case, without underscores.
fn letters(name: &str) -> impl Iterator<Item = u8> {
    let matters = name.bytes().filter(|byte| *byte != b'_');
    matters.map(|byte| byte.to_ascii_uppercase())
}

fn same(one: &str, other: &str) -> bool {
    letters(one).eq(letters(other))
}

/// A line of a table: an event with its encoding on one or more cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    pub name: &'static str,
    pub encoding: Encoding,
    /// Mask of the general counters that can count the event.
    pub counters: u32,
    pub fixed: Option<u8>,
    /// Marks of the cores, separated by spaces.
    cores: &'static str,
}

impl Row {
    /// Parses a line; `None` if it is not a row of a table.
    pub fn parse(line: &'static str) -> Option<Row> {
        let mut fields = line.split(',');
        let mut next = || fields.next();
        let row = Row {
            name: next()?,
            encoding: Encoding {
                event: u16::from_str_radix(next()?, 16).ok()?,
                umask: u8::from_str_radix(next()?, 16).ok()?,
                cmask: or_none(next()?, |text| text.parse().ok())?.unwrap_or(0),
                ..flags(next()?)?
            },
            counters: match next()? {
                "*" => u32::MAX,
                mask => u32::from_str_radix(mask, 16).ok()?,
            },
            fixed: or_none(next()?, |text| text.parse().ok())?,
            cores: "",
        };
        let offcore = or_none(next()?, |text| u64::from_str_radix(text, 16).ok())?.unwrap_or(0);
        let cores = next()?;
        next().is_none().then_some(Row { encoding: row.encoding.offcore(offcore), cores, ..row })
    }

    /// Returns the marks of the cores that the row applies to.
    pub fn cores(&self) -> impl Iterator<Item = &'static str> {
        self.cores.split(' ')
    }
}

/// Returns `Some(None)` for an empty field, and `None` for a field that `read` cannot parse.
fn or_none<T>(field: &str, read: impl FnOnce(&str) -> Option<T>) -> Option<Option<T>> {
    if field.is_empty() {
        return Some(None);
    }
    read(field).map(Some)
}

fn flags(field: &str) -> Option<Encoding> {
    let mut encoding = Encoding::default();
    for flag in field.bytes() {
        match flag {
            b'i' => encoding.invert = true,
            b'e' => encoding.edge = true,
            _ => return None,
        }
    }
    Some(encoding)
}

/// An event name that a core's table does not contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownEvent {
    /// The name, cut off at the length of the longest event name.
    pub name: Text<72>,
    /// The core that was searched.
    pub microarch: Microarch,
    /// The event of this core that shares the longest beginning with the name.
    pub nearest: Option<&'static str>,
}

/// Letters that two names must share at their beginning to be called near; fewer are chance.
const SHARED: usize = 4;

impl UnknownEvent {
    fn new(name: &str, microarch: Microarch) -> Self {
        let shared = |other: &str| {
            let pairs = letters(name).zip(letters(other));
            pairs.take_while(|(one, other)| one == other).count()
        };
        let nearest = events(microarch).max_by_key(|event| shared(event.name));
        UnknownEvent {
            name: Text::new(name.as_bytes()),
            microarch,
            nearest: nearest.map(|event| event.name).filter(|nearest| shared(nearest) >= SHARED),
        }
    }

    /// Returns the cores that have an event of this name.
    pub fn elsewhere(&self) -> impl Iterator<Item = Microarch> {
        let known = |core: &Microarch| find(&self.name, *core).is_some();
        Microarch::all().filter(known)
    }
}

impl fmt::Display for UnknownEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, core) = (&*self.name, self.microarch.name());
        write!(f, "{core} has no event \"{name}\" in the tables")?;
        if let Some(nearest) = self.nearest {
            write!(f, "; the nearest is {nearest}")?;
        }
        for (number, core) in self.elsewhere().enumerate() {
            let before = if number == 0 { "; counted on " } else { ", " };
            write!(f, "{before}{}", core.name())?;
        }
        Ok(())
    }
}

impl core::error::Error for UnknownEvent {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_an_event_is_selected() {
        let row = Row::parse("RS_EVENTS.EMPTY_END,5E,01,1,ie,F,,,SNB IVB").unwrap();
        assert_eq!(row.name, "RS_EVENTS.EMPTY_END");
        let expected = Encoding { invert: true, edge: true, ..Encoding::new(0x5E, 0x01).cmask(1) };
        assert_eq!((row.encoding, row.counters), (expected, 0b1111));
        assert_eq!(row.fixed, None);
        assert!(row.cores().eq(["SNB", "IVB"]));
        let row = Row::parse("OCR.DEMAND_RFO.ANY_RESPONSE,B7,01,,,F,,10002,ICL").unwrap();
        assert_eq!(row.encoding.offcore, 0x10002);
        let row = Row::parse("INST_RETIRED.ANY,C0,00,,,*,0,,SKL").unwrap();
        assert_eq!((row.counters, row.fixed), (u32::MAX, Some(0)));
    }

    #[test]
    fn a_line_that_is_not_understood_is_no_row() {
        for line in [
            "name,event,umask,cmask,flags,counters,fixed,register,cores",
            "A,5E,01,,,F,,",
            "A,5E,01,,,F,,,SNB,IVB",
            "A,5E,101,,,F,,,SNB",
            "A,5E,01,x,,F,,,SNB",
            "A,5E,01,,a,F,,,SNB",
            "A,5E,01,,,any,,,SNB",
            "A,5E,01,,,F,one,,SNB",
            "A,5E,01,,,F,,0x1,SNB",
        ] {
            assert_eq!(Row::parse(line), None, "{line}");
        }
    }
}
