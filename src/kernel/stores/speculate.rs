//! A store whose address is known late, and a later load that may be executed before it (Drepper,
//! section 6.3.3).

// Calls assembly with addresses inside the region, or of nodes of a ring.
#![allow(unsafe_code)]

use crate::kernel::chase::walk::padding_offsets;
use crate::kernel::verify::{Oracle, PADDED};
use crate::kernel::{Access, Kernel, Work};
use crate::mem::{LINE, Region, WORD};
use crate::pattern::{Ring, Rng};

/// Whether a load has to wait for the address of the preceding store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Issue {
    /// The load's address is known early. A CPU may load at once and speculate that the store is to
    /// another address.
    Free,
    /// The load's address depends on the store's address. No CPU can load earlier.
    Ordered,
}

/// Byte offsets of the stored word, of the other word to load, and of the table of load addresses.
const STORE: usize = 0;
const LOAD: usize = 3 * LINE;
const TABLE: usize = 4 * LINE;

/// Multiplications in either half of an operation, and their factor.
const TIMES: u32 = 20;
const MULTIPLIER: u64 = 3;

/// The initial value of the stored and the loaded word.
const FIRST: u64 = 0x0807_0605_0403_0201;

/// Core cycles that either half of an operation waits for its multiplications.
pub const SPECULATE_CHAIN: u32 = 3 * TIMES;

/// Why a kernel of this subject cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpeculateError {
    /// The region is smaller than [`Speculate::BYTES`]; holds its length.
    RegionTooSmall(usize),
    /// The number of loads that are to read the stored word, if it is more than the number of loads.
    TooManyShared(usize),
    /// The ring's elements have no padding, so there is no word to store to.
    NoPadding,
}

messages! { SpeculateError:
    SpeculateError::RegionTooSmall(bytes) => (
        "a region of {bytes} bytes is too small; {} are needed", Speculate::BYTES
    );
    SpeculateError::TooManyShared(shared) => ("{shared} of {PLACES} loads cannot meet a store");
    SpeculateError::NoPadding => ("the elements have no word of padding to store to");
}

/// A store whose address waits for a chain of multiplications, and a load whose result enters another
/// chain. An operation is one store and one load, and begins when both chains of the one before are done.
#[derive(Debug)]
pub struct Speculate<'m> {
    region: Region<'m>,
    issue: Issue,
    value: u64,
}

impl<'m> Speculate<'m> {
    /// Bytes of region that the kernel needs.
    pub const BYTES: usize = TABLE + PLACES * WORD;

    /// Creates the kernel. Of 256 loads, `shared` read the word that was just stored; `seed` chooses
    /// which ones. The others read another line of the same page.
    ///
    /// # Errors
    /// If the region is too small, or `shared` is more than 256.
    pub fn new(
        mut region: Region<'m>,
        issue: Issue,
        shared: usize,
        seed: u64,
    ) -> Result<Self, SpeculateError> {
        if region.len() < Speculate::BYTES {
            return Err(SpeculateError::RegionTooSmall(region.len()));
        }
        if shared > PLACES {
            return Err(SpeculateError::TooManyShared(shared));
        }
        let mut rng = Rng::new(seed);
        let mut left = shared;
        for turn in 0..PLACES {
            let shares = rng.below(PLACES - turn) < left;
            left -= usize::from(shares);
            let place = if shares { STORE } else { LOAD };
            let address = region.address() + place;
            region.set_word(TABLE + turn * WORD, address as u64);
        }
        region.set_word(LOAD, FIRST);
        Ok(Speculate { region, issue, value: FIRST })
    }
}

impl Kernel for Speculate<'_> {
    /// Returns the value after the last operation.
    fn run(&mut self, operations: u64) -> u64 {
        if operations > 0 {
            let bytes = self.region.bytes_mut().as_mut_ptr();
            // SAFETY: `new` has checked that the stored word and the table lie in the region,
            // which is borrowed mutably and starts on a line, and has filled the table with
            // addresses of words in the region.
            self.value = unsafe {
                let (store, table) = (bytes.add(STORE), bytes.add(TABLE).cast());
                (chains(self.issue).call)(store, table, operations, MULTIPLIER, self.value)
            };
        }
        self.value
    }

    fn work(&self) -> Work {
        WORK
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        for left in (1..=operations).rev() {
            let entry = TABLE + left as usize % PLACES * WORD;
            sink(Access::load(entry, WORD as u32));
            let place = self.region.word(entry) as usize - self.region.address();
            sink(Access::store(STORE, WORD as u32));
            self.region.set_word(STORE, self.value);
            sink(Access::load(place, WORD as u32));
            self.value = (0..TIMES)
                .fold(self.region.word(place), |product, _| product.wrapping_mul(MULTIPLIER));
        }
        self.value
    }
}

