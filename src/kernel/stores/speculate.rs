//! A store whose address comes late, and a load behind it that may be done before it (Drepper,
//! section 6.3.3).

// Calls assembly with places inside the region, or nodes of a ring.
#![allow(unsafe_code)]

use crate::kernel::chase::walk::padding_offsets;
use crate::kernel::{Access, Kernel, Work};
use crate::mem::{LINE, Region};
use crate::pattern::{Ring, Rng};

/// Whether a load has to wait for the address of the store before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Issue {
    /// Its own address is known early: a CPU may load at once, in the hope that the store turns
    /// out to be elsewhere.
    Free,
    /// Its own address depends on the store's: nobody could load earlier.
    Ordered,
}

/// Bytes of a word.
const WORD: usize = 8;

/// Byte offsets of the word that is stored to, of the one that is loaded where that is another,
/// and of the table of places.
const STORE: usize = 0;
const LOAD: usize = 3 * LINE;
const TABLE: usize = 4 * LINE;

/// Multiplications in either half of an operation, and by what.
const TIMES: u32 = 20;
const MULTIPLIER: u64 = 3;

/// What is stored first.
const FIRST: u64 = 0x0807_0605_0403_0201;

/// Core cycles that either half of an operation waits for its multiplications.
pub const SPECULATE_CHAIN: u32 = 3 * TIMES;

/// Why there are no such places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpeculateError {
    /// The region is smaller than [`Speculate::BYTES`]; holds its length.
    RegionTooSmall(usize),
    /// More loads of the place stored to than there are loads.
    TooManyShared(usize),
    /// A ring without padding has no word to store to.
    NoPadding,
}

messages! { SpeculateError:
    SpeculateError::RegionTooSmall(bytes) => (
        "a region of {bytes} bytes is too small; {} are needed", Speculate::BYTES
    );
    SpeculateError::TooManyShared(shared) => ("{shared} of {PLACES} loads cannot meet a store");
    SpeculateError::NoPadding => ("the elements have no word of padding to store to");
}

/// A store whose address waits for a chain of multiplications, and a load whose result goes
/// through another. An operation is one of each, and begins when the one before is done.
#[derive(Debug)]
pub struct Speculate<'m> {
    region: Region<'m>,
    issue: Issue,
    value: u64,
}

impl<'m> Speculate<'m> {
    /// Bytes of region that it needs.
    pub const BYTES: usize = TABLE + PLACES * WORD;

    /// Of 256 loads, `shared` are of the place that was just stored to: which ones, `seed`
    /// decides. The others are of another line of the same page.
    ///
    /// # Errors
    /// If the region is too small, or `shared` more than 256.
    pub fn new(
        mut region: Region<'m>,
        issue: Issue,
        shared: usize,
        seed: u64,
    ) -> Result<Self, SpeculateError> {
        lay_out(&mut region, shared, seed)?;
        Ok(Speculate {
            region,
            issue,
            value: FIRST,
        })
    }
}

/// Writes the table of places, and the word to load.
fn lay_out(region: &mut Region<'_>, shared: usize, seed: u64) -> Result<(), SpeculateError> {
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
    Ok(())
}

impl Kernel for Speculate<'_> {
    /// Returns the value after the last operation.
    fn run(&mut self, operations: u64) -> u64 {
        if operations > 0 {
            let kernel: Chains = match self.issue {
                Issue::Free => linefill_speculate,
                Issue::Ordered => linefill_speculate_ordered,
            };
            let bytes = self.region.bytes_mut().as_mut_ptr();
            // SAFETY: `lay_out` has seen to it that the word stored to and the table lie in the
            // region, which is borrowed mutably and starts on a line, and that the table holds
            // addresses of words in the region.
            self.value = unsafe {
                kernel(
                    bytes.add(STORE),
                    bytes.add(TABLE).cast(),
                    operations,
                    MULTIPLIER,
                    self.value,
                )
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
            self.value = (0..TIMES).fold(self.region.word(place), |product, _| {
                product.wrapping_mul(MULTIPLIER)
            });
        }
        self.value
    }
}

/// Of either kernel.
const WORK: Work = Work::NONE.load(2, WORD as u32).store(1, WORD as u32);

