//! The twin of [`ReadTensor`].

use crate::kernel::ReadTensor;
use crate::pattern::{Shape, Tensor};

/// Does `operations` reads of `tensor` at the remainders of their numbers by `divisors`, the first
/// of which is number `read` of the pass, and adds the elements to `sum`. Leaves both as they are
/// behind the last read; a pass begins anew behind its end.
pub fn tensor(
    tensor: &Tensor<'_>,
    divisors: Shape,
    (read, sum): (&mut u32, &mut f32),
    operations: u64,
) {
    for _ in 0..operations {
        if *read == ReadTensor::PASS {
            (*read, *sum) = (0, 0.0);
        }
        *sum += tensor.element(divisors.remainders(*read));
        *read += 1;
    }
}
