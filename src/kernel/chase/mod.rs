//! Kernels that follow addresses: each load depends on the last load of its chain.

pub(super) mod addressing;
pub(super) mod fields;
pub(super) mod indices;
pub(super) mod parallel;
pub(super) mod prefetch;
pub(super) mod shared;
pub(super) mod straddle;
pub(super) mod translate;
pub(super) mod walk;

use crate::cpu::Features;
use crate::kernel::verify::Oracle;
pub use addressing::{Chase, ChaseError, Mode};
pub use fields::{Direction, Fields, FieldsError, TwoFields, TwoFieldsError};
#[doc(hidden)]
pub use indices::Gather;
pub use indices::IndexChase;
pub use parallel::ParallelChase;
#[doc(hidden)]
pub use prefetch::MOST_WORK;
pub use prefetch::{Ahead, Dependence, PrefetchError, PrefetchWalk};
pub use shared::{SharedWalk, Visit, VisitError};
pub use straddle::{WideChase, WideChaseError};
pub use translate::{Reach, Translate, TranslateError};
#[doc(hidden)]
pub use walk::Revisit;
pub use walk::{PageAlias, Step, Walk, WalkError};

/// Checks every kernel of this folder.
pub(super) fn check(oracle: &mut Oracle<'_, '_>, features: Features) {
    oracle.walks();
    oracle.jumps();
    oracle.chases(features);
    oracle.fields();
    oracle.pairs();
    oracle.picks();
    oracle.lanes();
    oracle.prefetches();
    oracle.straddles(features);
    oracle.translations();
}
