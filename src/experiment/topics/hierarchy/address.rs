//! Drepper 3.2 and 3.3.1, how an address finds its line: the parts of an address, and Figures 3.5
//! to 3.7.

use crate::experiment::prelude::*;
use crate::experiment::shared::count::Counted;
use crate::pattern::Rng;
use crate::sim::{Cache, Design, Geometry, Reference, Split};

pub(crate) static ALL: &[Experiment] = &[SPLIT, KINDS];

fn cache(size: u64, ways: u64) -> Testable<Geometry> {
    Ok(Geometry::new(size, ways, LINE)?)
}

const LINE: u64 = 64;
const MIB: u64 = 1 << 20;

static PARTS: [Counted; 4] = [
    Counted::exactly("addresses that their three parts do not give back", 0.0, || lost(false)),
    Counted::exactly("addresses whose parts are not their bits", 0.0, || lost(true)),
    Counted::exactly("low bits that select a byte of a 64-byte line", 6.0, || {
        Ok(f64::from(cache(32 << 10, 8)?.offset_bits()))
    }),
    Counted::exactly("transfers of 64 bits that fill a 64-byte line", 8.0, || {
        Ok((cache(32 << 10, 8)?.line() / size_of::<u64>() as u64) as f64)
    }),
];

const SPLIT: Experiment = Experiment {
    id: "D4",
    name: "drepper-address-split",
    title: "Tag, set and offset",
    question: "Do the tag, set and offset bits of an address select what the paper says?",
    source: "Drepper 3.2: an address is a tag, S bits of cache set, and O bits of offset",
    about: "A cache finds a line by three parts of its address: the offset selects a byte of the \
            line, the set number selects a set of the cache, and the tag tells the lines of one \
            set apart. The test splits random addresses with the arithmetic of the simulator, \
            which all simulated experiments use. If the number of sets is not a power of two, the \
            set number is not a field of address bits: it is the remainder of the line number, and \
            in hardware often a hash.",
    cases: |_| Counted::cases(&PARTS).collect(),
    claims: &[
        // An address is split into three parts: T bits of tag, S of set, O of offset.
        computed(
            "D4.1",
            drepper("3.2"),
            "tag, set and offset together give back the whole address, in caches of 16 KiB to 260 \
             MiB",
            |e| Counted::all(e, &PARTS[..1]),
        ),
        // With lines of 2^O bytes and 2^S sets the low O bits are the offset, the next S the set,
        // the rest the tag.
        computed(
            "D4.2",
            drepper("3.2"),
            "where the number of sets is a power of two, the low O bits of an address are the \
             offset, the next S bits are the set and the remaining bits are the tag",
            |e| Counted::all(e, &PARTS[1..2]),
        ),
        // For a line of 64 bytes the low 6 bits are zeroed; a memory bus of 64 bits makes 8
        // transfers of it.
        computed(
            "D4.3",
            drepper("3.2"),
            "the low 6 bits of an address select a byte of a 64-byte line, and 8 transfers of 64 \
             bits fill the line",
            |e| Counted::all(e, &PARTS[2..]),
        )
        .then(6.0, ""),
    ],
    ..Experiment::PLAIN
};

/// Size and ways of the caches that split addresses; the sets of the last one are not a power of
/// two.
const SPLIT_BY: [(u64, u64); 5] =
    [(16 << 10, 4), (32 << 10, 8), (48 << 10, 12), (4 * MIB, 1), (260 * MIB, 20)];

/// Returns the number of random addresses that their parts do not give back or, with `by_bits`,
/// whose parts are not the right bits.
fn lost(by_bits: bool) -> Testable<f64> {
    let mut rng = Rng::new(1);
    let mut lost = 0;
    for (size, ways) in SPLIT_BY {
        let geometry = cache(size, ways)?;
        let offset_bits = geometry.offset_bits();
        for _ in 0..10_000 {
            let address = rng.bits();
            let Split { tag, set, offset } = geometry.split(address);
            let kept = match (by_bits, geometry.set_bits()) {
                (false, _) => (tag * geometry.sets() + set) * geometry.line() + offset == address,
                (true, None) => true,
                (true, Some(set_bits)) => {
                    let low = |bits: u32, value: u64| value & ((1 << bits) - 1);
                    let line = address >> offset_bits;
                    [tag, set, offset]
                        == [line >> set_bits, low(set_bits, line), low(offset_bits, address)]
                }
            };
            lost += u32::from(!kept);
        }
    }
    Ok(f64::from(lost))
}

