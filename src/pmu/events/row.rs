//! The tables' format.

use crate::pmu::Encoding;

/// A line of a table: an event that some cores encode alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
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
