//! Every kernel against its plain twin.
//!
//! Runs wherever the kernels run, the bare image included: it allocates nothing and knows no
//! operating system. A kernel and its twin start from the same bytes at the same addresses, do
//! the same operations in the same portions, and must return the same proofs and leave the same
//! bytes behind, also outside the pattern; only what a kernel packs beside it may differ. The
//! kernel's trace must agree with the work it declares and with where it stops. A family's file
//! says on which patterns its kernels are checked. A kernel that has a form by intrinsics, too, is
//! checked in both under the one name, where the target has it.

mod alias;
mod bandwidth;
mod burst;
mod chase;
mod check;
mod codealign;
mod fields;
mod flush;
mod forward;
mod increment;
mod jump;
mod lanes;
mod lines;
mod lock;
mod matmul;
mod orders;
mod pair;
mod pending;
mod pick;
mod prefetch;
mod register;
mod rewrite;
mod ring;
mod roundtrip;
mod run;
mod shuffle;
mod speculate;
mod store;
mod straddle;
mod take;
mod tensor;
mod translate;
mod walk;

pub use check::{Difference, Mismatch};

use crate::cpu::Features;
use crate::mem::Region;

/// Bytes of region that [`check_all`] needs.
pub const ROOM: usize = check::Parts::COUNT * check::LARGEST;

/// Checks every kernel that this CPU can run, inside `region`, whose contents are lost.
///
/// `report` gets the symbol of each kernel of [`asm`](super::x86_64::asm) and what became of it,
/// once a kernel. Kernels that need a feature missing from `features` are not run and not
/// reported. A region smaller than [`ROOM`] fails every kernel.
pub fn check_all(
    region: &mut Region<'_>,
    features: &Features,
    report: &mut dyn FnMut(&'static str, Result<(), Mismatch>),
) {
    let mut oracle = run::Oracle::new(region.reborrow(), report);
    oracle.register();
    oracle.walks();
    oracle.jumps();
    oracle.chases(*features);
    oracle.fields();
    oracle.pairs();
    oracle.picks();
    oracle.orders(*features);
    oracle.shuffles();
    oracle.lanes();
    oracle.prefetches();
    oracle.stores(*features);
    oracle.tensors();
    oracle.fills();
    oracle.flushes(*features);
    oracle.loads(*features);
    oracle.bandwidths(*features);
    oracle.rewrites(*features);
    oracle.pendings();
    oracle.bursts(*features);
    oracle.straddles(*features);
    oracle.aliases();
    oracle.locks();
    oracle.codealigns();
    oracle.increments();
    oracle.roundtrips();
    oracle.takes();
    oracle.forwards(*features);
    oracle.speculations();
    oracle.translations();
    oracle.matmuls(*features);
}
