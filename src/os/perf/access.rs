//! The events that sample the addresses a thread accesses, and the records that the kernel writes into the
//! ring of a sampled event. The events are the kernel's `mem-loads` and `mem-stores` (Intel's PEBS),
//! or `ibs_op` (AMD's instruction-based sampling).
//!
//! Source: `include/uapi/linux/perf_event.h`, `enum perf_event_type` and `union perf_mem_data_src`.

use std::ops::Range;
use std::path::Path;

use super::Refusal;
use super::event::PMUS;
use crate::os::root::{Root, read};

/// An event whose samples carry the address of an access.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sampled {
    /// The kernel's name for the event.
    pub(crate) name: String,
    /// Events per sample.
    pub(crate) period: u64,
    /// The number of the event's PMU.
    pub(super) kind: u32,
    /// `config`, `config1` and `config2`.
    pub(super) config: [u64; 3],
    /// How exactly the sample must identify the instruction: `precise_ip`.
    pub(super) precise: u64,
    /// Whether events in the kernel can be left out.
    pub(super) user_only: bool,
    /// The `config` of the event that must lead the group (`mem-loads-aux`).
    pub(super) leader: Option<u64>,
}

/// Latency in cycles below which loads are not sampled: no line of another core arrives faster.
const LATENCY: u64 = 30;

/// Sampling periods: primes, so that no loop keeps step with them. Slow loads are rarer than stores.
const LOADS: u64 = 4999;
const STORES: u64 = 19_997;

/// Micro-operations per sample of IBS. The lowest four bits must be clear.
const OPERATIONS: u64 = 1 << 17;

/// Returns the events that sample accesses on this machine.
pub(crate) fn access_events(root: &Root) -> Result<Vec<Sampled>, String> {
    let devices = root.sys.join("bus/event_source/devices");
    if let Some(kind) = kind(&devices.join("ibs_op")) {
        return Ok(vec![by_ibs(&devices.join("ibs_op"), kind)?]);
    }
    let (mut found, mut cores) = (Vec::new(), false);
    for name in PMUS {
        let at = devices.join(name);
        let Some(kind) = kind(&at) else { continue };
        cores = true;
        let leader = event(&at, "mem-loads-aux")?.map(|config| config[0]);
        for (event_name, period) in [("mem-loads", LOADS), ("mem-stores", STORES)] {
            let Some(mut config) = event(&at, event_name)? else { continue };
            let loads = event_name == "mem-loads";
            if loads {
                set(&at, "ldlat", LATENCY, &mut config)?;
            }
            found.push(Sampled {
                name: format!("{name}/{event_name}/"),
                period,
                kind,
                config,
                precise: 2,
                user_only: true,
                leader: leader.filter(|_| loads),
            });
        }
    }
    match (found.is_empty(), cores) {
        (false, _) => Ok(found),
        (true, true) => {
            Err("the CPU's PMU has no event that samples addresses: neither mem-loads nor ibs_op"
                .to_owned())
        }
        (true, false) => Err(format!("{} ({})", Refusal::NoPmu, Refusal::NoPmu.mend())),
    }
}

fn by_ibs(at: &Path, kind: u32) -> Result<Sampled, String> {
    let mut config = [0; 3];
    // Counts micro-operations. Without this bit IBS counts cycles, and slow accesses weigh more.
    if at.join("format/cnt_ctl").exists() {
        set(at, "cnt_ctl", 1, &mut config)?;
    }
    // IBS itself cannot leave the kernel out. Linux drops such samples on request, if it supports that.
    let user_only = at.join("format/swfilt").exists();
    if user_only {
        set(at, "swfilt", 1, &mut config)?;
    }
    Ok(Sampled {
        name: "ibs_op".to_owned(),
        period: OPERATIONS,
        kind,
        config,
        user_only,
        ..Sampled::default()
    })
}

/// Returns the number of the PMU at `at`, if there is one.
fn kind(at: &Path) -> Option<u32> {
    read(&at.join("type")).ok()?.parse().ok()
}

/// Parses an event that the kernel lists, such as `event=0xcd,umask=0x1,ldlat=3`.
fn event(at: &Path, name: &str) -> Result<Option<[u64; 3]>, String> {
    let file = at.join("events").join(name);
    let Ok(text) = read(&file) else { return Ok(None) };
    let mut config = [0; 3];
    for term in text.split(',') {
        let (name, value) = term.split_once('=').unwrap_or((term, "1"));
        let value = match value.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => value.parse(),
        };
        let value = value.map_err(|_| format!("{}: {term:?} is not a number", file.display()))?;
        set(at, name, value, &mut config)?;
    }
    Ok(Some(config))
}

