//! Every policy, in caches and hierarchies of any shape, against models that follow the policies' definitions
//! way by way, without optimisation.

use std::collections::BTreeMap;

use linefill::sim::{
    Cache, Design, Geometry, Hierarchy, HierarchyDesign, Hit, Inclusion, Insert, Instructions,
    LevelDesign, Op, Place, Qlru, Reference, Replacement, TlbDesign, Update, WriteHit, WriteMiss,
};
use proptest::prelude::*;

/// The replacement state of a set.
#[derive(Clone, Debug)]
enum State {
    /// Ways in the order of use or of arrival, the most recent first.
    Order(Vec<usize>),
    /// For each node of the tree, given by its first way and its width: whether it points to the right.
    Tree(BTreeMap<(usize, usize), bool>),
    Used(Vec<bool>),
    Ages(Vec<u8>),
}

#[derive(Clone, Debug)]
struct Set {
    policy: Replacement,
    lines: Vec<Option<u64>>,
    dirty: Vec<bool>,
    state: State,
}

impl Set {
    fn new(policy: Replacement, ways: usize) -> Self {
        Set {
            policy,
            lines: vec![None; ways],
            dirty: vec![false; ways],
            state: match policy {
                Replacement::TreePlru => State::Tree(BTreeMap::new()),
                Replacement::BitPlru => State::Used(vec![false; ways]),
                Replacement::Qlru(_) => State::Ages(vec![3; ways]),
                _ => State::Order(Vec::new()),
            },
        }
    }

    fn find(&self, line: u64) -> Option<usize> {
        self.lines.iter().position(|held| *held == Some(line))
    }

    fn empty(&self) -> Option<usize> {
        self.lines.iter().position(Option::is_none)
    }

    /// Records a use of `way`, by a hit or by the arrival of its line.
    fn used(&mut self, way: usize, arrival: bool) {
        let ways = self.lines.len();
        match &mut self.state {
            State::Order(order) => {
                if arrival || self.policy == Replacement::Lru {
                    order.retain(|other| *other != way);
                    order.insert(0, way);
                }
            }
            State::Tree(points_right) => {
                let (mut first, mut width) = (0, ways.next_power_of_two());
                while width > 1 {
                    let in_right = way >= first + width / 2;
                    points_right.insert((first, width), !in_right);
                    width /= 2;
                    first += if in_right { width } else { 0 };
                }
            }
            State::Used(used) => {
                used[way] = true;
                if used.iter().all(|used| *used) {
                    *used = vec![false; ways];
                    used[way] = true;
                }
            }
            State::Ages(ages) => {
                let Replacement::Qlru(qlru) = self.policy else {
                    panic!("ages are of QLRU");
                };
                if arrival {
                    let Insert::Age(age) = qlru.insert else {
                        panic!("by chance");
                    };
                    ages[way] = age;
                } else {
                    ages[way] = match ages[way] {
                        3 => qlru.hit.from_3,
                        2 => qlru.hit.from_2,
                        _ => 0,
                    };
                }
                if !qlru.on_miss_only {
                    age(ages, qlru.update, Some(way));
                }
            }
        }
    }

    /// The way that a new line replaces.
    fn victim(&mut self) -> usize {
        let ways = self.lines.len();
        let empty = self.empty();
        match &mut self.state {
            State::Order(order) => {
                empty.unwrap_or_else(|| *order.last().expect("a full set has an order"))
            }
            State::Tree(points_right) => empty.unwrap_or_else(|| {
                let (mut first, mut width) = (0, ways.next_power_of_two());
                while width > 1 {
                    let right = points_right.get(&(first, width)).copied().unwrap_or(false);
                    width /= 2;
                    // A half without ways is skipped.
                    first += if right && first + width < ways { width } else { 0 };
                }
                first
            }),
            State::Used(used) => {
                let clear = used.iter().position(|used| !used);
                empty.or(clear).unwrap_or(ways - 1)
            }
            State::Ages(ages) => {
                let Replacement::Qlru(qlru) = self.policy else {
                    panic!("ages are of QLRU");
                };
                if qlru.on_miss_only {
                    age(ages, qlru.update, None);
                }
                let empty = match qlru.place {
                    Place::R2 => self.lines.iter().rposition(Option::is_none),
                    Place::R0 | Place::R1 => empty,
                };
                let oldest = ages.iter().position(|age| *age == 3);
                empty.or(oldest).unwrap_or(0)
            }
        }
    }
}

