//! Kernels about instructions: where they lie, how they are fetched, how they change.

pub(super) mod codealign;
pub(super) mod handover;
pub(super) mod patch;
pub(super) mod routine;

pub use codealign::{CodeAlign, NoSuchOffset, Placed};
#[doc(hidden)]
pub use handover::Handover;
#[doc(hidden)]
pub use patch::Patch;
#[doc(hidden)]
pub use routine::{Function, Routine};

use crate::cpu::Features;
use crate::kernel::verify::Oracle;

/// Checks every kernel of this subject against its model.
pub(super) fn verify(oracle: &mut Oracle<'_, '_>, _: Features) {
    oracle.codealigns();
}
