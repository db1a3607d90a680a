//! The cost of a step of a walk in random order, from the latency of each level and the reach of the
//! TLBs.
//!
//! The walk visits every element once per lap, in a random order that stays the same. Levels are assumed
//! to replace the least recently used line. This permits a closed formula: an element alone on its line
//! hits only if everything that its set has to hold fits; with several elements per line, a step also
//! hits lines that the other elements loaded. No parameter is fitted to a curve.

#[cfg(not(feature = "std"))]
use crate::float::Float as _;
use alloc::vec::Vec;
use core::iter::successors;

/// How the lines of a working set are distributed over the sets of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Evenly: indexed by address bits inside a page, as in L1d.
    Even,
    /// By chance, except for the lowest bits of a line's number: indexed by physical addresses, as in
    /// L2.
    ByChance,
    /// By a hash of all bits, as in the last level: lines that are not used leave room for others.
    Hashed,
}

/// A level of the hierarchy, or a TLB.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Bytes that the level holds, or that the TLB covers.
    pub bytes: f64,
    /// Ways; as many as entries if fully associative.
    pub ways: f64,
    /// How sets are chosen.
    pub placement: Placement,
    /// Time of a step that hits here: for a cache, the load-to-use latency; for a TLB, the time that it
    /// adds to the latency.
    pub cost: f64,
}

impl Level {
    /// Returns the share of steps that hit here in a walk through `bytes` bytes, where `mates` elements
    /// share a line, or a page.
    pub fn hits(&self, bytes: f64, mates: f64) -> f64 {
        let filling = self.ways * bytes / self.bytes;
        match self.placement {
            Placement::ByChance | Placement::Hashed if filling < MOST_FILLING => {
                self.hits_by_chance(filling, mates)
            }
            _ => self.hits_of_even_sets(filling, mates),
        }
    }

    /// Returns the share of hits if each set has to hold `filling` lines of `ways` ways: some sets hold
    /// the whole number below, the others one more.
    fn hits_of_even_sets(&self, filling: f64, mates: f64) -> f64 {
        let (fewer, share) = (filling.floor(), filling.fract());
        let more = share * (fewer + 1.0) / filling.max(f64::MIN_POSITIVE);
        (1.0 - more) * self.hits_of_set(fewer, mates) + more * self.hits_of_set(fewer + 1.0, mates)
    }

    /// Returns the share of hits if the number of a line's companions in its set has a Poisson
    /// distribution.
    fn hits_by_chance(&self, filling: f64, mates: f64) -> f64 {
        let first = (-filling).exp();
        let chances = successors(Some((0.0, first)), |&(companions, chance): &(f64, f64)| {
            let next = companions + 1.0;
            Some((next, chance * filling / next))
        });
        let most = filling + 10.0 * filling.sqrt() + 10.0;
        chances
            .take_while(|(companions, _)| *companions < most)
            .map(|(companions, chance)| chance * self.hits_of_set(companions + 1.0, mates))
            .sum()
    }

    /// Returns the share of steps that hit in a set that has to hold `lines` lines.
    ///
    /// A line with `mates` elements is visited as many times per lap, at random moments. It hits if
    /// fewer lines than there are ways were visited since its last visit. The next visit of a line
    /// follows within the fraction `g` of a lap with the probability `1 - (1 - g)^(mates - 1)`, and
    /// meanwhile `1 - (1 - g)^mates` of all lines are visited.
    fn hits_of_set(&self, lines: f64, mates: f64) -> f64 {
        if lines <= self.ways {
            return 1.0;
        }
        let lost = 1.0 - self.ways / lines;
        1.0 - lost.powf((mates - 1.0).max(0.0) / mates.max(1.0))
    }
}

/// With more lines per set than this, chance makes no noticeable difference.
const MOST_FILLING: f64 = 500.0;

/// The TLBs, and the cost of misses.
#[derive(Clone, Debug, PartialEq)]
pub struct Translation {
    /// Bytes of a page.
    pub page: f64,
    /// From the first to the last. The cost of the first is zero, because every load waits for it.
    pub tlbs: Vec<Level>,
    /// Loads of page-table entries that a page walk waits for: one natively, two in a guest, whose
    /// tables are translated too. Entries above the last table fit the walker's own caches.
    pub loads: f64,
}

/// Bytes of a page-table entry.
const ENTRY: f64 = 8.0;

/// The parameters of a machine that determine a walk in random order. All times are in one unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Walk {
    /// The caches, from the nearest to the last.
    pub levels: Vec<Level>,
    /// Time of a step that misses all caches.
    pub memory: f64,
    /// Bytes of a line.
    pub line: f64,
    /// The TLBs. Without them translation costs nothing.
    pub translation: Option<Translation>,
}

impl Walk {
    /// Returns the time per step through `bytes` bytes in elements of `element` bytes, which touch one
    /// line each.
    pub fn step(&self, bytes: f64, element: f64) -> f64 {
        self.load(bytes, self.line / element) + self.translate(bytes, element)
    }

