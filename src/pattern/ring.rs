//! Circular lists: every element points to the next, and one cycle goes through all elements.

use super::computed::{self, Permutation};
use super::layout::Elements;
use super::rng::{self, Turn, draw_ahead};
use super::{Layout, LayoutError, Order, Path, Rng, SharedRing, order};
use crate::mem::{PAGE, Region, WORD};

/// Paths of a ring that are followed at the same time, so that their cache misses overlap.
const PATHS: usize = 32;

/// A circular list in a region: following the pointers from any element is one cycle through all
/// `count` elements.
///
/// A pointer is the address of the next element's pointer word. Only this type writes pointers, so a
/// kernel that follows them stays inside the region for as long as the ring borrows it.
///
/// ```
/// use linefill::mem::Region;
/// use linefill::pattern::{Layout, Order, Ring};
///
/// let mut memory = vec![0; 64 * 100 + 63];
/// let region = Region::new(&mut memory)?;
/// // 100 elements of a pointer and seven words, in an order that no prefetcher follows.
/// let ring = Ring::new(region, Layout::npad(7), 100, Order::Random { seed: 1 })?;
/// assert_eq!(ring.count(), 100);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Ring<'m> {
    region: Region<'m>,
    elements: Elements,
    cursor: usize,
    /// The order of all elements, if it was computed.
    computed: Option<Permutation>,
}

impl<'m> Ring<'m> {
    /// Builds a ring of `count` elements in `region`, without additional memory. A random order takes one
    /// random access per element; from 2^20 elements on it is computed, and written in address order.
    ///
    /// # Errors
    /// If the layout does not fit `count` elements into this region.
    pub fn new(
        region: Region<'m>,
        layout: Layout,
        count: usize,
        order: Order,
    ) -> Result<Self, LayoutError> {
        let elements = layout.bind(count, region.len())?;
        let mut ring = Ring { region, elements, cursor: 0, computed: None };
        match order {
            Order::Sequential => ring.link_along(1..count),
            Order::Random { seed } => {
                ring.link_path(0, count, 1, &mut Rng::new(seed));
                // The order that `link_path` computes from the same seed, for `link_ahead`.
                let is_computed = count >= computed::FROM;
                ring.computed = is_computed.then(|| Permutation::of(count, &mut Rng::new(seed)));
            }
            Order::RandomInBlocks { pages, seed } => ring.link_blocks(pages, seed),
            Order::Backward => ring.link_along((1..count).rev()),
            Order::Strided { elements } => {
                ring.link_along(order::strided(count, elements).skip(1));
            }
            Order::Streams { streams } => {
                ring.link_along(order::interleaved(count, streams).skip(1));
            }
            Order::Runs { elements, path, seed } => ring.link_runs(elements.max(1), path, seed),
        }
        ring.cursor = ring.address_of(0);
        Ok(ring)
    }

    /// The layout.
    pub fn layout(&self) -> &Layout {
        self.elements.layout()
    }

    /// Number of elements.
    pub fn count(&self) -> usize {
        self.elements.count()
    }

    /// Address of the next pointer word of a walk.
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// Moves the cursor to where a kernel stopped.
    ///
    /// # Panics
    /// If no word at `address` fits in the region.
    pub(crate) fn set_cursor(&mut self, address: usize) {
        let offset = self.offset(address);
        assert!(offset <= self.region.len() - WORD, "a walk left its ring: {address:#x}");
        self.cursor = address;
    }

    /// Address of the pointer word after the one at `address`.
    ///
    /// # Panics
    /// If `address` does not lie in the region.
    pub fn next(&self, address: usize) -> usize {
        self.word(address) as usize
    }

    /// The word at `address`.
    ///
    /// # Panics
    /// If the word does not lie in the region.
    pub fn word(&self, address: usize) -> u64 {
        self.region.word(self.offset(address))
    }

    /// Writes a word of padding. Crate-private: a pointer word must not be overwritten.
    pub(crate) fn set_word(&mut self, address: usize, value: u64) {
        self.region.set_word(self.offset(address), value);
    }