/// Increases the ages of lines if none has age 3.
fn age(ages: &mut [u8], update: Update, used: Option<usize>) {
    let spared = |way: usize| used == Some(way) && matches!(update, Update::U1 | Update::U3);
    let by = match update {
        Update::U0 | Update::U1 => {
            let others = (0..ages.len()).filter(|way| !spared(*way));
            3 - others.map(|way| ages[way]).max().unwrap_or(3)
        }
        Update::U2 | Update::U3 => u8::from(!ages.contains(&3)),
    };
    for (way, age) in ages.iter_mut().enumerate() {
        if !spared(way) {
            *age += by;
        }
    }
}

/// A cache of these sets.
#[derive(Clone, Debug)]
struct Naive {
    design: Design,
    sets: Vec<Set>,
}

/// The result of a lookup.
struct Looked {
    hit: bool,
    /// The evicted line, and whether it was dirty.
    gone: Option<(u64, bool)>,
    /// Whether the store goes on to the next level.
    on: bool,
}

impl Naive {
    fn new(design: Design) -> Self {
        let geometry = design.geometry;
        let set = Set::new(design.replacement, geometry.ways() as usize);
        Naive { design, sets: vec![set; geometry.sets() as usize] }
    }

    fn set(&mut self, line: u64) -> &mut Set {
        let index = line % self.sets.len() as u64;
        &mut self.sets[index as usize]
    }

    fn look(&mut self, line: u64, write: bool) -> Looked {
        let Design { write_hit, write_miss, .. } = self.design;
        let set = self.set(line);
        let found = set.find(line);
        if found.is_none() && write && write_miss == WriteMiss::Around {
            return Looked { hit: false, gone: None, on: true };
        }
        let way = found.unwrap_or_else(|| set.victim());
        let mut gone = None;
        if found.is_none() {
            gone = set.lines[way].replace(line).map(|old| (old, set.dirty[way]));
            set.dirty[way] = false;
        }
        set.used(way, found.is_none());
        let on = write && write_hit == WriteHit::Through;
        if write && !on {
            set.dirty[way] = true;
        }
        Looked { hit: found.is_some(), gone, on }
    }

    fn lines_of(&self, reference: Reference) -> std::ops::RangeInclusive<u64> {
        let line = self.design.geometry.line();
        reference.address / line..=reference.last() / line
    }
}

fn qlru() -> impl Strategy<Value = Replacement> {
    let place = prop::sample::select(vec![Place::R0, Place::R1, Place::R2]);
    let any_update = vec![Update::U0, Update::U1, Update::U2, Update::U3];
    let update = prop::sample::select(any_update);
    (0..3_u8, 0..2_u8, 0..4_u8, place, update, any::<bool>()).prop_map(
        |(from_3, from_2, age, place, update, on_miss_only)| {
            // R0 and R2 need a line of age 3, which U2 and U3 do not guarantee.
            let place = match update {
                Update::U2 | Update::U3 => Place::R1,
                _ => place,
            };
            Replacement::Qlru(Qlru {
                hit: Hit { from_3, from_2: from_2.min(from_3) },
                insert: Insert::Age(age),
                place,
                update,
                on_miss_only,
            })
        },
    )
}

fn policies() -> impl Strategy<Value = Replacement> {
    prop_oneof![
        Just(Replacement::Lru),
        Just(Replacement::RoundRobin),
        Just(Replacement::TreePlru),
        Just(Replacement::BitPlru),
        qlru(),
    ]
}