    /// Returns the time per load where `mates` elements share a line.
    fn load(&self, bytes: f64, mates: f64) -> f64 {
        // Elements larger than a line leave lines between them untouched. Fewer lines are walked, over
        // fewer sets where the lowest bits choose the sets, so a level fills up as if all lines were
        // used. Where a hash chooses the sets, the level holds only the used lines, and the other line
        // of each pair, which is prefetched.
        let used = (2.0 * mates).min(1.0);
        let held = |level: &Level| match level.placement {
            Placement::Hashed => bytes * used,
            Placement::Even | Placement::ByChance => bytes,
        };
        step_through(&self.levels, held, mates.max(1.0), self.memory)
    }

    /// Returns the time that translation adds to a step through `bytes` bytes in elements of `element`
    /// bytes.
    pub fn translate(&self, bytes: f64, element: f64) -> f64 {
        let Some(translation) = &self.translation else { return 0.0 };
        let mates = (translation.page / element).max(1.0);
        let tables = bytes / translation.page * ENTRY * translation.loads;
        let walk = translation.loads * self.load(tables, self.line / ENTRY);
        step_through(&translation.tlbs, |_| bytes, mates, walk)
    }
}

/// Returns the time per step that hits in one of these levels, or else takes the time `beyond`. `held` returns
/// the bytes that a level has to hold; `mates` is passed to [`Level::hits`].
fn step_through(levels: &[Level], held: impl Fn(&Level) -> f64, mates: f64, beyond: f64) -> f64 {
    let (mut time, mut found) = (0.0, 0.0);
    for level in levels {
        let hits = level.hits(held(level), mates).max(found);
        time += (hits - found) * level.cost;
        found = hits;
    }
    time + (1.0 - found) * beyond
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(kib: f64, ways: f64, placement: Placement, cost: f64) -> Level {
        Level { bytes: kib * 1024.0, ways, placement, cost }
    }

    fn walk() -> Walk {
        Walk {
            levels: vec![
                level(32.0, 8.0, Placement::Even, 4.0),
                level(1024.0, 8.0, Placement::ByChance, 14.0),
            ],
            memory: 500.0,
            line: 64.0,
            translation: None,
        }
    }

    #[test]
    fn a_step_costs_what_its_level_costs() {
        let walk = walk();
        let step = |kib: f64| walk.step(kib * 1024.0, 64.0);
        assert_eq!(step(4.0), 4.0);
        assert_eq!(step(32.0), 4.0);
        assert!((step(64.0) - 14.0).abs() < 0.1, "{}", step(64.0));
        assert!((step(1e6) - 500.0).abs() < 1e-6, "{}", step(1e6));
    }

    #[test]
    fn lines_that_are_left_out_make_room_where_a_hash_chooses_sets() {
        let mut walk = walk();
        walk.levels.push(level(4096.0, 16.0, Placement::Hashed, 50.0));
        let step = |kib: f64, element| walk.step(kib * 1024.0, element);
        // The walk outgrows L2 at the same working set; eight times its size in all lines outgrows both
        // levels.
        assert!(step(8192.0, 64.0) > 400.0);
        assert!((50.0..55.0).contains(&step(8192.0, 512.0)));
        // The other line of a pair is prefetched.
        assert_eq!(step(8192.0, 128.0), step(8192.0, 64.0));
    }

    #[test]
    fn companions_on_a_line_keep_some_steps_near() {
        // Eight elements per line and twice the size of L1d: 1 - (1/2)^(7/8) of the steps hit.
        let hits = walk().levels[0].hits(65536.0, 8.0);
        assert!((hits - 0.4547).abs() < 1e-4, "{hits}");
        assert_eq!(walk().levels[0].hits(65536.0, 1.0), 0.0);
    }

    #[test]
    fn pages_of_2_mib_take_translation_away() {
        let tlb = |entries: f64, page: f64, cost| Level {
            bytes: entries * page,
            ways: entries,
            placement: Placement::Even,
            cost,
        };
        let with = |page: f64, loads| Walk {
            translation: Some(Translation {
                page,
                tlbs: vec![tlb(64.0, page, 0.0), tlb(2048.0, page, 7.0)],
                loads,
            }),
            ..walk()
        };
        let bytes = 64.0 * 1048576.0;
        let [huge, base, guest] = [(2097152.0, 1.0), (4096.0, 1.0), (4096.0, 2.0)]
            .map(|(page, loads)| with(page, loads).step(bytes, 64.0));
        assert_eq!(huge, walk().step(bytes, 64.0));
        assert!(huge < base && base < guest, "{huge} {base} {guest}");
        // In L1d the first TLB covers everything.
        assert_eq!(with(4096.0, 1.0).step(16384.0, 64.0), 4.0);
    }
}
