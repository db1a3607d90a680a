//! Reads of a tensor.

use super::check::{Built, Case, WithKernel, WithTwin};
use super::run::Oracle;
use crate::kernel::{Get, ReadTensor, all};
use crate::mem::{LINE, Region};
use crate::pattern::{Allocation, Shape, Storage, Tensor};

struct TensorCase {
    get: Get,
    shape: Shape,
    storage: Storage,
}

impl Case for TensorCase {
    fn bytes(&self) -> usize {
        self.storage.bytes(self.shape).next_multiple_of(LINE) + LINE
    }

    fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
        let tensor = Tensor::new(memory, self.shape, self.storage).ok()?;
        then(&mut ReadTensor::new(tensor, self.get).ok()?);
        Some(())
    }

    fn twin(&self, memory: Region<'_>, then: WithTwin<'_>) -> Built {
        let tensor = Tensor::new(memory, self.shape, self.storage).ok()?;
        let (mut read, mut sum) = (0, 0.0);
        then(&mut |operations| {
            let divisors = self.get.divisors(self.shape);
            all::tensor::tensor(&tensor, divisors, (&mut read, &mut sum), operations);
            u64::from(sum.to_bits())
        });
        Some(())
    }
}

/// A shape of other dimensions than the compilers' constants.
const fn shape(dimensions: [u16; 4]) -> Shape {
    match Shape::new(dimensions) {
        Ok(shape) => shape,
        Err(_) => panic!("no dimension is 0"),
    }
}

/// Few elements, over which the constants' remainders step in small strides.
const SMALL: [Shape; 2] = [shape([137, 1, 1, 1]), shape([80, 1, 28, 16])];

/// Dimensions that only a division finds.
const ODD: [Shape; 2] = [shape([1, 1, 1, 1]), shape([7, 11, 3, 13])];

impl Oracle<'_, '_> {
    pub(super) fn tensors(&mut self) {
        let one = |get, shape, storage| TensorCase {
            get,
            shape,
            storage,
        };
        let flat = |get, shapes: [Shape; 2]| shapes.map(|shape| one(get, shape, Storage::Flat));
        for (name, get) in [
            ("linefill_tensor_strides", Get::Strides),
            ("linefill_tensor_masks", Get::Masks),
            ("linefill_tensor_called", Get::Called),
            ("linefill_tensor_primes", Get::Primes),
        ] {
            self.check(name, flat(get, SMALL));
        }
        self.check("linefill_tensor_divided", flat(Get::Divided, ODD));
        // The rest is made for one shape. Shared arrays take little memory, and tell the indices of
        // the last dimension from each other; a whole tensor tells them all, and takes long.
        let whole = |get, storage| one(get, Shape::SERIES, storage);
        let array = whole(Get::Array, Storage::Flat);
        self.check("linefill_tensor_array", [array]);
        let boxes = [Allocation::Shared, Allocation::Natural];
        let boxes = boxes.map(|how| whole(Get::Boxes, Storage::Boxes(how)));
        self.check("linefill_tensor_boxes", boxes);
        let shared = Storage::Boxes(Allocation::Shared);
        let unchecked = whole(Get::BoxesUnchecked, shared);
        self.check("linefill_tensor_boxes_unchecked", [unchecked]);
        let vectors = whole(Get::Vectors, Storage::Vectors(Allocation::Shared));
        self.check("linefill_tensor_vectors", [vectors]);
    }
}
