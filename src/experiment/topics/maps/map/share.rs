//! What a thread does with the map in the note's program.

use crate::experiment::topics::maps::map::SharedMap;
use crate::pattern::java::Random;

/// The chance that an absent key is put.
const PUT: f64 = 0.60;

/// The chance that a present key is removed, and put again if it is still absent then.
const REMOVE: f64 = 0.02;

/// A thread's part of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Share {
    /// Which thread it is, from 0: decides the keys.
    pub thread: u32,
    /// How many keys it looks at.
    pub operations: u64,
    /// Keys are 0 up to below this.
    pub range: u32,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Keys that were put where there was none.
    pub added: u64,
    /// Keys that were removed.
    pub removed: u64,
    /// Keys that were there at the end, counted one by one.
    pub counted: u64,
}

impl Share {
    /// Does it to a map. Java's random numbers decide, so that one thread alone finds the same
    /// with every map.
    pub(crate) fn of<M: SharedMap + ?Sized>(self, map: &M) -> Tally {
        let mut random = Random::new(i64::from(37 * self.thread + 78));
        let mut tally = Tally::default();
        for _ in 0..self.operations {
            let key = random.next_int_below(self.range);
            let value = u64::from(key);
            if !map.contains(key) {
                if random.next_double() < PUT {
                    tally.added += u64::from(map.put(key, value).is_none());
                }
            } else if random.next_double() < REMOVE {
                tally.removed += u64::from(map.remove(key).is_some());
                tally.added += u64::from(map.put_if_absent(key, value).is_none());
            }
        }
        map.for_each(&mut |_, _| tally.counted += 1);
        tally
    }
}

impl Tally {
    /// The sum of both tallies; of the two counts at the end, the larger.
    pub fn with(self, other: Tally) -> Tally {
        Tally {
            added: self.added + other.added,
            removed: self.removed + other.removed,
            counted: self.counted.max(other.counted),
        }
    }
}
