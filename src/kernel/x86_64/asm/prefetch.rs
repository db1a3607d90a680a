//! `asm/prefetch.S`.

// Declares assembly.
#![allow(unsafe_code)]

/// The shape of the family: walks `steps` steps with `work` multiplications each, and prefetches
/// at each the address found `jump` bytes from the pointer word. Returns the last address.
///
/// # Safety
/// `at` is the address of a readable word that holds such an address in turn, for `steps` steps;
/// the words at `jump` are readable, if it prefetches (what they hold may be any address);
/// `steps` is not 0 and `work` is at most 256.
pub type Walks = unsafe extern "sysv64" fn(at: usize, steps: u64, jump: isize, work: u64) -> usize;

macro_rules! walks {
    ($($prefetch:literal $name:ident $serial:ident)*) => {
        unsafe extern "sysv64" {$(
            #[doc = concat!($prefetch, "; the next step does not wait for the work.")]
            ///
            /// # Safety
            /// See [`Walks`].
            pub fn $name(at: usize, steps: u64, jump: isize, work: u64) -> usize;

            #[doc = concat!($prefetch, "; the next step waits for the work.")]
            ///
            /// # Safety
            /// See [`Walks`].
            pub fn $serial(at: usize, steps: u64, jump: isize, work: u64) -> usize;
        )*}
    };
}

walks! {
    "No prefetch, and no load of the address for it" linefill_prefetch_none linefill_prefetch_none_serial
    "`prefetcht0`" linefill_prefetch_t0 linefill_prefetch_t0_serial
    "`prefetcht1`" linefill_prefetch_t1 linefill_prefetch_t1_serial
    "`prefetcht2`" linefill_prefetch_t2 linefill_prefetch_t2_serial
    "`prefetchnta`" linefill_prefetch_nta linefill_prefetch_nta_serial
    "`prefetchw`" linefill_prefetch_w linefill_prefetch_w_serial
}