/// A store whose address waits for a node of a ring, and a load of the node half a ring away. An
/// operation is a step of both, and begins when the one before is done.
#[derive(Debug)]
pub struct SpeculateMiss<'m> {
    ring: Ring<'m>,
    issue: Issue,
    /// Address of the node that is loaded next.
    other: usize,
    /// Address of the word stored to.
    store: usize,
}

impl<'m> SpeculateMiss<'m> {
    /// One walk begins at the ring's cursor, the other where half of its steps lead; the store is
    /// to padding of the first.
    ///
    /// # Errors
    /// If the elements have no padding.
    pub fn new(ring: Ring<'m>, issue: Issue) -> Result<Self, SpeculateError> {
        let (other, store) = apart(&ring)?;
        Ok(SpeculateMiss {
            ring,
            issue,
            other,
            store,
        })
    }
}

/// Addresses of the pointer word half a ring from the cursor, and of padding beside the cursor.
fn apart(ring: &Ring<'_>) -> Result<(usize, usize), SpeculateError> {
    if ring.layout().padding() == 0 {
        return Err(SpeculateError::NoPadding);
    }
    let half = ring.count() / 2;
    let other = (0..half).fold(ring.cursor(), |at, _| ring.next(at));
    let (padding, _) = padding_offsets(ring);
    Ok((other, ring.cursor().wrapping_add_signed(padding)))
}

impl Kernel for SpeculateMiss<'_> {
    /// Returns the byte offset at which the walk stopped that the store waits for.
    fn run(&mut self, operations: u64) -> u64 {
        if operations > 0 {
            let kernel: Misses = match self.issue {
                Issue::Free => linefill_speculate_miss,
                Issue::Ordered => linefill_speculate_miss_ordered,
            };
            let store = core::ptr::with_exposed_provenance_mut(self.store);
            // SAFETY: the cursor and `other` are pointer words of the ring, which is borrowed
            // mutably; every pointer word holds the address of another; `apart` found `store`
            // to be padding, which holds none.
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

/// How many places to load from a kernel of chains takes in turn.
pub const PLACES: usize = 256;

family! {
    /// The shape of the kernels whose store waits for a chain of multiplications: returns the value
    /// after `operations`.
    ///
    /// # Safety
    /// `store` is valid for writes of 8 bytes, each of the `places` for reads of as many;
    /// `operations` is not 0.
    pub type Chains = unsafe extern "sysv64" fn(
        store: *mut u8,
        places: *const [u64; PLACES],
        operations: u64,
        multiplier: u64,
        value: u64,
    ) -> u64;

    /// The load does not wait for the store's address.
    linefill_speculate
    /// It does.
    linefill_speculate_ordered
}

/// Two places in a list.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursors {
    /// The node that the store waits for.
    pub slow: usize,
    /// The node that is loaded behind it.
    pub other: usize,
}

family! {
    /// The shape of the kernels whose store waits for a node: returns where both walks stopped.
    ///
    /// # Safety
    /// `store` is valid for writes of 8 bytes and no pointer word; `slow` and `other` are pointer
    /// words, each of which holds the address of another, for `steps` steps; `steps` is not 0.
    pub type Misses =
        unsafe extern "sysv64" fn(store: *mut u8, slow: usize, other: usize, steps: u64) -> Cursors;

    /// The load does not wait for the store's address.
    linefill_speculate_miss
    /// It does.
    linefill_speculate_miss_ordered
}

/// The patterns on which the kernels are checked against their model.
mod checks {
    use crate::kernel::verify::{Oracle, PADDED};
    use crate::kernel::{Issue, Speculate, SpeculateMiss};

    impl Oracle<'_, '_> {
        pub(crate) fn speculations(&mut self) {
            for (issue, chains, misses) in [
                (Issue::Free, "linefill_speculate", "linefill_speculate_miss"),
                (
                    Issue::Ordered,
                    "linefill_speculate_ordered",
                    "linefill_speculate_miss_ordered",
                ),
            ] {
                let shared = [0, 1, 16, 128, 255, 256];
                self.check(chains, shared, |&shared, memory, then| {
                    then(&mut Speculate::new(memory, issue, shared, 7).ok()?)
                });
                self.check(misses, PADDED, |ring, memory, then| {
                    then(&mut SpeculateMiss::new(ring.build(memory)?, issue).ok()?)
                });
            }
        }
    }
}
