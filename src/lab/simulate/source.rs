//! Reads traces from files and pipes, in lackey's text format or in the compact format.

use std::io::{self, Read, Write};

use anyhow::{Context as _, Result, bail};

use super::Config;
use crate::sim::trace::{Decoder, Encoder, MAGIC, lackey};
use crate::sim::{Op, Reference};

/// The number of references of each kind in a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub fetches: u64,
    pub loads: u64,
    /// Stores, including non-temporal stores.
    pub stores: u64,
    /// Loads that store to the same address.
    pub modifies: u64,
    pub prefetches: u64,
}

impl Tally {
    pub const fn total(&self) -> u64 {
        self.fetches + self.loads + self.stores + self.modifies + self.prefetches
    }

    /// Sums up counts that are indexed by operation.
    const fn of(counts: [u64; Op::COUNT]) -> Self {
        Tally {
            fetches: counts[Op::Fetch as usize],
            loads: counts[Op::Load as usize],
            stores: counts[Op::Store as usize] + counts[Op::NonTemporalStore as usize],
            modifies: counts[Op::Modify as usize],
            prefetches: counts[Op::Prefetch as usize],
        }
    }
}

/// Number of references in a block. Each configuration takes a block in turn, so that a trace is read once
/// for all configurations and never held as a whole.
const BLOCK: usize = 1 << 14;

/// Number of bytes per read.
const CHUNK: usize = 1 << 18;

/// Maximum length of a line of a text trace in bytes. valgrind also prints command lines, whose words Linux
/// limits to 128 KiB.
const LONGEST_LINE: usize = 1 << 20;

/// Maximum size of a reference in bytes. The largest on x86-64 is 2,696 (XSAVE with AVX-512).
const LARGEST: u32 = 4096;

/// Feeds a trace to every configuration, and counts its references. `name` names the trace in errors. If
/// there is a `pack`, writes the trace to it in the compact format.
///
/// # Errors
/// If the trace cannot be read, is corrupt, has a line or a reference that is too long, or has no reference,
/// or if `pack` cannot be written.
pub fn feed<'a>(
    mut from: impl Read,
    name: &str,
    configs: &'a mut [Config],
    pack: Option<&'a mut (dyn Write + 'a)>,
) -> Result<Tally> {
    let mut block = Block {
        pack: pack.map(Pack::new),
        references: Vec::with_capacity(BLOCK),
        counts: [0; Op::COUNT],
        too_large: None,
        configs,
    };
    let mut held = Vec::with_capacity(2 * CHUNK);
    let mut form = None;
    let mut passed = 0;
    let mut line_number = 0_u64;
    loop {
        let read = from.by_ref().take(CHUNK as u64).read_to_end(&mut held);
        let read = read.with_context(|| format!("{name} cannot be read"))?;
        if form.is_none()
            && let Some((_, tool)) = PACKED.iter().find(|(magic, _)| held.starts_with(magic))
        {
            bail!(
                "{name} is packed: `{tool} FILE | linefill simulate --trace -` reads what is in it"
            );
        }
        let taken = match form.get_or_insert_with(|| Form::of(&mut held)) {
            Form::Compact(decoder) => {
                let decoded = decoder.decode(&held, |reference| block.push(reference, None));
                decoded.map_err(|error| {
                    let at = passed + error.at + MAGIC.len();
                    anyhow::anyhow!("{name} is corrupt: no record of a trace at byte {at}")
                })?
            }
            Form::Lackey => lines(&held, read == 0, |reference| {
                line_number += 1;
                if let Some(reference) = reference {
                    block.push(reference, Some(line_number));
                }
            }),
        };
        if let Some((index, line, bytes)) = block.too_large {
            let place = match line {
                Some(line) => format!("line {line}"),
                None => format!("reference {index}"),
            };
            bail!("{name}, {place}: a reference of {bytes} bytes: 0 to {LARGEST} are accepted");
        }
        held.drain(..taken);
        if held.len() > LONGEST_LINE {
            bail!(
                "{name}, line {}: longer than {LONGEST_LINE} bytes; a line of a trace is such as \
                 ` L 1ffeffe7e0,8`",
                line_number + 1
            );
        }
        passed += taken;
        if read == 0 {
            break;
        }
    }
    block.hand_on();
    let tally = Tally::of(block.counts);
    if let Some(pack) = block.pack {
        pack.written.context("the packed trace cannot be written")?;
    }
    if !held.is_empty() {
        bail!("{name} ends in the middle of a record");
    }
    if tally.total() == 0 {
        bail!(
            "{name} holds no reference: a trace is what `valgrind --tool=lackey --trace-mem=yes` \
             prints, such as ` L 1ffeffe7e0,8`"
        );
    }
    Ok(tally)
}

