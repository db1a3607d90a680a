//! What the kernel writes into the ring of a sampled event.
//!
//! Source: `include/uapi/linux/perf_event.h`, `enum perf_event_type` and `union perf_mem_data_src`.

use std::ops::Range;

/// PERF_SAMPLE_IP, _TID, _ADDR and _DATA_SRC: what every sample has, in this order.
pub(super) const SAMPLE_TYPE: u64 = 1 << 0 | 1 << 1 | 1 << 3 | 1 << 15;

const RECORD_LOST: u32 = 2;
const RECORD_SAMPLE: u32 = 9;
const HEADER: usize = 8;

/// A record of the ring that tells something here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    /// What one instruction did.
    Sample {
        /// Its address.
        instruction: u64,
        /// The process.
        process: u32,
        /// The thread.
        thread: u32,
        /// What it accessed.
        address: u64,
        /// How.
        source: DataSource,
    },
    /// So many records found no room.
    Lost(u64),
}

/// `perf_mem_data_src`: what kind of access it was, and who had the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DataSource(pub(crate) u64);

impl DataSource {
    /// Whether it loaded (PERF_MEM_OP_LOAD).
    pub(crate) fn loads(self) -> bool {
        self.0 & 0x2 != 0
    }

    /// Whether it stored (PERF_MEM_OP_STORE).
    pub(crate) fn stores(self) -> bool {
        self.0 & 0x4 != 0
    }

    /// Whether it held the line meanwhile (PERF_MEM_LOCK_LOCKED): a load that stores too.
    pub(crate) fn locks(self) -> bool {
        self.0 >> 24 & 0x2 != 0
    }

    /// Whether another cache had the line modified (PERF_MEM_SNOOP_HITM).
    pub(crate) fn modified_elsewhere(self) -> bool {
        self.0 >> 19 & 0x10 != 0
    }
}

/// Where the bytes between `tail` and `head` lie in a ring of `size` bytes: up to its end, and from its
/// beginning on.
pub(super) fn pieces(size: usize, tail: u64, head: u64) -> [Range<usize>; 2] {
    let filled = (head.wrapping_sub(tail) as usize).min(size);
    let from = (tail % size as u64) as usize;
    let first = filled.min(size - from);
    [from..from + first, 0..filled - first]
}

/// Hands on the records that `bytes` begins with. What is not known is passed over; a record that ends
/// beyond the bytes, or has no length, ends the reading.
pub(super) fn decode(mut bytes: &[u8], mut into: impl FnMut(Record)) {
    while let Some((kind, body, rest)) = next(bytes) {
        bytes = rest;
        let word = |index: usize| {
            let word = body.get(8 * index..8 * index + 8)?;
            Some(u64::from_ne_bytes(word.try_into().expect("eight bytes")))
        };
        let record = match kind {
            RECORD_SAMPLE => (|| {
                let ids = word(1)?;
                Some(Record::Sample {
                    instruction: word(0)?,
                    process: ids as u32,
                    thread: (ids >> 32) as u32,
                    address: word(2)?,
                    source: DataSource(word(3)?),
                })
            })(),
            // The event's id comes first.
            RECORD_LOST => word(1).map(Record::Lost),
            _ => None,
        };
        if let Some(record) = record {
            into(record);
        }
    }
}

/// The kind of the first record, what follows its header, and the bytes behind it.
fn next(bytes: &[u8]) -> Option<(u32, &[u8], &[u8])> {
    let header: [u8; HEADER] = bytes.get(..HEADER)?.try_into().ok()?;
    let header = u64::from_ne_bytes(header);
    let (kind, size) = (header as u32, (header >> 48) as usize);
    let body = bytes.get(HEADER..size)?;
    Some((kind, body, &bytes[size..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u32, body: &[u64]) -> Vec<u8> {
        let size = (HEADER + 8 * body.len()) as u64;
        let words = [&[u64::from(kind) | 2 << 32 | size << 48], body].concat();
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    fn decoded(bytes: &[u8]) -> Vec<Record> {
        let mut records = Vec::new();
        decode(bytes, |record| records.push(record));
        records
    }

    /// A load of 0x1008 by thread 8 of process 7, of a line that another core had modified.
    const BODY: [u64; 4] = [0x40_1000, 8 << 32 | 7, 0x1008, 0x10 << 19 | 0x2];
    const SAMPLE: Record = Record::Sample {
        instruction: 0x40_1000,
        process: 7,
        thread: 8,
        address: 0x1008,
        source: DataSource(0x10 << 19 | 0x2),
    };

    #[test]
    fn samples_and_losses_are_read_and_others_passed_over() {
        let bytes = [
            record(RECORD_SAMPLE, &BODY),
            record(5, &[0, 0]),
            record(RECORD_LOST, &[1, 12]),
            record(RECORD_SAMPLE, &BODY),
        ]
        .concat();
        assert_eq!(decoded(&bytes), [SAMPLE, Record::Lost(12), SAMPLE]);
    }

    #[test]
    fn records_that_end_too_early_end_the_reading() {
        let whole = record(RECORD_SAMPLE, &BODY);
        for end in 0..whole.len() {
            assert_eq!(decoded(&whole[..end]), [], "{end}");
        }
        assert_eq!(decoded(&[0; 64]), [], "no length");
        assert_eq!(
            decoded(&record(RECORD_SAMPLE, &BODY[..3])),
            [],
            "a sample of other fields"
        );
    }

    #[test]
    fn a_record_across_the_end_of_the_ring_is_put_together() {
        let (size, whole) = (64, record(RECORD_SAMPLE, &BODY));
        let (tail, head) = (1000, 1000 + whole.len() as u64);
        let mut ring = vec![0xAA; size];
        for (offset, byte) in whole.iter().enumerate() {
            ring[(tail as usize + offset) % size] = *byte;
        }
        let [first, second] = pieces(size, tail, head);
        assert_eq!((first.clone(), second.clone()), (40..64, 0..16));
        assert_eq!(decoded(&[&ring[first], &ring[second]].concat()), [SAMPLE]);
        assert_eq!(pieces(size, 64, 64), [0..0, 0..0]);
        assert_eq!(pieces(size, 64, 128), [0..64, 0..0], "full");
    }

    #[test]
    fn sources_tell_loads_stores_and_modified_lines() {
        let of = |bits| {
            let source = DataSource(bits);
            (source.loads(), source.stores(), source.modified_elsewhere())
        };
        assert!(DataSource(0x2 << 24).locks() && !DataSource(0x1 << 24 | BODY[3]).locks());
        assert_eq!(of(BODY[3]), (true, false, true));
        assert_eq!(of(0x4), (false, true, false));
        // A hit of a clean line (PERF_MEM_SNOOP_HIT), and no access at all (PERF_MEM_OP_NA).
        assert_eq!(of(0x4 << 19 | 0x2), (true, false, false));
        assert_eq!(of(0x1), (false, false, false));
    }
}
