//! Every kernel against its plain model, its [trace](crate::kernel::Kernel::trace).
//!
//! Runs wherever the kernels run, the bare image included: it allocates nothing and knows no
//! operating system. A kernel and its model start from the same bytes at the same addresses, do
//! the same operations in the same portions, and must return the same proofs and leave the same
//! bytes behind, also outside the pattern. The accesses that the model reports must be as many as
//! the work declares. Where the model runs the kernel itself, because a plain one would take too
//! long, a twin beside it takes its place; what a kernel packs beside its pattern may differ then.
//! A kernel's file says on which patterns it is checked. A kernel that has a form by intrinsics is
//! checked in both under the one name, where the target has it.

use crate::cpu::Features;
pub(crate) use crate::kernel::verify::run::Oracle;
use crate::kernel::{chase, code, coherence, compute, stores, stream};
use crate::mem::Region;
pub use check::{Difference, Mismatch};

pub(super) mod check;
pub(super) mod ring;
pub(super) mod run;

/// Bytes of region that [`check_all`] needs.
#[doc(hidden)]
pub const ROOM: usize = check::Parts::COUNT * check::LARGEST;

/// Checks every kernel that this CPU can run, inside `region`, whose contents are lost.
///
/// `report` gets the symbol of each kernel of [`symbols`](crate::kernel::symbols) and what became of it,
/// once a kernel. Kernels that need a feature missing from `features` are not run and not
/// reported. A region smaller than [`ROOM`] fails every kernel.
pub fn check_all(
    region: &mut Region<'_>,
    features: &Features,
    report: &mut dyn FnMut(&'static str, Result<(), Mismatch>),
) {
    let mut oracle = run::Oracle::new(region.reborrow(), report);
    chase::verify(&mut oracle, *features);
    stream::verify(&mut oracle, *features);
    stores::verify(&mut oracle, *features);
    compute::verify(&mut oracle, *features);
    code::verify(&mut oracle, *features);
    coherence::verify(&mut oracle, *features);
}
