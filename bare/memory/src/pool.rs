//! A set of areas of free memory.

/// Memory from `start` to before `end`, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Area {
    /// The first byte.
    pub start: u64,
    /// The byte after the last one.
    pub end: u64,
}

impl Area {
    /// Returns the area of `bytes` bytes at `start`, cut off at the last address.
    pub const fn new(start: u64, bytes: u64) -> Self {
        Area { start, end: start.saturating_add(bytes) }
    }

    /// Returns the size in bytes.
    pub const fn bytes(self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// Returns the intersection of both areas.
    #[must_use]
    pub fn within(self, other: Area) -> Self {
        let start = self.start.max(other.start);
        Area { start, end: self.end.min(other.end).max(start) }
    }
}

/// The most areas. A machine's memory has a handful of holes, and a few pieces are lent at a time.
const MOST: usize = 64;

/// Areas of free memory in ascending order. They neither touch nor overlap.
#[derive(Clone, Debug)]
pub struct Pool {
    areas: [Area; MOST],
    used: usize,
}

impl Pool {
    /// Returns an empty pool.
    pub const fn new() -> Self {
        Pool { areas: [Area { start: 0, end: 0 }; MOST], used: 0 }
    }

    /// Returns the areas in ascending order.
    pub fn areas(&self) -> &[Area] {
        &self.areas[..self.used]
    }

    /// Returns the total size in bytes.
    pub fn bytes(&self) -> u64 {
        self.areas().iter().map(|area| area.bytes()).sum()
    }

    /// Adds those parts of `area` that are not in the pool. Returns `false`, and changes nothing, if the pool
    /// has no room for another area.
    pub fn add(&mut self, area: Area) -> bool {
        if area.bytes() == 0 {
            return true;
        }
        // Areas that touch `area` are merged with it.
        let first = self.areas().partition_point(|one| one.end < area.start);
        let behind = self.areas().partition_point(|one| one.start <= area.end);
        let touching = &self.areas[first..behind];
        let joined = touching.iter().fold(area, |joined, one| Area {
            start: joined.start.min(one.start),
            end: joined.end.max(one.end),
        });
        self.replace(first, behind, &[joined])
    }

    /// Removes those parts of `area` that are in the pool. Returns `false`, and changes nothing, if the pool
    /// has no room for the areas that remain.
    pub fn remove(&mut self, area: Area) -> bool {
        if area.bytes() == 0 {
            return true;
        }
        let first = self.areas().partition_point(|one| one.end <= area.start);
        let behind = self.areas().partition_point(|one| one.start < area.end);
        let Some([one, .., last] | [one @ last]) = self.areas.get(first..behind) else {
            return true;
        };
        let left = Area { start: one.start, end: one.start.max(area.start) };
        let right = Area { start: last.end.min(area.end), end: last.end };
        match (left.bytes() > 0, right.bytes() > 0) {
            (true, true) => self.replace(first, behind, &[left, right]),
            (true, false) => self.replace(first, behind, &[left]),
            (false, true) => self.replace(first, behind, &[right]),
            (false, false) => self.replace(first, behind, &[]),
        }
    }

    /// Takes `bytes` bytes at a multiple of `align`, a power of two, that end at `below` or before. Takes
    /// them from the smallest area that is large enough, so that large areas stay whole.
    pub fn take(&mut self, bytes: u64, align: u64, below: u64) -> Option<Area> {
        let fits = |area: &&Area| {
            let start = area.start.checked_next_multiple_of(align)?;
            let taken = Area { start, end: start.checked_add(bytes)? };
            (taken.end <= area.end.min(below)).then_some((area.bytes(), taken))
        };
        let places = self.areas().iter().filter_map(|area| fits(&area));
        let (_, taken) = places.min_by_key(|(bytes, _)| *bytes)?;
        self.remove(taken).then_some(taken)
    }

    /// Replaces the areas from `first` to before `behind`. Returns `false` if there is no room.
    fn replace(&mut self, first: usize, behind: usize, by: &[Area]) -> bool {
        let used = self.used - (behind - first) + by.len();
        if used > MOST {
            return false;
        }
        self.areas.copy_within(behind..self.used, first + by.len());
        self.areas[first..first + by.len()].copy_from_slice(by);
        self.used = used;
        true
    }
}

impl Default for Pool {
    fn default() -> Self {
        Pool::new()
    }
}
