//! A tensor of four indices, as one run of floats or as arrays that refer to arrays (mmpataki,
//! part 7).

mod shape;

pub use shape::{Heap, Shape, ShapeError};

use super::Rng;
use crate::mem::{Region, Span};
use shape::FLOAT;

/// Bytes of the table in which arrays find their place while they are shuffled, an array.
const ENTRY: usize = 8;

/// How a tensor is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Storage {
    /// One run of floats, the last index fastest.
    Flat,
    /// Arrays of references to arrays, as Java has them ([`Heap::JAVA`]).
    Boxes(Allocation),
    /// Vectors of vectors, as Rust and C++ have them ([`Heap::VECTORS`]).
    Vectors(Allocation),
}

/// In which order the arrays of a nested tensor were allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Allocation {
    /// Depth first, every array right before the first one that it refers to.
    Natural,
    /// In random order.
    Shuffled {
        /// Decides the order.
        seed: u64,
    },
    /// Not at all, but for one array a level, to which all references of the level before lead.
    /// A read takes the same instructions and hits a few lines: the control that shows what the
    /// other lines cost.
    Shared,
}

impl Storage {
    /// The heap of nested arrays, and how they were allocated.
    pub fn nested(self) -> Option<(Heap, Allocation)> {
        match self {
            Storage::Flat => None,
            Storage::Boxes(allocation) => Some((Heap::JAVA, allocation)),
            Storage::Vectors(allocation) => Some((Heap::VECTORS, allocation)),
        }
    }

    /// Bytes of region that a tensor takes, the shuffling of its arrays included; `usize::MAX` if
    /// they cannot be counted.
    pub fn bytes(self, shape: Shape) -> usize {
        let Some((heap, allocation)) = self.nested() else {
            return Span::of(FLOAT).times(shape.elements()).bytes();
        };
        let whole = Span::of(heap.span(shape));
        let needed = match allocation {
            Allocation::Natural => whole,
            Allocation::Shuffled { .. } => {
                let arrays: usize = (0..4).map(|level| Heap::arrays(shape, level)).sum();
                let table = Span::of(ENTRY).times(arrays);
                whole.plus(Span::of(ENTRY)).plus(table)
            }
            Allocation::Shared => (0..4)
                .map(|level| Span::of(heap.array(shape, level)))
                .fold(Span::of(heap.first), Span::plus),
        };
        needed.bytes()
    }
}

/// Why a region holds no such tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TensorError {
    /// More elements than 32-bit indices address.
    Elements(usize),
    /// Arrays are to be shuffled that span this many bytes, more than 4 GiB: the table in which they
    /// find their places has 32 bits for each.
    Shuffled(usize),
    /// The region is too small.
    RegionTooSmall {
        /// Bytes of the tensor.
        needed: usize,
        /// Bytes of the region.
        region: usize,
    },
}

messages! { TensorError:
    TensorError::Elements(elements) => (
        "a tensor of {elements} elements; at most {} can be indexed", i32::MAX
    );
    TensorError::Shuffled(bytes) => (
        "arrays of {} cannot be shuffled; at most {} bytes can", Span::of(*bytes), u32::MAX
    );
    TensorError::RegionTooSmall { needed, region } => (
        "the tensor takes {needed}, the region has {region}", needed = Span::of(*needed)
    );
}

/// A reference that a read follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hop {
    /// Where it lies: 8 bytes.
    pub reference: usize,
    /// Where the length of the array lies that it leads to: 4 bytes in boxes, 8 in vectors.
    pub length: usize,
}

/// A tensor of floats in a region.
///
/// References are addresses inside the region. Only this type writes them, so a kernel that
/// follows them stays inside for as long as the tensor borrows it. Element number n is
/// [`value`](Self::value)(n), however the tensor is stored.
#[derive(Debug)]
pub struct Tensor<'m> {
    region: Region<'m>,
    shape: Shape,
    storage: Storage,
}