    /// Byte offset of `address` in the region; larger than the region if `address` lies before it.
    pub fn offset(&self, address: usize) -> usize {
        address.wrapping_sub(self.region.address())
    }

    /// Writes into word number `word` of every element the address of the pointer word `ahead` elements
    /// later: the jump pointer of a walk that prefetches.
    ///
    /// # Errors
    /// If the elements have no such word in addition to their pointer.
    pub fn link_ahead(&mut self, word: usize, ahead: usize) -> Result<(), LayoutError> {
        let layout = *self.layout();
        let words = layout.element() / WORD;
        if word >= words || word * WORD == layout.pointer_offset() {
            return Err(LayoutError::NoSuchWord { word, words });
        }
        let from_pointer = (word * WORD).wrapping_sub(layout.pointer_offset());
        if let Some(cycle) = self.computed {
            for index in 0..self.count() {
                let lead = self.address_of(cycle.after(index, ahead)) as u64;
                self.set_word(self.address_of(index).wrapping_add(from_pointer), lead);
            }
            return Ok(());
        }
        // Elements at equal distances divide the cycle into paths, which are followed at the same
        // time, so that their misses overlap.
        let count = self.count();
        let each = count.div_ceil(PATHS);
        let first = |path: usize| self.address_of((path * each).min(count - 1));
        let firsts: [usize; PATHS] = core::array::from_fn(first);
        let mut behind = firsts;
        let mut lead = firsts;
        for _ in 0..ahead % count {
            lead = lead.map(|address| self.next(address));
        }
        let mut under_way = [true; PATHS];
        while under_way.contains(&true) {
            for path in 0..PATHS {
                if !under_way[path] {
                    continue;
                }
                self.set_word(behind[path].wrapping_add(from_pointer), lead[path] as u64);
                behind[path] = self.next(behind[path]);
                lead[path] = self.next(lead[path]);
                self.fetch(behind[path]);
                self.fetch(lead[path]);
                under_way[path] = !firsts.contains(&behind[path]);
            }
        }
        Ok(())
    }

    /// Elements on the cycle through the first one; in every ring this is [`count`](Self::count).
    pub fn cycle_length(&self) -> usize {
        let first = self.address_of(0);
        let mut at = self.next(first);
        let mut length = 1;
        // A broken ring might never return to its start.
        while at != first && length <= self.count() {
            at = self.next(at);
            length += 1;
        }
        length
    }

