//! Reads of a tensor of four indices (mmpataki, part 7): what an index costs, and what a layout.

// Calls assembly with the address of a tensor whose indices were checked.
#![allow(unsafe_code)]

use crate::kernel::{Access, Assembled, Kernel, Work};
use crate::pattern::{Shape, Storage, Tensor};

/// How an element is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Get {
    /// In one run: four remainders by constants, each times its stride, and a check of the sum:
    /// the series' flat tensor, as its compiler translates it.
    Strides,
    /// The same with masks in place of remainders by powers of two.
    Masks,
    /// The same with remainders by the [prime dimensions](Shape::PRIMES).
    Primes,
    /// In one run whose dimensions are part of its type: constants all, and nothing to check, as
    /// compilers translate `[[[[f32; 32]; 28]; 16]; 64]`.
    Array,
    /// In one run: four divisions by dimensions that are known to the running program alone.
    Divided,
    /// Like [`Strides`](Self::Strides), by a function that is called and calls another one. What
    /// that pushes and pops is not traced: the stack is none of the tensor's memory.
    Called,
    /// In arrays of references to arrays, every index checked against its array's length, as Java
    /// does.
    Boxes,
    /// The same, and nothing is checked.
    BoxesUnchecked,
    /// In vectors of vectors, every index checked, as Rust does.
    Vectors,
}

impl Get {
    /// All of them.
    pub const ALL: [Get; 9] = [
        Get::Strides,
        Get::Masks,
        Get::Primes,
        Get::Array,
        Get::Divided,
        Get::Called,
        Get::Boxes,
        Get::BoxesUnchecked,
        Get::Vectors,
    ];

    /// By what the number of a read is divided: the four remainders are its indices.
    pub const fn divisors(self, shape: Shape) -> Shape {
        match self {
            Get::Primes => Shape::PRIMES,
            Get::Divided => shape,
            _ => Shape::SERIES,
        }
    }

    /// Instructions of a read, its share of the loop included.
    pub const fn instructions(self) -> u32 {
        match self {
            Get::Strides => 29,
            Get::Masks => 23,
            Get::Primes => 32,
            Get::Array => 21,
            Get::Divided => 29,
            Get::Called => 37,
            Get::Boxes => 32,
            Get::BoxesUnchecked => 24,
            Get::Vectors => 38,
        }
    }

    /// Branches among them, calls and returns included.
    pub const fn branches(self) -> u32 {
        match self {
            Get::Array | Get::BoxesUnchecked => 1,
            Get::Strides | Get::Masks | Get::Primes | Get::Divided => 2,
            Get::Boxes | Get::Vectors => 5,
            Get::Called => 6,
        }
    }

    fn kernel(self) -> Assembled<Reads> {
        assembled!(match self {
            Get::Strides => linefill_tensor_strides,
            Get::Masks => linefill_tensor_masks,
            Get::Primes => linefill_tensor_primes,
            Get::Array => linefill_tensor_array,
            Get::Divided => linefill_tensor_divided,
            Get::Called => linefill_tensor_called,
            Get::Boxes => linefill_tensor_boxes,
            Get::BoxesUnchecked => linefill_tensor_boxes_unchecked,
            Get::Vectors => linefill_tensor_vectors,
        })
    }

    /// Whether it reads a tensor that is stored like this.
    const fn reads(self, storage: Storage) -> bool {
        matches!(
            (self, storage),
            (Get::Boxes | Get::BoxesUnchecked, Storage::Boxes(_))
                | (Get::Vectors, Storage::Vectors(_))
                | (
                    Get::Strides
                        | Get::Masks
                        | Get::Primes
                        | Get::Array
                        | Get::Divided
                        | Get::Called,
                    Storage::Flat
                )
        )
    }
}

/// Why a tensor cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadTensorError {
    /// It is not stored as its elements are to be found.
    Storage(Get, Storage),
    /// It has not the shape that the instructions are made for, or indices would lead out of it.
    Shape(Get, Shape),
}

messages! { ReadTensorError:
    ReadTensorError::Storage(get, storage) => (
        "{get:?} does not find elements that are stored in {storage:?}"
    );
    ReadTensorError::Shape(get, shape) => (
        "{get:?} leads out of a tensor of {:?}; it reads remainders by {:?}",
        shape.dimensions(), get.divisors(*shape).dimensions()
    );
}

/// Reads of a tensor at the remainders of their numbers, 0 to 999,999 and again, summed in order.
/// An operation is a read; a million are the series' operation.
#[derive(Debug)]
pub struct ReadTensor<'m> {
    tensor: Tensor<'m>,
    get: Get,
    read: u32,
    sum: f32,
}

impl<'m> ReadTensor<'m> {
    /// Reads of a pass: the sum begins anew behind the last one.
    pub const PASS: u32 = 1_000_000;

    /// Reads that begin a pass.
    ///
    /// # Errors
    /// If the tensor is stored otherwise, or the indices do not all lie in it.
    pub fn new(tensor: Tensor<'m>, get: Get) -> Result<Self, ReadTensorError> {
        let (shape, storage) = (tensor.shape(), tensor.storage());
        if !get.reads(storage) {
            return Err(ReadTensorError::Storage(get, storage));
        }
        let divisors = get.divisors(shape).dimensions();
        let fits = match get {
            Get::Array => shape == Shape::SERIES,
            // Only the sum of the indices' strides needs to stay inside one run.
            _ if storage == Storage::Flat => {
                shape.place(divisors.map(|size| size - 1)) < shape.elements()
            }
            _ => divisors == shape.dimensions(),
        };
        if !fits {
            return Err(ReadTensorError::Shape(get, shape));
        }
        Ok(ReadTensor {
            tensor,
            get,
            read: 0,
            sum: 0.0,
        })
    }