/// Stores `value` in the bits that the PMU's format gives the term `name`, such as `config:0-7,32-35`,
/// lowest bit first.
fn set(at: &Path, name: &str, value: u64, config: &mut [u64; 3]) -> Result<(), String> {
    let file = at.join("format").join(name);
    let text = read(&file).map_err(|error| error.to_string())?;
    let malformed = || format!("{}: {text:?} is not a valid format", file.display());
    let (word, ranges) = text.split_once(':').ok_or_else(malformed)?;
    let word = match word {
        "config" => &mut config[0],
        "config1" => &mut config[1],
        "config2" => &mut config[2],
        _ => return Err(malformed()),
    };
    let mut left = value;
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let bit = |text: &str| text.parse::<u32>().ok().filter(|bit| *bit < 64);
        let (Some(first), Some(last)) = (bit(first), bit(last)) else { return Err(malformed()) };
        for bit in first..=last {
            *word = *word & !(1 << bit) | (left & 1) << bit;
            left >>= 1;
        }
    }
    match left {
        0 => Ok(()),
        _ => Err(format!("{}: no room for {value:#x}", file.display())),
    }
}

/// PERF_SAMPLE_IP, _TID, _ADDR and _DATA_SRC: the fields of every sample, in this order.
pub(super) const SAMPLE_TYPE: u64 = 1 << 0 | 1 << 1 | 1 << 3 | 1 << 15;

const RECORD_LOST: u32 = 2;
const RECORD_SAMPLE: u32 = 9;
const HEADER: usize = 8;

/// A record of the ring. Kinds of record that are not used here are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    /// The access of one instruction.
    Sample {
        /// The instruction's address.
        instruction: u64,
        /// The process.
        process: u32,
        /// The thread.
        thread: u32,
        /// The address that it accessed.
        address: u64,
        /// The kind of access, and where the data came from.
        source: DataSource,
    },
    /// This many records were lost because the ring was full.
    Lost(u64),
}

/// `perf_mem_data_src`: the kind of access, and where the data came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DataSource(pub(crate) u64);

impl DataSource {
    /// Returns whether the access was a load (PERF_MEM_OP_LOAD).
    pub(crate) fn loads(self) -> bool {
        self.0 & 0x2 != 0
    }

    /// Returns whether the access was a store (PERF_MEM_OP_STORE).
    pub(crate) fn stores(self) -> bool {
        self.0 & 0x4 != 0
    }

    /// Returns whether the access was locked (PERF_MEM_LOCK_LOCKED): a load that also stores.
    pub(crate) fn locks(self) -> bool {
        self.0 >> 24 & 0x2 != 0
    }

    /// Returns whether another cache held the line modified (PERF_MEM_SNOOP_HITM).
    pub(crate) fn modified_elsewhere(self) -> bool {
        self.0 >> 19 & 0x10 != 0
    }
}

/// Returns where the bytes between `tail` and `head` lie in a ring of `size` bytes: a piece up to the end
/// of the ring, and a piece from its beginning on.
pub(super) fn pieces(size: usize, tail: u64, head: u64) -> [Range<usize>; 2] {
    let filled = (head.wrapping_sub(tail) as usize).min(size);
    let from = (tail % size as u64) as usize;
    let first = filled.min(size - from);
    [from..from + first, 0..filled - first]
}

/// Passes the records at the start of `bytes` to `into`. Skips unknown records. Stops at a record that
/// ends beyond `bytes` or has no length.
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