    /// Returns the region.
    pub fn into_region(self) -> Region<'m> {
        self.region
    }

    /// Returns the ring for several threads. `None` if its words are not aligned to 8 bytes.
    pub fn share(self) -> Option<SharedRing<'m>> {
        let first = self.address_of(0);
        let (words, elements) = (self.region.into_atomics(), self.elements);
        elements.layout().aligned().then_some(SharedRing { words, elements, first })
    }

    /// Prefetches the line at `address`.
    fn fetch(&self, address: usize) {
        rng::fetch(core::ptr::with_exposed_provenance(address));
    }

    fn address_of(&self, index: usize) -> usize {
        self.region.address() + self.elements.pointer(index)
    }

    fn link(&mut self, from: usize, to: usize) {
        let to = self.address_of(to) as u64;
        self.region.set_word(self.elements.pointer(from), to);
    }

    /// Links element 0 and then all others in the order of `rest`, and the last with element 0.
    fn link_along(&mut self, rest: impl Iterator<Item = usize>) {
        let last = self.link_run(0, rest);
        self.link(last, 0);
    }

    /// Links the first elements of all runs into a random cycle, and inserts the rest of every run
    /// between its first element and the next run.
    fn link_runs(&mut self, elements: usize, path: Path, seed: u64) {
        let mut rng = Rng::new(seed);
        let runs = self.count().div_ceil(elements);
        self.link_path(0, runs, elements, &mut rng);
        for run in 0..runs {
            let first = run * elements;
            let to = first.saturating_add(elements).min(self.count());
            let next_run = self.region.word(self.elements.pointer(first));
            let last = match path {
                Path::Random => self.link_path(first, to, 1, &mut rng),
                Path::Forward => self.link_run(first, 1..to - first),
                Path::Triangular => self.link_run(first, order::triangular(to - first).skip(1)),
            };
            self.region.set_word(self.elements.pointer(last), next_run);
        }
    }

    /// Links `first` with the elements at the distances `rest` from it, and returns the last element.
    fn link_run(&mut self, first: usize, rest: impl Iterator<Item = usize>) -> usize {
        rest.fold(first, |from, distance| {
            self.link(from, first + distance);
            first + distance
        })
    }

    fn link_blocks(&mut self, pages: usize, seed: u64) {
        let block = (pages.saturating_mul(PAGE) / self.layout().stride()).max(1);
        let count = self.count();
        let mut rng = Rng::new(seed);
        let mut from = 0;
        while from < count {
            let to = from.saturating_add(block).min(count);
            let tail = self.link_path(from, to, 1, &mut rng);
            self.link(tail, to % count);
            from = to;
        }
    }

    /// Links the elements with the numbers `from..to` times `each` into a random cycle, and returns the
    /// element before the first one.
    ///
    /// Every element is inserted after a random earlier one; each of the (n-1)! cycles arises
    /// in exactly one way, so all are equally likely. Unlike a shuffle this needs no second array.
    fn link_path(&mut self, from: usize, to: usize, each: usize, rng: &mut Rng) -> usize {
        let mut tail = from * each;
        if to - from >= computed::FROM {
            let cycle = Permutation::of(to - from, rng);
            for index in 0..to - from {
                let next = cycle.after(index, 1);
                self.link((from + index) * each, (from + next) * each);
                if next == 0 {
                    tail = (from + index) * each;
                }
            }
            return tail;
        }
        self.link(tail, tail);
        draw_ahead(1..to - from, rng, |turn| match turn {
            Turn::Fetch(drawn) => self.fetch(self.address_of((from + drawn) * each)),
            Turn::Take { below, drawn } => {
                let (index, earlier) = ((from + below) * each, (from + drawn) * each);
                let follower = self.region.word(self.elements.pointer(earlier));
                self.region.set_word(self.elements.pointer(index), follower);
                self.link(earlier, index);
                if earlier == tail {
                    tail = index;
                }
            }
        });
        tail
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::vec;

    use super::*;

    #[test]
    fn a_long_ring_is_one_cycle_with_pointers_ahead() {
        let count = computed::FROM + 3;
        let mut bytes = vec![0; count * 16 + 64];
        let region = Region::new(&mut bytes).unwrap();
        let random = Order::Random { seed: 4 };
        let mut ring = Ring::new(region, Layout::npad(1), count, random).unwrap();
        assert_eq!(ring.cycle_length(), count);
        ring.link_ahead(1, 5).unwrap();
        assert_eq!(ring.cycle_length(), count);
        let mut at = ring.cursor();
        for _ in 0..100 {
            let ahead = (0..5).fold(at, |at, _| ring.next(at));
            assert_eq!(ring.word(at + 8), ahead as u64);
            at = ring.next(at);
        }
    }

    #[test]
    fn long_paths_in_blocks_and_of_runs_are_one_cycle_too() {
        let count = computed::FROM + 5;
        let mut bytes = vec![0; count * 8 + 2 * PAGE];
        let runs = Order::Runs { elements: 1, path: Path::Forward, seed: 1 };
        let blocks = Order::RandomInBlocks { pages: computed::FROM * 8 / PAGE, seed: 2 };
        for order in [runs, blocks] {
            let region = Region::new(&mut bytes).unwrap();
            let ring = Ring::new(region, Layout::npad(0), count, order).unwrap();
            assert_eq!(ring.cycle_length(), count, "{order:?}");
        }
    }
}
