//! `asm/speculate.S`.

// Declares assembly.
#![allow(unsafe_code)]

/// How many places to load from a kernel of chains takes in turn.
pub const PLACES: usize = 256;

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

/// Two places in a list.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursors {
    /// The node that the store waits for.
    pub slow: usize,
    /// The node that is loaded behind it.
    pub other: usize,
}

/// The shape of the kernels whose store waits for a node: returns where both walks stopped.
///
/// # Safety
/// `store` is valid for writes of 8 bytes and no pointer word; `slow` and `other` are pointer
/// words, each of which holds the address of another, for `steps` steps; `steps` is not 0.
pub type Misses =
    unsafe extern "sysv64" fn(store: *mut u8, slow: usize, other: usize, steps: u64) -> Cursors;

unsafe extern "sysv64" {
    /// The load does not wait for the store's address.
    ///
    /// # Safety
    /// See [`Chains`].
    pub fn linefill_speculate(
        store: *mut u8,
        places: *const [u64; PLACES],
        operations: u64,
        multiplier: u64,
        value: u64,
    ) -> u64;

    /// It does.
    ///
    /// # Safety
    /// See [`Chains`].
    pub fn linefill_speculate_ordered(
        store: *mut u8,
        places: *const [u64; PLACES],
        operations: u64,
        multiplier: u64,
        value: u64,
    ) -> u64;

    /// The load does not wait for the store's address.
    ///
    /// # Safety
    /// See [`Misses`].
    pub fn linefill_speculate_miss(
        store: *mut u8,
        slow: usize,
        other: usize,
        steps: u64,
    ) -> Cursors;

    /// It does.
    ///
    /// # Safety
    /// See [`Misses`].
    pub fn linefill_speculate_miss_ordered(
        store: *mut u8,
        slow: usize,
        other: usize,
        steps: u64,
    ) -> Cursors;
}