/// Splits off the first record: returns its kind, its body, and the bytes behind it.
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
    use crate::os::root::Planted;

    /// Returns the sampled events of a machine with these files under its list of event sources.
    fn of(name: &str, files: &[(&str, &str)]) -> Result<Vec<Sampled>, String> {
        let name = format!("access-{name}");
        let machine = Planted::new(&name, "sys/bus/event_source/devices", files);
        access_events(&machine.root())
    }

    const INTEL: [(&str, &str); 6] = [
        ("cpu/type", "4"),
        ("cpu/format/event", "config:0-7"),
        ("cpu/format/umask", "config:8-15"),
        ("cpu/format/ldlat", "config1:0-15"),
        ("cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3"),
        ("cpu/events/mem-stores", "event=0xd0,umask=0x82"),
    ];

    #[test]
    fn intel_samples_slow_loads_and_stores() {
        let found = of("intel", &INTEL).unwrap();
        let loads = Sampled {
            name: "cpu/mem-loads/".to_owned(),
            period: LOADS,
            kind: 4,
            config: [0x1CD, LATENCY, 0],
            precise: 2,
            user_only: true,
            leader: None,
        };
        let stores = Sampled {
            name: "cpu/mem-stores/".to_owned(),
            period: STORES,
            config: [0x82D0, 0, 0],
            ..loads.clone()
        };
        assert_eq!(found, [loads, stores]);
        let aux = ("cpu/events/mem-loads-aux", "event=0x03,umask=0x82");
        let found = of("aux", &[&INTEL[..], &[aux]].concat()).unwrap();
        let leaders: Vec<Option<u64>> = found.iter().map(|one| one.leader).collect();
        assert_eq!(leaders, [Some(0x8203), None]);
    }

    #[test]
    fn each_kind_of_core_has_events_of_its_own() {
        let of_kind = |name: &str, number: &str| -> Vec<(String, String)> {
            let files = INTEL.iter().filter(|(file, _)| !file.ends_with("type"));
            let files = files.map(|(file, text)| (file.replace("cpu/", name), (*text).to_owned()));
            files.chain([(format!("{name}type"), number.to_owned())]).collect()
        };
        let files =
            [of_kind("cpu_core/", "4"), of_kind("cpu_atom/", "10"), of_kind("cpu_lowpower/", "11")]
                .concat();
        let files: Vec<(&str, &str)> = files.iter().map(|(a, b)| (&**a, &**b)).collect();
        let found = of("hybrid", &files).unwrap();
        let kinds: Vec<(&str, u32)> = found.iter().map(|one| (&*one.name, one.kind)).collect();
        assert_eq!(kinds[0], ("cpu_core/mem-loads/", 4));
        assert_eq!(kinds[2], ("cpu_atom/mem-loads/", 10));
        assert_eq!(kinds[4], ("cpu_lowpower/mem-loads/", 11));
    }

    #[test]
    fn amd_samples_by_ibs_and_leaves_the_kernel_out_where_it_can() {
        let old =
            [("cpu/type", "4"), ("ibs_op/type", "11"), ("ibs_op/format/cnt_ctl", "config:19")];
        let found = of("ibs", &old).unwrap();
        assert_eq!((found[0].kind, found[0].config), (11, [1 << 19, 0, 0]));
        assert_eq!((found[0].user_only, found[0].period % 16), (false, 0));
        let new = [&old[..], &[("ibs_op/format/swfilt", "config2:0")]].concat();
        let found = of("ibs-filter", &new).unwrap();
        assert_eq!((found[0].user_only, found[0].config[2]), (true, 1));
    }

    #[test]
    fn what_does_not_sample_says_why() {
        assert!(of("none", &[]).unwrap_err().contains("no PMU"));
        let counts = of("counts", &[("cpu/type", "4")]).unwrap_err();
        assert!(counts.contains("neither mem-loads nor ibs_op"), "{counts}");
        let refused = |name, file, text| {
            let kept = INTEL.iter().filter(|(known, _)| *known != file);
            let files: Vec<(&str, &str)> = kept.copied().chain([(file, text)]).collect();
            let error = of(name, &files).unwrap_err();
            assert!(error.contains(file.rsplit('/').next().unwrap()), "{error}");
        };
        refused("no-number", "cpu/events/mem-loads", "event=many");
        refused("no-room", "cpu/format/umask", "config:8");
        refused("no-word", "cpu/format/ldlat", "config9:0-15");
        refused("no-bit", "cpu/format/event", "config:0-99");
    }

    #[test]
    fn a_term_may_lie_in_two_pieces() {
        let file = ("cpu/format/event", "config:0-7,32-35");
        let event = ("cpu/events/mem-loads", "event=0x1cd,umask=0x1,ldlat=3");
        let kept = INTEL[2..4].iter().copied();
        let files: Vec<(&str, &str)> = [INTEL[0], file, event].into_iter().chain(kept).collect();
        assert_eq!(of("pieces", &files).unwrap()[0].config[0], 1 << 32 | 0x1CD);
    }

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
        assert_eq!(decoded(&record(RECORD_SAMPLE, &BODY[..3])), [], "a sample of other fields");
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
        // A hit on a clean line (PERF_MEM_SNOOP_HIT), and no access at all (PERF_MEM_OP_NA).
        assert_eq!(of(0x4 << 19 | 0x2), (true, false, false));
        assert_eq!(of(0x1), (false, false, false));
    }
}