/// The first bytes of packed files, each with the program that unpacks them.
const PACKED: [(&[u8], &str); 2] =
    [(&[0x1F, 0x8B], "zcat"), (&[0x28, 0xB5, 0x2F, 0xFD], "zstdcat")];

enum Form {
    Lackey,
    Compact(Decoder),
}

impl Form {
    /// Detects the format from the first bytes, and removes the magic number of the compact format.
    fn of(held: &mut Vec<u8>) -> Self {
        if held.starts_with(MAGIC) {
            held.drain(..MAGIC.len());
            Form::Compact(Decoder::default())
        } else {
            Form::Lackey
        }
    }
}

/// Passes every complete line to `line`, and the last line too if the text ends here. Returns the number of
/// bytes in these lines.
fn lines(held: &[u8], ends: bool, mut line: impl FnMut(Option<Reference>)) -> usize {
    let mut rest = held;
    loop {
        while let Some((reference, bytes)) = lackey::first(rest) {
            line(Some(reference));
            rest = &rest[bytes..];
        }
        match rest.iter().position(|&byte| byte == b'\n') {
            Some(end) => {
                line(lackey::parse(&rest[..end]));
                rest = &rest[end + 1..];
            }
            None if ends => {
                line(lackey::parse(rest));
                return held.len();
            }
            None => return held.len() - rest.len(),
        }
    }
}

/// References that wait to be passed to the configurations.
struct Block<'a> {
    references: Vec<Reference>,
    /// Number of references, indexed by operation.
    counts: [u64; Op::COUNT],
    /// The first reference of more than [`LARGEST`] bytes: its number, its line if the trace has lines, and
    /// its size. Later references are dropped.
    too_large: Option<(u64, Option<u64>, u32)>,
    configs: &'a mut [Config],
    pack: Option<Pack<'a>>,
}

/// A trace being written in the compact format.
struct Pack<'a> {
    to: &'a mut (dyn Write + 'a),
    encoder: Encoder,
    bytes: Vec<u8>,
    /// The result so far: nothing is written after an error.
    written: io::Result<()>,
}

impl<'a> Pack<'a> {
    fn new(to: &'a mut (dyn Write + 'a)) -> Self {
        Pack { to, encoder: Encoder::default(), bytes: MAGIC.to_vec(), written: Ok(()) }
    }

    fn add(&mut self, references: &[Reference]) {
        for &reference in references {
            self.encoder.encode(reference, &mut self.bytes);
        }
        if self.written.is_ok() {
            self.written = self.to.write_all(&self.bytes);
        }
        self.bytes.clear();
    }
}

