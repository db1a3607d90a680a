//! Events by the names that the vendors print.
//!
//! The tables list the events that say something about memory: cycles, instructions, branches,
//! caches, TLBs, fill buffers, prefetches, the front end and machine clears. They are text of
//! some 50 KiB that is searched line by line, since one looks an event up once.

use core::fmt;

use super::{Encoding, Microarch};
use crate::cpu::Text;

/// A line for an event and the cores that encode it alike; sorted by name. Generated once from
/// the files that [`Microarch::source`] names.
const TABLES: [&str; 3] = [
    include_str!("events/intel_core.csv"),
    include_str!("events/intel_atom.csv"),
    include_str!("events/amd.csv"),
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

/// A line of a table: an event that some cores encode alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    pub name: &'static str,
    pub encoding: Encoding,
    /// General counters that count it, a bit each.
    pub counters: u32,
    pub fixed: Option<u8>,
    /// The marks of the cores.
    cores: &'static str,
}

impl Row {
    /// Reads a line; `None` if it is none of a table.
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
        next().is_none().then_some(Row {
            encoding: row.encoding.offcore(offcore),
            cores,
            ..row
        })
    }

    /// The marks of the cores that it holds for.
    pub fn cores(&self) -> impl Iterator<Item = &'static str> {
        self.cores.split(' ')
    }
}

/// Nothing for an empty field, and no row at all for one that `read` does not understand.
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

/// A name that the table of a core does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownEvent {
    /// The name, as far as it is no longer than any event's.
    pub name: Text<72>,
    /// The core.
    pub microarch: Microarch,
    /// The event of this core whose name begins most like it.
    pub nearest: Option<&'static str>,
}

/// Letters that names must share to be near: less is chance.
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
            nearest: nearest
                .map(|event| event.name)
                .filter(|nearest| shared(nearest) >= SHARED),
        }
    }

    /// The cores that do count an event of this name.
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
        let expected = Encoding {
            invert: true,
            edge: true,
            ..Encoding::new(0x5E, 0x01).cmask(1)
        };
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
