//! Reads of a tensor with four indices (mmpataki, part 7): the costs of an index and of a layout.

// Calls assembly with the address of a tensor whose indices were checked.
#![allow(unsafe_code)]

use crate::kernel::verify::Oracle;
use crate::kernel::verify::check::{Built, Case, WithKernel};
use crate::kernel::{Access, Kernel, Work};
use crate::mem::{LINE, Region};
use crate::pattern::{Allocation, Shape, Storage, Tensor};

variants! {
    /// How an element's address is found.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum Get {
        /// In one contiguous array: four remainders by constants, each times its stride, and a check of the
        /// sum: the series' flat tensor, as its compiler translates it.
        Strides,
        /// Like [`Strides`](Self::Strides), with masks instead of remainders by powers of two.
        Masks,
        /// Like [`Strides`](Self::Strides), with remainders by the [prime dimensions](Shape::PRIMES).
        Primes,
        /// In one contiguous array whose dimensions are part of its type: all are constants, and nothing needs
        /// a check, as compilers translate `[[[[f32; 32]; 28]; 16]; 64]`.
        Array,
        /// In one contiguous array: four divisions by dimensions that are known only at run time.
        Divided,
        /// Like [`Strides`](Self::Strides), in a called function that calls another one. Its pushes and pops
        /// are not traced, because the stack is not part of the tensor's memory.
        Called,
        /// In arrays of references to arrays, with every index checked against its array's length, as in
        /// Java.
        Boxes,
        /// Like [`Boxes`](Self::Boxes), without checks.
        BoxesUnchecked,
        /// In vectors of vectors, with every index checked, as in Rust.
        Vectors,
    }
}

impl Get {
    /// The divisors of a read's number; the four remainders are the read's indices.
    pub const fn divisors(self, shape: Shape) -> Shape {
        match self {
            Get::Primes => Shape::PRIMES,
            Get::Divided => shape,
            _ => Shape::SERIES,
        }
    }

    /// Instructions per read, including its share of the loop.
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

    /// Branches per read, including calls and returns.
    pub const fn branches(self) -> u32 {
        match self {
            Get::Array | Get::BoxesUnchecked => 1,
            Get::Strides | Get::Masks | Get::Primes | Get::Divided => 2,
            Get::Boxes | Get::Vectors => 5,
            Get::Called => 6,
        }
    }

    /// Whether this way reads a tensor with this storage.
    const fn reads(self, storage: Storage) -> bool {
        match self {
            Get::Boxes | Get::BoxesUnchecked => matches!(storage, Storage::Boxes(_)),
            Get::Vectors => matches!(storage, Storage::Vectors(_)),
            Get::Strides | Get::Masks | Get::Primes | Get::Array | Get::Divided | Get::Called => {
                matches!(storage, Storage::Flat)
            }
        }
    }
}

/// Why a tensor cannot be read with some [`Get`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadTensorError {
    /// The tensor's storage does not match how the elements are to be found.
    Storage(Get, Storage),
    /// The instructions are made for another shape, or indices would lie outside the tensor.
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

/// Reads a tensor at the remainders of the reads' numbers, 0 to 999,999, round and round, and sums the
/// elements in order. An operation is a read; the series' operation is a million reads.
#[derive(Debug)]
pub struct ReadTensor<'m> {
    tensor: Tensor<'m>,
    get: Get,
    read: u32,
    sum: f32,
}

impl<'m> ReadTensor<'m> {
    /// Reads per pass; after the last read of a pass the sum begins anew.
    pub const PASS: u32 = 1_000_000;

    /// Creates reads that begin a pass.
    ///
    /// # Errors
    /// If the tensor has another storage, or not all indices lie in it.
    pub fn new(tensor: Tensor<'m>, get: Get) -> Result<Self, ReadTensorError> {
        let (shape, storage) = (tensor.shape(), tensor.storage());
        if !get.reads(storage) {
            return Err(ReadTensorError::Storage(get, storage));
        }
        let divisors = get.divisors(shape).dimensions();
        let fits = match get {
            Get::Array => shape == Shape::SERIES,
            // In one contiguous array only the sum of the strided indices has to stay inside.
            _ if storage == Storage::Flat => {
                shape.place(divisors.map(|size| size - 1)) < shape.elements()
            }
            _ => divisors == shape.dimensions(),
        };
        if !fits {
            return Err(ReadTensorError::Shape(get, shape));
        }
        Ok(ReadTensor { tensor, get, read: 0, sum: 0.0 })
    }

    /// Begins the next pass at the end of a pass.
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
        let reads = kernel(self.get).call;
        let (root, dimensions) = (self.tensor.root(), self.tensor.shape().packed());
        let mut left = operations;
        while left > 0 {
            self.wrap();
            let part = left.min(u64::from(Self::PASS - self.read));
            let end = self.read + part as u32;
            // SAFETY: `root` belongs to a tensor of these dimensions, which is borrowed; `new` has
            // checked that it is stored as the kernel expects and that all indices lie in it.
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
            // Three references, their lengths, and the element.
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
    /// The function type of the family: adds the elements of the reads from `first` to `end`, not including
    /// `end`, to `sum`, one after the other, and returns the sum. Sums are the bits of an `f32`.
    /// `dimensions` holds the tensor's dimensions, 16 bits each, the first one lowest.
    ///
    /// # Safety
    /// `first` is less than `end`, and `end` is at most 2^20. `tensor` is, as the name says, the address of
    /// the first element of a tensor of these dimensions, of its outermost array, or of its outermost
    /// vector's elements. Every read's indices are inside the tensor, and the tensor is readable.
    pub type Reads = unsafe extern "sysv64" fn(
        tensor: usize,
        first: u32,
        end: u32,
        dimensions: u64,
        sum: u32,
    ) -> u32;

    fn kernel(get: Get) {
        Get::Strides => linefill_tensor_strides,
        Get::Masks => linefill_tensor_masks,
        Get::Primes => linefill_tensor_primes,
        Get::Array => linefill_tensor_array,
        Get::Divided => linefill_tensor_divided,
        Get::Called => linefill_tensor_called,
        Get::Boxes => linefill_tensor_boxes,
        Get::BoxesUnchecked => linefill_tensor_boxes_unchecked,
        Get::Vectors => linefill_tensor_vectors,
    }
}

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

/// A shape with other dimensions than the constants in the code.
const fn shape(dimensions: [u16; 4]) -> Shape {
    match Shape::new(dimensions) {
        Ok(shape) => shape,
        Err(_) => panic!("no dimension is 0"),
    }
}

/// Shapes with few elements and small strides, in which the remainders by the constants stay inside.
const SMALL: [Shape; 2] = [shape([137, 1, 1, 1]), shape([80, 1, 28, 16])];

/// Dimensions other than the constants, for the kernel that divides.
const ODD: [Shape; 2] = [shape([1, 1, 1, 1]), shape([7, 11, 3, 13])];

impl Oracle<'_, '_> {
    pub(crate) fn tensors(&mut self) {
        for get in [Get::Strides, Get::Masks, Get::Called, Get::Primes] {
            self.tensor(get, SMALL, [Storage::Flat]);
        }
        self.tensor(Get::Divided, ODD, [Storage::Flat]);
        // The other kernels are made for one shape. Shared arrays take little memory, and
        // distinguish only the indices of the last dimension; a whole tensor distinguishes all
        // indices, and takes long.
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
        let of = |shape| move |storage| TensorCase { get, shape, storage };
        let cases = shapes.into_iter().flat_map(|shape| storages.map(of(shape)));
        self.check_cases(kernel(get).name, cases);
    }
}
