//! A tensor with four indices, as one array of floats or as arrays that refer to arrays (mmpataki,
//! part 7).

mod shape;

pub use shape::{Heap, Shape, ShapeError};

use super::Rng;
use crate::mem::{Region, Span};
use shape::FLOAT;

/// Bytes per array in the table that holds the arrays' places while they are shuffled.
const ENTRY: usize = 8;

/// How a tensor is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Storage {
    /// One array of floats; the last index varies fastest.
    Flat,
    /// Arrays of references to arrays, as in Java ([`Heap::JAVA`]).
    Boxes(Allocation),
    /// Vectors of vectors, as in Rust and C++ ([`Heap::VECTORS`]).
    Vectors(Allocation),
}

/// The order in which the arrays of a nested tensor were allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Allocation {
    /// Depth first: every array right before the first array that it refers to.
    Natural,
    /// In random order.
    Shuffled {
        /// The seed of the order.
        seed: u64,
    },
    /// One array per level, to which all references of the level before point. A read takes the same
    /// instructions and hits only a few lines: the control that shows the cost of the other lines.
    Shared,
}

impl Storage {
    /// Returns the heap of nested arrays and their order of allocation; `None` for a flat tensor.
    pub fn nested(self) -> Option<(Heap, Allocation)> {
        match self {
            Storage::Flat => None,
            Storage::Boxes(allocation) => Some((Heap::JAVA, allocation)),
            Storage::Vectors(allocation) => Some((Heap::VECTORS, allocation)),
        }
    }

    /// Bytes of region that a tensor takes, including the table for shuffling; `usize::MAX` if the number
    /// overflows.
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

/// Why a region cannot hold a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TensorError {
    /// The number of elements, if it is more than 2^31 - 1.
    Elements(usize),
    /// The bytes of arrays to be shuffled, if they span more than 4 GiB: the table of their places has 32
    /// bits per place.
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
    /// Byte offset of the reference, which has 8 bytes.
    pub reference: usize,
    /// Byte offset of the length of the array it refers to: 4 bytes in boxes, 8 in vectors.
    pub length: usize,
}