/// Caches of 1 to 40 sets and 1 to 24 ways, with lines of the given lengths.
fn designs(line: impl Strategy<Value = u64>) -> impl Strategy<Value = Design> {
    let hit = prop::sample::select(vec![WriteHit::Back, WriteHit::Through]);
    let miss = prop::sample::select(vec![WriteMiss::Allocate, WriteMiss::Around]);
    let ways = prop_oneof![2 => 1..25_u64, 1 => Just(8_u64)];
    (1..40_u64, ways, line, policies(), hit, miss).prop_map(
        |(sets, ways, line, policy, hit, miss)| {
            let geometry = Geometry::new(sets * ways * line, ways, line).unwrap();
            Design::lru(geometry).replacing(policy).writing(hit, miss)
        },
    )
}

fn lines() -> impl Strategy<Value = u64> {
    (3..9_u32).prop_map(|bits| 1 << bits)
}

/// References of up to 100 bytes in 32 KiB, with locality.
fn traces(fetches: bool) -> impl Strategy<Value = Vec<Reference>> {
    let mut ops = vec![Op::Load, Op::Load, Op::Store, Op::Modify];
    ops.extend(fetches.then_some(Op::Fetch));
    let reference = (0..1_u64 << 15, 1..100_u32, prop::sample::select(ops), 0..6_u64);
    prop::collection::vec(reference, 1..400).prop_map(|references| {
        let near = |(address, bytes, op, times): (u64, u32, Op, u64)| {
            (0..=times).map(move |time| Reference { address: address + 40 * (time % 3), bytes, op })
        };
        references.into_iter().flat_map(near).collect()
    })
}

/// A hierarchy in which a reference that misses goes on to the next level as a whole.
struct Levels {
    caches: Vec<Naive>,
    inclusive: Vec<bool>,
    /// Hits and misses of fetches, reads and writes.
    counts: Vec<[[u64; 2]; 3]>,
    dropped: u64,
}

impl Levels {
    fn new(design: &HierarchyDesign) -> Self {
        let levels = &design.levels;
        Levels {
            caches: levels.iter().map(|level| Naive::new(level.cache)).collect(),
            inclusive: levels.iter().map(|level| level.inclusion == Inclusion::Inclusive).collect(),
            counts: vec![[[0; 2]; 3]; levels.len()],
            dropped: 0,
        }
    }

    fn reference(&mut self, reference: Reference) {
        let mut write = matches!(reference.op, Op::Store | Op::Modify);
        let kind = match reference.op {
            Op::Fetch => 0,
            Op::Store => 2,
            _ => 1,
        };
        for depth in 0..self.caches.len() {
            let mut hit = true;
            let mut on = false;
            for line in self.caches[depth].lines_of(reference) {
                let looked = self.caches[depth].look(line, write);
                hit &= looked.hit;
                on |= looked.on;
                if let Some((gone, _)) = looked.gone
                    && self.inclusive[depth]
                {
                    self.drop_before(depth, gone);
                }
            }
            self.counts[depth][kind][usize::from(hit)] += 1;
            // The next level is asked for the lines, and sees a store only if this level passes it on.
            write = on;
            if hit && !on {
                return;
            }
        }
    }