static FIGURES: [Counted; 12] = [
    Counted::exactly("entries of 4 MiB", 65_536.0, || Ok(cache(4 * MIB, 1)?.lines() as f64)),
    Counted::exactly("bits of set, direct-mapped", 16.0, || bits(1)),
    Counted::exactly("sets of 8 ways", 8192.0, || Ok(cache(4 * MIB, 8)?.sets() as f64)),
    Counted::exactly("bits of set, 8 ways", 13.0, || bits(8)),
    Counted::exactly("tags compared, 8 ways", 8.0, || Ok(f64::from(cache(4 * MIB, 8)?.ways()))),
    Counted::exactly("sets, fully associative", 1.0, || Ok(whole()?.sets() as f64)),
    Counted::exactly("misses, direct-mapped, 2 lines of a set", 100.0, || {
        conflicts(cache(4 * MIB, 1)?, 2)
    }),
    Counted::exactly("misses, direct-mapped, 65,536 lines in a row", 0.0, || {
        let geometry = cache(4 * MIB, 1)?;
        later_misses(geometry, geometry.lines(), LINE)
    }),
    Counted::exactly("misses, 8 ways, 8 lines of a set", 0.0, || conflicts(cache(4 * MIB, 8)?, 8)),
    Counted::exactly("misses, 8 ways, 9 lines of a set", 100.0, || {
        conflicts(cache(4 * MIB, 8)?, 9)
    }),
    Counted::exactly("misses, fully associative, as many lines as it holds", 0.0, || {
        conflicts(whole()?, 64)
    }),
    Counted::exactly("misses, fully associative, one line more", 100.0, || conflicts(whole()?, 65)),
];

const KINDS: Experiment = Experiment {
    id: "D9",
    name: "drepper-fig-3.5-3.7",
    title: "Fully associative, direct-mapped and set-associative caches",
    question: "How many sets do the three kinds of cache have, and which lines evict each other?",
    source: "Drepper 3.3.1, Figures 3.5 to 3.7: 4 MB of 64-byte lines",
    about: "The simulator walks over the same lines round after round, with LRU replacement. It \
            counts misses from the second round on, in percent of the accesses. A direct-mapped \
            cache has one place for each line, so two lines of one set evict each other. A \
            set-associative cache has as many places for each line as it has ways. In a fully \
            associative cache, any line fits any place; the simulated one has room for 64 lines. \
            Today first-level caches have 8 to 12 ways and last-level caches 11 to 20, and \
            first-level TLBs are often fully associative.",
    cases: |_| Counted::cases(&FIGURES).collect(),
    claims: &[
        // 4 MB of 64-byte lines are 65,536 entries, addressed by bits 6 to 21; with 8 ways 8,192
        // sets, 13 bits and 8 tags to compare.
        computed(
            "D9.1",
            drepper("3.3.1, Figures 3.5 to 3.7"),
            "a 4 MB cache has 65,536 lines of 64 bytes: direct-mapped, 16 address bits select the \
             line; with 8 ways, 13 bits select one of 8,192 sets, and 8 tags are compared",
            |e| Counted::all(e, &FIGURES[..6]),
        )
        .then(65536.0, ""),
        // Direct-mapped, each tag has one entry, so that some entries are evicted again and again
        // while others stay empty.
        simulated(
            "D9.2",
            drepper("3.3.1, Figure 3.6"),
            "in a direct-mapped cache, two lines of one set always miss, and consecutive lines \
             that fill the cache never miss",
            |e| Counted::all(e, &FIGURES[6..8]),
        ),
        // A set holds a small number of lines, so that addresses of one set do not easily defeat
        // the cache.
        simulated(
            "D9.3",
            drepper("3.3.1, Figure 3.7"),
            "under LRU, a set of 8 ways keeps 8 lines, and a ninth line evicts each line before \
             its next use",
            |e| Counted::all(e, &FIGURES[8..10]),
        ),
        // Any entry of a fully associative cache can hold any line.
        simulated(
            "D9.4",
            drepper("3.3.1, Figure 3.5"),
            "a fully associative cache keeps as many lines as it has entries, at any addresses, \
             and with one line more every access misses",
            |e| Counted::all(e, &FIGURES[10..]),
        ),
    ],
    ..Experiment::PLAIN
};

fn bits(ways: u64) -> Testable<f64> {
    let bits = cache(4 * MIB, ways)?.set_bits();
    bits.map(f64::from)
        .ok_or_else(|| Untestable("the number of sets is not a power of two".to_owned()))
}

/// Returns a small cache of one set. Hardware that compares more tags at a time costs too much.
fn whole() -> Testable<Geometry> {
    Ok(Geometry::fully_associative(64 * LINE, LINE)?)
}

/// Returns the percentage of misses in later rounds over lines that all belong to one set.
fn conflicts(geometry: Geometry, lines: u64) -> Testable<f64> {
    later_misses(geometry, lines, geometry.sets() * LINE)
}

/// Returns the percentage of misses in later rounds over lines that are `apart` bytes apart.
fn later_misses(geometry: Geometry, lines: u64, apart: u64) -> Testable<f64> {
    let mut cache = Cache::new(Design::lru(geometry));
    for round in 0..4 {
        if round == 1 {
            cache.forget_counts();
        }
        for line in 0..lines {
            cache.reference(Reference::load(line * apart, 8));
        }
    }
    Ok(100.0 * cache.counters().miss_ratio())
}