/// A tensor of floats in a region.
///
/// References are addresses inside the region. Only this type writes them, so a kernel that
/// follows them stays inside for as long as the tensor borrows the region. Element number n is
/// [`value`](Self::value)(n) in every storage.
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
    /// If the tensor has too many elements, too many bytes to be shuffled, or does not fit.
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
        let too_small = |needed, region| TensorError::RegionTooSmall { needed, region };
        Span::of(storage.bytes(shape)).within(region.len(), too_small)?;
        let mut tensor = Tensor { region, shape, storage };
        match storage.nested() {
            None => tensor.fill(0, 0, shape.elements()),
            Some((heap, allocation)) => tensor.nest(heap, allocation),
        }
        Ok(tensor)
    }

    /// Returns the value of element number `place`: a fraction of 24 bits, so that a sum depends on its
    /// order.
    pub fn value(place: usize) -> f32 {
        let bits = (place as u32).wrapping_mul(0x9E37_79B1) >> 8;
        bits as f32 / 16_777_216.0
    }

    /// The shape.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The storage of the elements.
    pub fn storage(&self) -> Storage {
        self.storage
    }

    /// Address of the first element of a flat tensor or of the outermost vector; in boxes, address of the
    /// outermost array with its header.
    pub fn root(&self) -> usize {
        let first = match self.storage {
            Storage::Flat => 0,
            Storage::Boxes(_) => self.array(Heap::JAVA, 0, 0),
            Storage::Vectors(_) => self.array(Heap::VECTORS, 0, 0) + Heap::VECTORS.header,
        };
        self.region.address() + first
    }

    /// Returns the references that a read of `at` follows; `None` if the tensor is flat.
    ///
    /// # Panics
    /// If `at` is not in the tensor.
    pub fn hops(&self, at: [usize; 4]) -> Option<[Hop; 3]> {
        let (heap, _) = self.storage.nested()?;
        let vectors = heap == Heap::VECTORS;
        // A reference leads to the header of a box, and to the first element of a vector.
        let header = if vectors { 0 } else { heap.header };
        let mut array = self.root() - self.region.address();
        Some(core::array::from_fn(|level| {
            assert!(at[level] < self.shape.dimensions()[level]);
            let reference = array + header + at[level] * heap.reference;
            array = self.region.word(reference) as usize - self.region.address();
            let length = if vectors { reference + 8 } else { array + header - 4 };
            Hop { reference, length }
        }))
    }

    /// Byte offset of the element at `at`, found through the references as in a read; in a flat tensor
    /// `usize::MAX` if the number overflows.
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
        let dimensions = self.shape.dimensions();
        assert!(
            at.iter().zip(dimensions).all(|(&index, size)| index < size),
            "no element {at:?} in a tensor of {dimensions:?}"
        );
        self.float_at(self.offset(at))
    }

    /// The element at a byte offset.
    ///
    /// # Panics
    /// If the float does not lie in the region.
    pub(crate) fn float_at(&self, offset: usize) -> f32 {
        f32::from_ne_bytes(self.region.array(offset))
    }

    /// Byte offset of array `number` of `level`.
    fn array(&self, heap: Heap, level: usize, number: usize) -> usize {
        let shape = self.shape;
        match self.storage.nested() {
            Some((_, Allocation::Natural)) => heap.natural(shape, level, number),
            Some((_, Allocation::Shuffled { .. })) => {
                let arrays = (0..level).map(|outer| Heap::arrays(shape, outer));
                let entry = self.table(heap) + (arrays.sum::<usize>() + number) * ENTRY;
                (self.region.word(entry) >> 32) as usize
            }
            _ => heap.first + (0..level).map(|outer| heap.array(shape, outer)).sum::<usize>(),
        }
    }

    /// Byte offset of the table of shuffled arrays, which is after the arrays.
    fn table(&self, heap: Heap) -> usize {
        heap.span(self.shape).next_multiple_of(ENTRY)
    }

    fn nest(&mut self, heap: Heap, allocation: Allocation) {
        if let Allocation::Shuffled { seed } = allocation {
            self.shuffle(heap, seed);
        }
        let shared = allocation == Allocation::Shared;
        let sizes = self.shape.dimensions();
        for level in 0..4 {
            let arrays = if shared { 1 } else { Heap::arrays(self.shape, level) };
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
                    let child = if shared { 0 } else { number * sizes[level] + index };
                    let to = self.array(heap, level + 1, child);
                    self.refer(heap, elements + index * heap.reference, to, sizes[level + 1]);
                }
            }
        }
    }

    /// Writes at `from` the reference to the array of `length` elements that begins at `to`.
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

    /// Writes `count` floats at `offset`, beginning with element number `first`.
    fn fill(&mut self, offset: usize, first: usize, count: usize) {
        let bytes = &mut self.region.bytes_mut()[offset..offset + count * FLOAT];
        let (floats, _) = bytes.as_chunks_mut::<FLOAT>();
        for (place, float) in (first..).zip(floats) {
            *float = Self::value(place).to_ne_bytes();
        }
    }

    /// Determines the place of every array. Arrays are numbered level by level. The low half of word n in
    /// the table is the number of the array that is allocated n-th, the high half the place of array n.
    fn shuffle(&mut self, heap: Heap, seed: u64) {
        let table = self.table(heap);
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
mod tests {
    extern crate std;
    use super::*;
    use std::collections::BTreeSet;
    use std::vec;
    use std::vec::Vec;

    const SMALL: Shape = match Shape::new([3, 2, 4, 5]) {
        Ok(shape) => shape,
        Err(_) => panic!("no dimension is 0"),
    };

    const SHUFFLED: Allocation = Allocation::Shuffled { seed: 9 };

    const EVERY: [Storage; 5] = [
        Storage::Flat,
        Storage::Boxes(Allocation::Natural),
        Storage::Boxes(SHUFFLED),
        Storage::Vectors(Allocation::Natural),
        Storage::Vectors(SHUFFLED),
    ];

    fn with(storage: Storage, then: impl FnOnce(Tensor<'_>)) {
        let mut bytes = vec![0xAA; storage.bytes(SMALL) + 128];
        then(Tensor::new(Region::new(&mut bytes).unwrap(), SMALL, storage).unwrap());
    }

    fn places() -> impl Iterator<Item = [usize; 4]> {
        (0..SMALL.elements()).map(|place| {
            let [_, second, third, fourth] = SMALL.dimensions();
            [
                place / (second * third * fourth),
                place / (third * fourth) % second,
                place / fourth % third,
                place % fourth,
            ]
        })
    }

    #[test]
    fn every_storage_holds_the_same_elements_each_in_its_own_place() {
        for storage in EVERY {
            with(storage, |tensor| {
                let mut seen = BTreeSet::new();
                for (place, at) in places().enumerate() {
                    assert_eq!(tensor.element(at), Tensor::value(place), "{storage:?}");
                    assert!(seen.insert(tensor.offset(at)));
                }
            });
        }
    }

    #[test]
    #[should_panic(expected = "no element [0, 0, 0, 5] in a tensor of [3, 2, 4, 5]")]
    fn an_index_beyond_a_row_is_not_an_element_of_the_next() {
        with(Storage::Flat, |tensor| {
            let _ = tensor.element([0, 0, 0, 5]);
        });
    }

    #[test]
    fn natural_arrays_lie_where_the_heap_says() {
        for (storage, heap) in [
            (Storage::Boxes(Allocation::Natural), Heap::JAVA),
            (Storage::Vectors(Allocation::Natural), Heap::VECTORS),
        ] {
            with(storage, |tensor| {
                for at in places() {
                    let hops = tensor.hops(at).unwrap();
                    let mut found = hops.map(|hop| hop.reference).to_vec();
                    found.push(tensor.offset(at));
                    assert_eq!(found, heap.path(SMALL, at));
                }
            });
        }
    }

    #[test]
    fn lengths_are_those_of_the_arrays_behind_the_references() {
        for storage in &EVERY[1..] {
            with(*storage, |tensor| {
                for at in places() {
                    for (level, hop) in tensor.hops(at).unwrap().into_iter().enumerate() {
                        let word = tensor.region.word(hop.length);
                        let length = match storage {
                            Storage::Vectors(_) => word,
                            _ => word & u64::from(u32::MAX),
                        };
                        assert_eq!(length as usize, SMALL.dimensions()[level + 1]);
                    }
                }
            });
        }
    }

    #[test]
    fn shuffled_arrays_take_the_same_room_in_another_order() {
        let leaves = |storage| {
            let mut found = Vec::new();
            with(storage, |tensor| {
                found.extend(places().step_by(5).map(|at| tensor.offset(at)));
            });
            found
        };
        let natural = leaves(Storage::Boxes(Allocation::Natural));
        let shuffled = leaves(Storage::Boxes(SHUFFLED));
        assert!(natural.is_sorted());
        assert!(!shuffled.is_sorted());
        let span = Heap::JAVA.span(SMALL);
        assert!(shuffled.iter().all(|offset| offset + 5 * FLOAT <= span));
    }

    #[test]
    fn shared_arrays_are_one_a_level() {
        with(Storage::Boxes(Allocation::Shared), |tensor| {
            let offsets: BTreeSet<usize> = places().map(|at| tensor.offset(at)).collect();
            assert_eq!(offsets.len(), 5);
        });
    }

    #[test]
    fn what_does_not_fit_is_refused_by_value() {
        let mut bytes = vec![0; 4096];
        let mut region = Region::new(&mut bytes).unwrap();
        let len = region.len();
        assert_eq!(
            Tensor::new(region.reborrow(), Shape::SERIES, Storage::Flat).unwrap_err(),
            TensorError::RegionTooSmall { needed: 3_670_016, region: len }
        );
        let huge = Shape::new([u16::MAX; 4]).unwrap();
        assert_eq!(
            Tensor::new(region, huge, Storage::Flat).unwrap_err(),
            TensorError::Elements(huge.elements())
        );
    }
}
