//! Kernels that calculate: on registers, matrices, tensors, records, shuffles and clusters.

pub(super) mod matmul;
pub(super) mod nearest;
pub(super) mod orders;
pub(super) mod passes;
pub(super) mod register;
pub(super) mod shuffle;
pub(super) mod tensor;
pub(super) mod tile;

#[doc(hidden)]
pub use self::{
    matmul::{Matmul, MatmulError, MatmulWay},
    nearest::{Means, NearestWay, Sum, add_to_nearest},
    orders::{NoAvx2, Outstanding},
    passes::{Passes, TooLong},
    register::{Addition, Register},
    shuffle::chains::{Chains, ChainsError},
    shuffle::{Op, Shuffle, ShuffleError},
    tensor::{Get, ReadTensor, ReadTensorError},
    tile::{TileMatmul, TileWay},
};
use crate::cpu::Features;
use crate::kernel::verify::Oracle;

/// Checks every kernel of this folder.
pub(super) fn check(oracle: &mut Oracle<'_, '_>, features: Features) {
    oracle.register();
    oracle.addition();
    oracle.orders(features);
    oracle.shuffles();
    oracle.tensors();
    oracle.matmuls(features);
}