impl<'m> Tensor<'m> {
    /// Stores a tensor in `region`, and fills it.
    ///
    /// # Errors
    /// If it has too many elements, too many bytes to be shuffled, or does not fit.
    pub fn new(region: Region<'m>, shape: Shape, storage: Storage) -> Result<Self, TensorError> {
        if shape.elements() > i32::MAX as usize {
            return Err(TensorError::Elements(shape.elements()));
        }
        if let Some((heap, Allocation::Shuffled { .. })) = storage.nested() {
            let span = heap.span(shape);
            if u32::try_from(span).is_err() {
                return Err(TensorError::Shuffled(span));
            }
        }
        let needed = storage.bytes(shape);
        if !Span::of(needed).fits(region.len()) {
            return Err(TensorError::RegionTooSmall {
                needed,
                region: region.len(),
            });
        }
        let mut tensor = Tensor {
            region,
            shape,
            storage,
        };
        match storage.nested() {
            None => tensor.fill(0, 0, shape.elements()),
            Some((heap, allocation)) => tensor.nest(heap, allocation),
        }
        Ok(tensor)
    }

    /// The value of element `place`: a fraction of 24 bits, so that a sum depends on its order.
    pub fn value(place: usize) -> f32 {
        let bits = (place as u32).wrapping_mul(0x9E37_79B1) >> 8;
        bits as f32 / 16_777_216.0
    }

    /// The shape.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// How it is stored.
    pub fn storage(&self) -> Storage {
        self.storage
    }

    /// Address of the first element of the outermost array, as vectors have it, or of that array
    /// with its header.
    pub fn root(&self) -> usize {
        let first = match self.storage {
            Storage::Flat => 0,
            Storage::Boxes(_) => self.array(Heap::JAVA, 0, 0),
            Storage::Vectors(_) => self.array(Heap::VECTORS, 0, 0) + Heap::VECTORS.header,
        };
        self.region.address() + first
    }

    /// The references that a read of `at` follows; `None` if there are none.
    ///
    /// # Panics
    /// If `at` is not in the tensor.
    pub fn hops(&self, at: [usize; 4]) -> Option<[Hop; 3]> {
        self.storage.nested()?;
        let mut array = self.root() - self.region.address();
        Some(core::array::from_fn(|level| {
            assert!(at[level] < self.shape.dimensions()[level]);
            let reference = match self.storage {
                Storage::Vectors(_) => array + at[level] * Heap::VECTORS.reference,
                _ => array + Heap::JAVA.header + at[level] * Heap::JAVA.reference,
            };
            array = self.region.word(reference) as usize - self.region.address();
            let length = match self.storage {
                Storage::Vectors(_) => reference + 8,
                _ => array + Heap::JAVA.header - 4,
            };
            Hop { reference, length }
        }))
    }

    /// Byte offset of the element at `at`, found as a read finds it; in one run `usize::MAX` if it
    /// cannot be counted.
    ///
    /// # Panics
    /// If nested arrays have no such element.
    pub fn offset(&self, at: [usize; 4]) -> usize {
        let Some([.., last]) = self.hops(at) else {
            return self.shape.place(at).saturating_mul(FLOAT);
        };
        let array = self.region.word(last.reference) as usize - self.region.address();
        let header = match self.storage {
            Storage::Vectors(_) => 0,
            _ => Heap::JAVA.header,
        };
        array + header + at[3] * FLOAT
    }

    /// The element at `at`.
    ///
    /// # Panics
    /// If the tensor has no such element.
    pub fn element(&self, at: [usize; 4]) -> f32 {
        self.float_at(self.offset(at))
    }

    /// The element at a byte offset.
    ///
    /// # Panics
    /// If the region ends before it does.
    pub(crate) fn float_at(&self, offset: usize) -> f32 {
        let (bytes, _) = self.region.bytes()[offset..]
            .split_first_chunk()
            .expect("an element inside the region");
        f32::from_ne_bytes(*bytes)
    }

