//! Kernels about stores: through and past the caches, forwarded, locked, and waiting in the store buffer.

pub(super) mod fill;
pub(super) mod flush;
pub(super) mod forward;
pub(super) mod lock;
pub(super) mod pending;
pub(super) mod speculate;
pub(super) mod store;

use crate::cpu::Features;
use crate::kernel::verify::Oracle;
pub use fill::{FillError, FillLines, FillWay};
pub use flush::{FlushLines, FlushWay, Rewrite, RewriteWay};
#[doc(hidden)]
pub use forward::{Forward, ForwardError, Passing, Trip};
pub use lock::{LockAdd, LockError};
#[doc(hidden)]
pub use pending::{
    Alias4K, Alias4KError, MOST_PENDING, StoreAddress, StoreBufferFill, TooManyStores,
};
#[doc(hidden)]
pub use speculate::{Issue, SPECULATE_CHAIN, Speculate, SpeculateError, SpeculateMiss};
pub use store::{Store, StoreError, Sweep, Temporal};

/// Checks every kernel of this folder.
pub(super) fn check(oracle: &mut Oracle<'_, '_>, features: Features) {
    oracle.stores(features);
    oracle.fills();
    oracle.flushes(features);
    oracle.rewrites(features);
    oracle.pendings();
    oracle.aliases();
    oracle.locks();
    oracle.forwards(features);
    oracle.speculations();
}
