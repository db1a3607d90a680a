//! Maps of other crates, in place of Java's `ConcurrentHashMap`.

use crate::experiment::topics::maps::map::SharedMap;
use core::hash::{BuildHasherDefault, Hasher};
use dashmap::{DashMap, Entry};
use papaya::HashMap;

/// Spreads a key over all bits by one multiplication. The note's hash takes three instructions; the
/// default hash of the standard library would take longer than the maps.
#[derive(Debug, Default)]
pub(crate) struct Multiply(u64);

/// 2^64 over the golden ratio (Knuth, volume 3, section 6.4, on multiplicative hashing).
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

impl Hasher for Multiply {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0.rotate_left(8) ^ u64::from(byte)).wrapping_mul(GOLDEN);
        }
    }

    fn write_u32(&mut self, key: u32) {
        self.0 = u64::from(key).wrapping_mul(GOLDEN);
    }
}

type Hash = BuildHasherDefault<Multiply>;

pub(crate) struct Dash(DashMap<u32, u64, Hash>);

impl Dash {
    /// Creates a map with as many shards as the striped maps have stripes, rounded up to a power of
    /// two, and at least two.
    pub fn new(stripes: usize, keys: usize) -> Self {
        let shards = stripes.next_power_of_two().max(2);
        Dash(DashMap::with_capacity_and_hasher_and_shard_amount(keys, Hash::default(), shards))
    }
}

impl SharedMap for Dash {
    fn get(&self, key: u32) -> Option<u64> {
        self.0.get(&key).map(|value| *value)
    }

    fn contains(&self, key: u32) -> bool {
        self.0.contains_key(&key)
    }

    fn put(&self, key: u32, value: u64) -> Option<u64> {
        self.0.insert(key, value)
    }

    fn put_if_absent(&self, key: u32, value: u64) -> Option<u64> {
        match self.0.entry(key) {
            Entry::Occupied(held) => Some(*held.get()),
            Entry::Vacant(place) => {
                place.insert(value);
                None
            }
        }
    }

    fn remove(&self, key: u32) -> Option<u64> {
        self.0.remove(&key).map(|(_, value)| value)
    }

    fn for_each(&self, each: &mut dyn FnMut(u32, u64)) {
        for held in &self.0 {
            each(*held.key(), *held.value());
        }
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

pub(crate) struct Papaya(HashMap<u32, u64, Hash>);

impl Papaya {
    pub fn new(keys: usize) -> Self {
        Papaya(HashMap::with_capacity_and_hasher(keys, Hash::default()))
    }
}

impl SharedMap for Papaya {
    fn get(&self, key: u32) -> Option<u64> {
        self.0.pin().get(&key).copied()
    }

    fn contains(&self, key: u32) -> bool {
        self.0.pin().contains_key(&key)
    }

    fn put(&self, key: u32, value: u64) -> Option<u64> {
        self.0.pin().insert(key, value).copied()
    }

    fn put_if_absent(&self, key: u32, value: u64) -> Option<u64> {
        match self.0.pin().try_insert(key, value) {
            Ok(_) => None,
            Err(held) => Some(*held.current),
        }
    }

    fn remove(&self, key: u32) -> Option<u64> {
        self.0.pin().remove(&key).copied()
    }

    fn for_each(&self, each: &mut dyn FnMut(u32, u64)) {
        for (key, value) in &self.0.pin() {
            each(*key, *value);
        }
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}