    /// Gives the region back.
    pub fn into_region(self) -> Region<'m> {
        self.region
    }

    /// Where array `number` of `level` begins.
    fn array(&self, heap: Heap, level: usize, number: usize) -> usize {
        let shape = self.shape;
        match self.storage {
            Storage::Boxes(Allocation::Natural) | Storage::Vectors(Allocation::Natural) => {
                heap.natural(shape, level, number)
            }
            Storage::Boxes(Allocation::Shuffled { .. })
            | Storage::Vectors(Allocation::Shuffled { .. }) => {
                let arrays = (0..level).map(|outer| Heap::arrays(shape, outer));
                let entry = self.table() + (arrays.sum::<usize>() + number) * ENTRY;
                (self.region.word(entry) >> 32) as usize
            }
            _ => {
                heap.first
                    + (0..level)
                        .map(|outer| heap.array(shape, outer))
                        .sum::<usize>()
            }
        }
    }

    /// Where the table of shuffled arrays begins: behind the arrays.
    fn table(&self) -> usize {
        let nested = self.storage.nested();
        nested.map_or(0, |(heap, _)| heap.span(self.shape).next_multiple_of(ENTRY))
    }

    fn nest(&mut self, heap: Heap, allocation: Allocation) {
        if let Allocation::Shuffled { seed } = allocation {
            self.shuffle(heap, seed);
        }
        let sizes = self.shape.dimensions();
        for level in 0..4 {
            let arrays = match allocation {
                Allocation::Shared => 1,
                _ => Heap::arrays(self.shape, level),
            };
            for number in 0..arrays {
                let array = self.array(heap, level, number);
                if let Storage::Boxes(_) = self.storage {
                    let length = array + heap.header - 4;
                    self.region.bytes_mut()[length..length + 4]
                        .copy_from_slice(&(sizes[level] as u32).to_ne_bytes());
                }
                let elements = array + heap.header;
                if level == 3 {
                    self.fill(elements, number * sizes[3], sizes[3]);
                    continue;
                }
                for index in 0..sizes[level] {
                    let child = match allocation {
                        Allocation::Shared => 0,
                        _ => number * sizes[level] + index,
                    };
                    let to = self.array(heap, level + 1, child);
                    self.refer(
                        heap,
                        elements + index * heap.reference,
                        to,
                        sizes[level + 1],
                    );
                }
            }
        }
    }

    /// Writes at `from` what leads to the array of `length` elements that begins at `to`.
    fn refer(&mut self, heap: Heap, from: usize, to: usize, length: usize) {
        let base = self.region.address();
        if let Storage::Vectors(_) = self.storage {
            self.region.set_word(from, (base + to + heap.header) as u64);
            self.region.set_word(from + 8, length as u64);
            self.region.set_word(from + 16, length as u64);
        } else {
            self.region.set_word(from, (base + to) as u64);
        }
    }

    /// Writes `count` floats at `offset`, the first of which is element `first`.
    fn fill(&mut self, offset: usize, first: usize, count: usize) {
        let bytes = &mut self.region.bytes_mut()[offset..offset + count * FLOAT];
        let (floats, _) = bytes.as_chunks_mut::<FLOAT>();
        for (place, float) in (first..).zip(floats) {
            *float = Self::value(place).to_ne_bytes();
        }
    }

    /// Finds every array a place. Arrays are numbered level by level; word n of the table has the
    /// number of the array that is allocated as the n-th, and above it the place of array n.
    fn shuffle(&mut self, heap: Heap, seed: u64) {
        let table = self.table();
        let counts: [usize; 4] = core::array::from_fn(|level| Heap::arrays(self.shape, level));
        let arrays = counts.iter().sum();
        let mut rng = Rng::new(seed);
        for number in 0..arrays {
            self.region.set_word(table + number * ENTRY, number as u64);
        }
        for last in (1..arrays).rev() {
            let (a, b) = (table + last * ENTRY, table + rng.below(last + 1) * ENTRY);
            let (first, second) = (self.region.word(a), self.region.word(b));
            self.region.set_word(a, second);
            self.region.set_word(b, first);
        }
        let level_of = |mut number: usize| {
            let mut level = 0;
            while number >= counts[level] {
                number -= counts[level];
                level += 1;
            }
            level
        };
        let mut end = heap.first;
        for rank in 0..arrays {
            let number = self.region.word(table + rank * ENTRY) as u32 as usize;
            let entry = table + number * ENTRY;
            let order = self.region.word(entry) & u64::from(u32::MAX);
            self.region.set_word(entry, (end as u64) << 32 | order);
            end += heap.array(self.shape, level_of(number));
        }
    }
}

#[cfg(test)]
mod tests;