    /// Removes a line from the inner levels, because an inclusive level evicted it.
    fn drop_before(&mut self, depth: usize, line: u64) {
        for cache in &mut self.caches[..depth] {
            let set = cache.set(line);
            if let Some(way) = set.find(line) {
                set.lines[way] = None;
                set.dirty[way] = false;
                self.dropped += 1;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn any_cache_of_any_policy_serves_as_its_definition_says(
        design in designs(lines()), trace in traces(true),
    ) {
        let mut naive = Naive::new(design);
        let mut cache = Cache::new(design);
        let [mut fills, mut write_backs, mut on] = [0; 3];
        for &reference in &trace {
            let write = matches!(reference.op, Op::Store | Op::Modify);
            let mut hit = true;
            for line in naive.lines_of(reference) {
                let looked = naive.look(line, write);
                hit &= looked.hit;
                let around = write && design.write_miss == WriteMiss::Around;
                fills += u64::from(!looked.hit && !around);
                write_backs += u64::from(matches!(looked.gone, Some((_, true))));
                on += u64::from(looked.on);
            }
            prop_assert_eq!(cache.reference(reference), hit, "{:?} {:?}", design, reference);
        }
        let counters = cache.counters();
        prop_assert_eq!((counters.fills, counters.write_backs), (fills, write_backs));
        prop_assert_eq!(counters.bus_writes, write_backs + on);
        let mut held: Vec<u64> = cache.lines().collect();
        let all = naive.sets.iter().flat_map(|set| &set.lines);
        let mut wanted: Vec<u64> = all.flatten().copied().collect();
        held.sort_unstable();
        wanted.sort_unstable();
        prop_assert_eq!(held, wanted);
    }

    /// Up to three levels with different policies, and a TLB: every level must have the misses of its
    /// definition.
    #[test]
    fn any_hierarchy_misses_what_its_levels_miss(
        designs in prop::collection::vec(designs(Just(64)), 1..4),
        trace in traces(false),
        tlb in (1..5_u64, 1..5_u64),
    ) {
        let level = |mut cache: Design| {
            cache.write_hit = WriteHit::Back;
            cache.write_miss = WriteMiss::Allocate;
            LevelDesign::new(cache, Inclusion::NonInclusive)
        };
        let (sets, ways) = tlb;
        let design = HierarchyDesign {
            instructions: Instructions::Ignored,
            levels: designs.into_iter().map(level).collect(),
            tlb: Some(TlbDesign::new(sets * ways, ways, 4096).unwrap()),
        };
        agree(&design, &trace)?;
        // The TLB is an LRU cache of pages.
        let mut caches = Hierarchy::new(&design).unwrap();
        caches.references(&trace);
        let pages = Geometry::new(sets * ways * 4096, ways, 4096).unwrap();
        let mut naive = Naive::new(Design::lru(pages));
        let mut missed = 0;
        for &reference in &trace {
            // A reference to two pages counts as one miss if either page is missing.
            let mut hit = true;
            for page in naive.lines_of(reference) {
                hit &= naive.look(page, false).hit;
            }
            missed += u64::from(!hit);
        }
        prop_assert_eq!(caches.tlb().unwrap().first().misses, missed);
    }

    /// An inclusive level invalidates lines in the inner levels.
    #[test]
    fn an_inclusive_hierarchy_loses_what_its_last_level_loses(
        first in designs(Just(64)), last in designs(Just(64)), trace in traces(false),
    ) {
        let level = |mut cache: Design, inclusion| {
            cache.write_hit = WriteHit::Back;
            cache.write_miss = WriteMiss::Allocate;
            // With LRU the order of use is the whole state: it does not matter in which way a line is.
            cache.replacement = Replacement::Lru;
            LevelDesign::new(cache, inclusion)
        };
        let design = HierarchyDesign {
            instructions: Instructions::Ignored,
            levels: vec![
                level(first, Inclusion::NonInclusive),
                level(last, Inclusion::Inclusive),
            ],
            tlb: None,
        };
        agree(&design, &trace)?;
    }
}

/// Every level must count what its simple model counts.
fn agree(design: &HierarchyDesign, trace: &[Reference]) -> Result<(), TestCaseError> {
    let mut naive = Levels::new(design);
    let mut caches = Hierarchy::new(design).unwrap();
    for &reference in trace {
        naive.reference(reference);
        caches.reference(reference);
    }
    for (depth, [_, reads, writes]) in naive.counts.iter().enumerate() {
        let counted = caches.counters(depth);
        prop_assert_eq!([counted.reads.misses, counted.reads.hits], *reads, "level {}", depth);
        prop_assert_eq!([counted.writes.misses, counted.writes.hits], *writes, "level {}", depth);
    }
    let dropped: u64 =
        (0..naive.counts.len()).map(|depth| caches.counters(depth).invalidations).sum();
    prop_assert_eq!(dropped, naive.dropped);
    Ok(())
}