impl Block<'_> {
    fn push(&mut self, reference: Reference, line: Option<u64>) {
        if self.too_large.is_some() {
            return;
        }
        self.counts[reference.op as usize] += 1;
        if reference.bytes > LARGEST {
            self.too_large = Some((self.counts.iter().sum(), line, reference.bytes));
            return;
        }
        self.references.push(reference);
        if self.references.len() == BLOCK {
            self.hand_on();
        }
    }

    fn hand_on(&mut self) {
        for config in &mut *self.configs {
            config.hierarchy.references(&self.references);
        }
        if let Some(pack) = &mut self.pack {
            pack.add(&self.references);
        }
        self.references.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{Hierarchy, HierarchyDesign};

    fn config() -> Vec<Config> {
        let text = "L1i=1K/2,L1d=1K/2,L2=8K/4";
        let design: HierarchyDesign = text.parse().unwrap();
        vec![Config { text: text.to_owned(), hierarchy: Hierarchy::new(&design).unwrap() }]
    }

    /// Reads at most seven bytes at a time.
    struct Trickle<'a>(&'a [u8]);

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let bytes = self.0.len().min(buffer.len()).min(7);
            buffer[..bytes].copy_from_slice(&self.0[..bytes]);
            self.0 = &self.0[bytes..];
            Ok(bytes)
        }
    }

    #[test]
    fn both_forms_count_the_same_however_they_arrive() {
        let mut text = String::from("==1== Lackey\n");
        let mut compact = MAGIC.to_vec();
        let mut encoder = Encoder::default();
        for index in 0..40_000_u64 {
            let address = 0x40_1000 + index * 40 % 9000;
            let (letter, op) =
                [("I ", Op::Fetch), (" L", Op::Load), (" S", Op::Store), (" M", Op::Modify)]
                    [index as usize % 4];
            text += &format!("{letter} {address:08x},8\n");
            encoder.encode(Reference { address, bytes: 8, op }, &mut compact);
        }
        let mut packed = Vec::new();
        let mut count = |from: &mut dyn Read| {
            let mut configs = config();
            packed.clear();
            let tally = feed(from, "trace", &mut configs, Some(&mut packed)).unwrap();
            assert!(packed == compact, "packed again as it was encoded");
            let counters: Vec<_> =
                (0..2).map(|level| configs[0].hierarchy.counters(level)).collect();
            (tally, counters)
        };
        let wanted = count(&mut text.as_bytes());
        assert_eq!(wanted.0.total(), 40_000);
        assert_eq!(wanted.0.modifies, 10_000);
        assert_eq!(count(&mut Trickle(text.trim_end().as_bytes())), wanted);
        assert_eq!(count(&mut compact.as_slice()), wanted);
        assert_eq!(count(&mut Trickle(&compact)), wanted);
    }

    #[test]
    fn what_is_no_trace_is_refused() {
        let error =
            |bytes: &[u8]| feed(bytes, "x.lk", &mut config(), None).unwrap_err().to_string();
        assert!(error(b"").contains("x.lk holds no reference"));
        for (magic, tool) in PACKED {
            assert!(error(&[magic, b"data"].concat()).contains(tool));
        }
        assert!(error(b"hello\nworld\n").contains("lackey"));
        assert!(error(b"lftrace1\xE3\xC0").contains("corrupt: no record of a trace at byte 9"));
        assert!(error(b"lftrace1\xE3\x08").contains("middle of a record"));
    }

    /// Each of these inputs once took minutes or gigabytes.
    #[test]
    fn what_would_cost_without_bound_is_refused_with_its_place() {
        let error =
            |bytes: &[u8]| feed(bytes, "x.lk", &mut config(), None).unwrap_err().to_string();
        let large = error(b" L 1000,8\nnoise\n L 1000,4294967295\n L 1000,8\n");
        assert_eq!(large, "x.lk, line 3: a reference of 4294967295 bytes: 0 to 4096 are accepted");
        let mut compact = MAGIC.to_vec();
        let mut encoder = Encoder::default();
        for bytes in [8, 4097] {
            encoder.encode(Reference::load(0, bytes), &mut compact);
        }
        assert!(error(&compact).contains("reference 2: a reference of 4097 bytes"));
        let mut endless = std::io::repeat(b'x');
        let error = feed(&mut endless, "x.lk", &mut config(), None).unwrap_err();
        assert!(error.to_string().contains("line 1: longer than 1048576"), "{error}");
        let mut long = b"\n".to_vec();
        long.resize(LONGEST_LINE, b'x');
        long.extend_from_slice(b"\n L 1000,4096\n");
        assert_eq!(feed(long.as_slice(), "x.lk", &mut config(), None).unwrap().total(), 1);
    }
}
