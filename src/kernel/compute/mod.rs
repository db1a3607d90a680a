//! Kernels that calculate: on registers, matrices, tensors, records, shuffles and clusters.

pub(super) mod matmul;
pub(super) mod nearest;
pub(super) mod orders;
pub(super) mod passes;
pub(super) mod register;
pub(super) mod shuffle;
pub(super) mod tensor;
pub(super) mod tile;

use crate::cpu::Features;
use crate::kernel::verify::Oracle;
pub use matmul::{Matmul, MatmulError, MatmulWay};
#[doc(hidden)]
pub use nearest::{Means, NearestWay, Sum, add_to_nearest};
pub use orders::{NoAvx2, Outstanding};
pub use passes::{Passes, TooLong};
pub use register::{Addition, Register};
pub use shuffle::{Op, Shuffle, ShuffleError};
pub use tensor::{Get, ReadTensor, ReadTensorError};
pub use tile::{TileMatmul, TileWay};

/// Checks every kernel of this folder.
pub(super) fn check(oracle: &mut Oracle<'_, '_>, features: Features) {
    oracle.register();
    oracle.addition();
    oracle.orders(features);
    oracle.shuffles();
    oracle.tensors();
    oracle.matmuls(features);
}
