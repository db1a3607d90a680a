//! Reads of a tensor of four indices (mmpataki, part 7): what an index costs, and what a layout.

// Calls assembly with the address of a tensor whose indices were checked.
#![allow(unsafe_code)]

use super::x86_64::asm::tensor as asm;
use super::{Access, Kernel, Work};
use crate::pattern::{Shape, Storage, Tensor};

/// How an element is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
pub enum ReadTensorError {
    /// It is not stored as its elements are to be found.
    Storage(Get, Storage),
    /// It has not the shape that the instructions are made for, or indices would lead out of it.
    Shape(Get, Shape),
}

impl core::fmt::Display for ReadTensorError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            ReadTensorError::Storage(get, storage) => {
                write!(
                    f,
                    "{get:?} does not find elements that are stored in {storage:?}"
                )
            }
            ReadTensorError::Shape(get, shape) => write!(
                f,
                "{get:?} leads out of a tensor of {:?}; it reads remainders by {:?}",
                shape.dimensions(),
                get.divisors(*shape).dimensions()
            ),
        }
    }
}

impl core::error::Error for ReadTensorError {}

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
        let reads: asm::Reads = match self.get {
            Get::Strides => asm::linefill_tensor_strides,
            Get::Masks => asm::linefill_tensor_masks,
            Get::Primes => asm::linefill_tensor_primes,
            Get::Array => asm::linefill_tensor_array,
            Get::Divided => asm::linefill_tensor_divided,
            Get::Called => asm::linefill_tensor_called,
            Get::Boxes => asm::linefill_tensor_boxes,
            Get::BoxesUnchecked => asm::linefill_tensor_boxes_unchecked,
            Get::Vectors => asm::linefill_tensor_vectors,
        };
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
        let (loads, bytes_read) = match self.get {
            // Three references and their lengths, and the element.
            Get::Boxes => (7, 3 * 8 + 3 * 4 + 4),
            Get::Vectors => (7, 3 * 8 + 3 * 8 + 4),
            Get::BoxesUnchecked => (4, 3 * 8 + 4),
            _ => (1, 4),
        };
        Work {
            loads,
            bytes_read,
            ..Work::default()
        }
    }

    fn trace(&mut self, operations: u64, sink: &mut dyn FnMut(Access)) {
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
            sink(Access::load(self.tensor.offset(at), 4));
            self.sum += self.tensor.element(at);
            self.read += 1;
        }
    }
}