    /// The tensor.
    pub fn into_tensor(self) -> Tensor<'m> {
        self.tensor
    }

    /// Begins a pass behind the end of one.
    fn wrap(&mut self) {
        if self.read == Self::PASS {
            self.read = 0;
            self.sum = 0.0;
        }
    }
}

impl Kernel for ReadTensor<'_> {
    /// Returns the bits of the pass's sum so far.
    fn run(&mut self, operations: u64) -> u64 {
        let reads = self.get.kernel().call;
        let (root, dimensions) = (self.tensor.root(), self.tensor.shape().packed());
        let mut left = operations;
        while left > 0 {
            self.wrap();
            let part = left.min(u64::from(Self::PASS - self.read));
            let end = self.read + part as u32;
            // SAFETY: `root` is that of a tensor of these dimensions, which is borrowed; `new` has
            // seen to it that it is stored as the kernel expects and that all indices lie in it.
            // `part` is not 0, and no pass is longer than 2^20.
            let sum = unsafe { reads(root, self.read, end, dimensions, self.sum.to_bits()) };
            self.sum = f32::from_bits(sum);
            self.read = end;
            left -= part;
        }
        u64::from(self.sum.to_bits())
    }

    fn work(&self) -> Work {
        let element = Work::default().load(1, 4);
        match self.get {
            // Three references and their lengths, and the element.
            Get::Boxes => element.load(3, 8).load(3, 4),
            Get::Vectors => element.load(3, 8).load(3, 8),
            Get::BoxesUnchecked => element.load(3, 8),
            _ => element,
        }
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) -> u64 {
        let divisors = self.get.divisors(self.tensor.shape());
        for _ in 0..operations {
            self.wrap();
            let at = divisors.remainders(self.read);
            for hop in self.tensor.hops(at).into_iter().flatten() {
                let (reference, length) = (hop.reference, hop.length);
                match self.get {
                    Get::Boxes => {
                        sink(Access::load(reference, 8));
                        sink(Access::load(length, 4));
                    }
                    Get::Vectors => {
                        sink(Access::load(length, 8));
                        sink(Access::load(reference, 8));
                    }
                    _ => sink(Access::load(reference, 8)),
                }
            }
            let offset = self.tensor.offset(at);
            sink(Access::load(offset, 4));
            self.sum += self.tensor.float_at(offset);
            self.read += 1;
        }
        u64::from(self.sum.to_bits())
    }
}

family! {
    /// The shape of the family: adds the elements of the reads from `first` to `end`, `end` left out,
    /// to `sum`, one after the other, and returns it: both are the bits of an `f32`. `dimensions` are the tensor's, 16 bits each, the
    /// first one lowest.
    ///
    /// # Safety
    /// `first` is less than `end`, and `end` is at most 2^20. `tensor` is the address of the first
    /// element of a tensor of these dimensions, or of the array or the vector's elements that lead to
    /// its arrays, whichever the name says; every read's indices are inside it, and it is readable.
    pub type Reads = unsafe extern "sysv64" fn(
        tensor: usize,
        first: u32,
        end: u32,
        dimensions: u64,
        sum: u32,
    ) -> u32;

    /// One run; remainders by 64, 16, 28 and 32, strides by multiplication, the sum checked.
    linefill_tensor_strides
    /// The same with masks in place of remainders by powers of two.
    linefill_tensor_masks
    /// The same with remainders by 61, 17, 29 and 31.
    linefill_tensor_primes
    /// One run of 64 x 16 x 28 x 32 elements, all of them constants.
    linefill_tensor_array
    /// One run; remainders by its dimensions, whatever they are.
    linefill_tensor_divided
    /// One run; the element comes from a function, and its place from another one.
    linefill_tensor_called
    /// Arrays of references to arrays; every index is checked.
    linefill_tensor_boxes
    /// The same; no index is checked.
    linefill_tensor_boxes_unchecked
    /// Vectors of vectors; every index is checked.
    linefill_tensor_vectors
}

/// The patterns on which the kernels are checked against their model.
mod checks {
    use crate::kernel::verify::Oracle;
    use crate::kernel::verify::check::{Built, Case, WithKernel};
    use crate::kernel::{Get, ReadTensor};
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
            then(&mut ReadTensor::new(tensor, self.get).ok()?)
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
        pub(crate) fn tensors(&mut self) {
            for get in [Get::Strides, Get::Masks, Get::Called, Get::Primes] {
                self.tensor(get, SMALL, [Storage::Flat]);
            }
            self.tensor(Get::Divided, ODD, [Storage::Flat]);
            // The rest is made for one shape. Shared arrays take little memory, and tell the indices of
            // the last dimension from each other; a whole tensor tells them all, and takes long.
            let boxes = [Allocation::Shared, Allocation::Natural].map(Storage::Boxes);
            self.tensor(Get::Array, [Shape::SERIES], [Storage::Flat]);
            self.tensor(Get::Boxes, [Shape::SERIES], boxes);
            self.tensor(Get::BoxesUnchecked, [Shape::SERIES], [boxes[0]]);
            let vectors = Storage::Vectors(Allocation::Shared);
            self.tensor(Get::Vectors, [Shape::SERIES], [vectors]);
        }

        fn tensor<const N: usize, const M: usize>(
            &mut self,
            get: Get,
            shapes: [Shape; N],
            storages: [Storage; M],
        ) {
            let of = |shape| {
                move |storage| TensorCase {
                    get,
                    shape,
                    storage,
                }
            };
            let cases = shapes.into_iter().flat_map(|shape| storages.map(of(shape)));
            self.check_cases(get.kernel().name, cases);
        }
    }
}