/// The work of one operation, for both kernels.
const WORK: Work = Work::NONE.load(2, WORD as u32).store(1, WORD as u32);

/// A store whose address waits for a node of a ring, and a load of the node half a ring away. An
/// operation is one step of both walks, and begins when the one before is done.
#[derive(Debug)]
pub struct SpeculateMiss<'m> {
    ring: Ring<'m>,
    issue: Issue,
    /// Address of the node that is loaded next.
    other: usize,
    /// Address of the word to store to.
    store: usize,
}

impl<'m> SpeculateMiss<'m> {
    /// Creates two walks. One begins at the ring's cursor, the other half a ring further. The store is to
    /// the padding of the cursor's element.
    ///
    /// # Errors
    /// If the elements have no padding.
    pub fn new(ring: Ring<'m>, issue: Issue) -> Result<Self, SpeculateError> {
        if ring.layout().padding() == 0 {
            return Err(SpeculateError::NoPadding);
        }
        let half = ring.count() / 2;
        let other = (0..half).fold(ring.cursor(), |at, _| ring.next(at));
        let (padding, _) = padding_offsets(ring.layout());
        let store = ring.cursor().wrapping_add_signed(padding);
        Ok(SpeculateMiss { ring, issue, other, store })
    }
}

impl Kernel for SpeculateMiss<'_> {
    /// Returns the byte offset at which the walk that the store waits for stopped.
    fn run(&mut self, operations: u64) -> u64 {
        if operations > 0 {
            let kernel = misses(self.issue).call;
            let store = core::ptr::with_exposed_provenance_mut(self.store);
            // SAFETY: the cursor and `other` are pointer words of the ring, which is borrowed
            // mutably; every pointer word holds the address of another; `new` chose padding for
            // `store`, which is not a pointer word.
            let stopped = unsafe { kernel(store, self.ring.cursor(), self.other, operations) };
            self.ring.set_cursor(stopped.slow);
            self.other = stopped.other;
        }
        self.ring.offset(self.ring.cursor()) as u64
    }

    fn work(&self) -> Work {
        WORK
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        let word = WORD as u32;
        for _ in 0..operations {
            let ring = &mut self.ring;
            sink(Access::load(ring.offset(ring.cursor()), word));
            ring.set_cursor(ring.next(ring.cursor()));
            sink(Access::store(ring.offset(self.store), word));
            ring.set_word(self.store, self.other as u64);
            sink(Access::load(ring.offset(self.other), word));
            self.other = ring.next(self.other);
        }
        self.ring.offset(self.ring.cursor()) as u64
    }
}

/// Number of load addresses through which a kernel of chains cycles.
pub const PLACES: usize = 256;

family! {
    /// The function type of the kernels whose store waits for a chain of multiplications: returns the
    /// value after `operations` operations.
    ///
    /// # Safety
    /// `store` is valid for writes of 8 bytes, each of the `places` for reads of 8 bytes;
    /// `operations` is not 0.
    pub type Chains = unsafe extern "sysv64" fn(
        store: *mut u8,
        places: *const [u64; PLACES],
        operations: u64,
        multiplier: u64,
        value: u64,
    ) -> u64;

    fn chains(issue: Issue) {
        Issue::Free => linefill_speculate,
        Issue::Ordered => linefill_speculate_ordered,
    }
}

/// The positions of two walks in a list.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursors {
    /// The node for which the store waits.
    pub slow: usize,
    /// The node that is loaded after the store.
    pub other: usize,
}

family! {
    /// The function type of the kernels whose store waits for a node: returns where both walks stopped.
    ///
    /// # Safety
    /// `store` is valid for writes of 8 bytes and is not a pointer word; `slow` and `other` are pointer
    /// words, each of which holds the address of another, for `steps` steps; `steps` is not 0.
    pub type Misses =
        unsafe extern "sysv64" fn(store: *mut u8, slow: usize, other: usize, steps: u64) -> Cursors;

    fn misses(issue: Issue) {
        Issue::Free => linefill_speculate_miss,
        Issue::Ordered => linefill_speculate_miss_ordered,
    }
}

impl Oracle<'_, '_> {
    pub(crate) fn speculations(&mut self) {
        for issue in [Issue::Free, Issue::Ordered] {
            let shared = [0, 1, 16, 128, 255, 256];
            self.check(chains(issue).name, shared, |&shared, memory, then| {
                then(&mut Speculate::new(memory, issue, shared, 7).ok()?)
            });
            self.check(misses(issue).name, PADDED, |ring, memory, then| {
                then(&mut SpeculateMiss::new(ring.build(memory)?, issue).ok()?)
            });
        }
    }
}
