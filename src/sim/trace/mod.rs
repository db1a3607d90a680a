//! Traces from elsewhere: the output of valgrind's lackey, and a compact form with most references in
//! one to four bytes.
//!
//! `docs/FORMAT.md`, "Traces", describes both.

pub mod lackey;

use alloc::vec::Vec;

use crate::sim::{Op, Reference};

/// The first bytes of a file in the compact form.
pub const MAGIC: &[u8; 8] = b"lftrace1";

/// The kind of a fetch that directly follows the previous one. Other kinds are the numbers of [`Op`].
const NEXT_FETCH: u8 = 7;

/// The lower five bits of a record's first byte if the size follows.
const LONG: u8 = 31;

/// The most bytes of a record: 1 for its first byte, 5 for a size, 10 for a distance.
const LONGEST: usize = 16;

/// The error for bytes that no encoder writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CorruptTrace {
    /// Position of the invalid record, in bytes from the start of the input.
    pub at: usize,
}

messages! { CorruptTrace:
    CorruptTrace { at } => ("no record of a trace at byte {at}");
}

/// The addresses from which the next distances are measured.
#[derive(Clone, Copy, Debug, Default)]
struct From {
    fetch: u64,
    data: u64,
}

impl From {
    fn of(&mut self, op: Op) -> &mut u64 {
        match op {
            Op::Fetch => &mut self.fetch,
            _ => &mut self.data,
        }
    }

    fn went_to(&mut self, reference: Reference) {
        match reference.op {
            Op::Fetch => self.fetch = reference.address.wrapping_add(reference.bytes.into()),
            _ => self.data = reference.address,
        }
    }
}

/// Encodes references as records.
#[derive(Clone, Debug, Default)]
pub struct Encoder {
    from: From,
}

impl Encoder {
    /// Appends the record of a reference.
    pub fn encode(&mut self, reference: Reference, out: &mut Vec<u8>) {
        let distance = reference.address.wrapping_sub(*self.from.of(reference.op)) as i64;
        let next = reference.op == Op::Fetch && distance == 0;
        let kind = if next { NEXT_FETCH } else { reference.op as u8 };
        let short = reference.bytes < u32::from(LONG);
        let size = if short { reference.bytes as u8 } else { LONG };
        out.push(kind << 5 | size);
        if !short {
            number(reference.bytes.into(), out);
        }
        if !next {
            number((distance << 1 ^ distance >> 63) as u64, out);
        }
        self.from.went_to(reference);
    }
}

fn number(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Decodes records.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    from: From,
}

impl Decoder {
    /// Calls `sink` with every complete record in `bytes`, and returns the number of bytes consumed. The
    /// remaining bytes are the beginning of a record; the caller must put them before the bytes that
    /// follow.
    ///
    /// # Errors
    /// If the input contains a byte sequence that is not a record.
    pub fn decode(
        &mut self,
        bytes: &[u8],
        mut sink: impl FnMut(Reference),
    ) -> Result<usize, CorruptTrace> {
        let mut at = 0;
        while let Some(&head) = bytes.get(at) {
            // A fast path for the most common record.
            if head >> 5 == NEXT_FETCH && head & LONG != LONG {
                let size = u32::from(head & LONG);
                let reference = Reference::fetch(self.from.fetch, size);
                self.from.went_to(reference);
                sink(reference);
                at += 1;
                continue;
            }
            let mut rest = &bytes[at..];
            match self.record(&mut rest) {
                Ok(Some(reference)) => sink(reference),
                Ok(None) if bytes.len() - at < LONGEST => return Ok(at),
                Ok(None) | Err(()) => return Err(CorruptTrace { at }),
            }
            at = bytes.len() - rest.len();
        }
        Ok(at)
    }

    /// Reads a record; `None` if the record is incomplete.
    #[inline]
    fn record(&mut self, rest: &mut &[u8]) -> Result<Option<Reference>, ()> {
        let Some(&head) = rest.split_off_first() else { return Ok(None) };
        let next = head >> 5 == NEXT_FETCH;
        let op = match Op::ALL.get(usize::from(head >> 5)) {
            Some(&op) => op,
            None if next => Op::Fetch,
            None => return Err(()),
        };
        let mut bytes = u64::from(head & LONG);
        if bytes == u64::from(LONG) {
            let Some(size) = take(rest)? else { return Ok(None) };
            bytes = size;
        }
        let mut distance = 0;
        if !next {
            let Some(zigzag) = take(rest)? else { return Ok(None) };
            distance = (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
        }
        let reference = Reference {
            address: self.from.of(op).wrapping_add_signed(distance),
            bytes: u32::try_from(bytes).map_err(|_| ())?,
            op,
        };
        self.from.went_to(reference);
        Ok(Some(reference))
    }
}

/// Reads a number; `None` if the number is incomplete.
#[inline]
fn take(rest: &mut &[u8]) -> Result<Option<u64>, ()> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let Some(&byte) = rest.split_off_first() else { return Ok(None) };
        value |= u64::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            return Ok(Some(value));
        }
    }
    Err(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::Rng;

    fn some_references() -> Vec<Reference> {
        let mut rng = Rng::new(5);
        let mut references = Vec::new();
        for index in 0..3000 {
            let op = Op::ALL[rng.below(Op::ALL.len())];
            let address = match index % 3 {
                0 => rng.bits(),
                1 => 0x40_1000 + index,
                _ => u64::MAX - index,
            };
            let bytes = [1, 4, 8, 30, 31, 32, 512, u32::MAX][rng.below(8)];
            references.push(Reference { address, bytes, op });
            // An instruction, and the one that directly follows it.
            references.push(Reference::fetch(4 * index, 4));
            references.push(Reference::fetch(4 * index + 4, 4));
        }
        references
    }

    #[test]
    fn what_was_written_is_read_however_it_is_cut() {
        let references = some_references();
        let mut bytes = Vec::new();
        let mut encoder = Encoder::default();
        for &reference in &references {
            encoder.encode(reference, &mut bytes);
        }
        for size in [1, 7, 64, bytes.len()] {
            let mut decoder = Decoder::default();
            let mut held: Vec<u8> = Vec::new();
            let mut read = Vec::new();
            for chunk in bytes.chunks(size) {
                held.extend_from_slice(chunk);
                let taken = decoder.decode(&held, |reference| read.push(reference)).unwrap();
                held.drain(..taken);
            }
            assert!(held.is_empty());
            assert!(read == references, "in pieces of {size}");
        }
    }

    #[test]
    fn an_instruction_that_follows_takes_one_byte() {
        let mut bytes = Vec::new();
        let mut encoder = Encoder::default();
        encoder.encode(Reference::fetch(0x40_1000, 3), &mut bytes);
        let first = bytes.len();
        encoder.encode(Reference::fetch(0x40_1003, 5), &mut bytes);
        assert_eq!(bytes.len(), first + 1);
    }

    #[test]
    fn what_is_no_record_is_refused_where_it_begins() {
        let mut decoder = Decoder::default();
        // Kind 6 does not exist.
        let error = decoder.decode(&[0xE3, 6 << 5], |_| {}).unwrap_err();
        assert_eq!(error, CorruptTrace { at: 1 });
        // A number of more than 64 bits.
        let long = [&[0x20 | 8][..], &[0xFF; 10], &[1]].concat();
        assert!(decoder.decode(&long, |_| {}).is_err());
        // A size beyond 32 bits.
        let long = [0x20 | LONG, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1, 0];
        assert!(decoder.decode(&long, |_| {}).is_err());
    }
}
