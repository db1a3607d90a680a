//! Every kernel against its plain twin.
//!
//! Runs wherever the kernels run, the bare image included: it allocates nothing and knows no
//! operating system. A kernel and its twin start from the same bytes at the same addresses, do
//! the same operations in the same portions, and must return the same proofs and leave the same
//! bytes behind, also outside the pattern; only what a kernel packs beside it may differ. The
//! kernel's trace must agree with the work it declares and with where it stops. A family's file
//! says on which patterns its kernels are checked. A kernel that has a form by intrinsics, too, is
//! checked in both under the one name, where the target has it.

use crate::cpu::Features;
pub(crate) use crate::kernel::verify::run::Oracle;
use crate::kernel::{chase, code, coherence, compute, stores, stream};
use crate::mem::Region;
pub use check::{Difference, Mismatch};

pub(super) mod check;
pub(super) mod lines;
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
    oracle.fills();
    oracle.loads(*features);
}
