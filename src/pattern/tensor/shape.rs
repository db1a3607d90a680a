//! The sizes of a tensor's dimensions, and the places of arrays that refer to arrays on a heap. Only
//! arithmetic; no memory is touched.

use crate::mem::Span;
use crate::pattern::common_divisor;

/// The sizes of a tensor's four dimensions, the first one outermost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape([u16; 4]);

/// The number of a dimension without elements, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapeError(pub usize);

messages! { ShapeError:
    ShapeError(dimension) => (
        "dimension {dimension} of the tensor has no element; 1 to {} are needed", u16::MAX
    );
}

impl Shape {
    /// The dimensions of the tensor series (mmpataki, part 1).
    pub const SERIES: Shape = Shape([64, 16, 28, 32]);

    /// The prime dimensions of the series' part 8, with about as many elements.
    pub const PRIMES: Shape = Shape([61, 17, 29, 31]);

    /// Creates a shape with these dimensions.
    ///
    /// # Errors
    /// If a dimension is 0.
    pub const fn new(dimensions: [u16; 4]) -> Result<Self, ShapeError> {
        let mut number = 0;
        while number < dimensions.len() {
            if dimensions[number] == 0 {
                return Err(ShapeError(number));
            }
            number += 1;
        }
        Ok(Shape(dimensions))
    }

    /// The dimensions.
    pub fn dimensions(&self) -> [usize; 4] {
        // One by one, because this is called at each read and has to be quick without optimisation too.
        let [first, second, third, fourth] = self.0;
        [first.into(), second.into(), third.into(), fourth.into()]
    }

    /// Number of elements; `usize::MAX` if it overflows.
    pub fn elements(&self) -> usize {
        self.dimensions().into_iter().fold(1, |product: usize, size| product.saturating_mul(size))
    }

    /// Elements from one index to the next, in each dimension of a flat tensor.
    pub fn strides(&self) -> [usize; 4] {
        let [_, second, third, fourth] = self.dimensions();
        [second * third * fourth, third * fourth, fourth, 1]
    }

    /// Number of an element among all elements, the last dimension varying fastest; `usize::MAX` if it
    /// overflows.
    pub fn place(&self, at: [usize; 4]) -> usize {
        let strides = self.strides();
        let along = |dimension: usize| at[dimension].saturating_mul(strides[dimension]);
        let outer = along(0).saturating_add(along(1));
        outer.saturating_add(along(2)).saturating_add(along(3))
    }

    /// The remainders of `number` by the dimensions: the indices that the series' benchmark reads.
    pub fn remainders(&self, number: u32) -> [usize; 4] {
        self.dimensions().map(|size| number as usize % size)
    }

    /// Period of the remainders of consecutive numbers: the least common multiple of the dimensions.
    pub fn period(&self) -> usize {
        self.dimensions()
            .into_iter()
            .fold(1, |period, size| period / common_divisor(period, size) * size)
    }

    /// The dimensions in one word for the kernels, 16 bits each, the first one lowest.
    pub fn packed(&self) -> u64 {
        self.0.into_iter().rev().fold(0, |word, size| word << 16 | u64::from(size))
    }
}

/// Bytes of a float.
pub(super) const FLOAT: usize = 4;

/// How a heap places the arrays of a nested tensor: three levels of arrays of references, and a fourth of
/// arrays of floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Heap {
    /// Bytes of an element that refers to another array.
    pub reference: usize,
    /// Bytes of an array before its elements.
    pub header: usize,
    /// The size of an array is a multiple of this many bytes.
    pub granule: usize,
    /// Bytes before the first array.
    pub first: usize,
}

impl Heap {
    /// Java's heap with pointers of 8 bytes: a header of 16 bytes, the last 4 of which are the
    /// length.
    pub const JAVA: Heap = Heap { reference: 8, header: 16, granule: 8, first: 0 };

    /// Java's heap with compressed pointers of 4 bytes, Java's default.
    pub const COMPRESSED: Heap = Heap { reference: 4, ..Heap::JAVA };

    /// The heap that the series' formula assumes: compressed pointers, no headers and no gaps.
    pub const FORMULA: Heap = Heap { header: 0, granule: 4, ..Heap::COMPRESSED };

    /// Blocks of glibc's `malloc`, with 8 bytes before each and a granule of 16. They hold vectors of 24
    /// bytes: address, length and capacity.
    pub const VECTORS: Heap = Heap {
        reference: 24,
        header: 8,
        granule: 16,
        // So that elements start at a multiple of 16.
        first: 8,
    };

    /// Bytes of an array of `level`, from 0 (outermost) to 3; `usize::MAX` if the number overflows.
    ///
    /// # Panics
    /// If there is no such level.
    pub fn array(&self, shape: Shape, level: usize) -> usize {
        self.needed(shape, level).bytes()
    }

    fn needed(&self, shape: Shape, level: usize) -> Span {
        let element = if level < 3 { self.reference } else { FLOAT };
        let elements = Span::of(element).times(shape.dimensions()[level]);
        Span::of(self.header).plus(elements).whole(self.granule)
    }

    /// Number of arrays of `level`.
    ///
    /// # Panics
    /// If there is no such level.
    pub fn arrays(shape: Shape, level: usize) -> usize {
        shape.dimensions()[..level].iter().product()
    }

    /// Bytes of all arrays and of the space before them; `usize::MAX` if the number overflows.
    pub fn span(&self, shape: Shape) -> usize {
        let each = |level| self.needed(shape, level).times(Heap::arrays(shape, level));
        let all = (0..4).map(each);
        all.fold(Span::of(self.first), Span::plus).bytes()
    }

    /// Byte offset of array `number` of `level` if every array is allocated right before the first array
    /// that it refers to: depth first, as `new float[a][b][c][d]` does; `usize::MAX` if the number
    /// overflows.
    ///
    /// # Panics
    /// If there is no such level.
    pub fn natural(&self, shape: Shape, level: usize, number: usize) -> usize {
        let sizes = shape.dimensions();
        // Bytes of an array together with all arrays below it.
        let mut whole = [Span::of(0); 4];
        for inner in (0..4).rev() {
            let below = if inner < 3 { whole[inner + 1].times(sizes[inner]) } else { Span::of(0) };
            whole[inner] = self.needed(shape, inner).plus(below);
        }
        let mut at = Span::of(self.first);
        for outer in 0..level {
            let siblings: usize = sizes[outer + 1..level].iter().product();
            let index = number / siblings % sizes[outer];
            let before = whole[outer + 1].times(index);
            at = at.plus(self.needed(shape, outer)).plus(before);
        }
        at.bytes()
    }

    /// Byte offsets of the three references and of the element in a read of `at`, if every array is
    /// allocated right before the first array that it refers to; an offset that overflows is `usize::MAX`.
    pub fn path(&self, shape: Shape, at: [usize; 4]) -> [usize; 4] {
        let sizes = shape.dimensions();
        let mut number = 0;
        let mut path = [0; 4];
        for level in 0..4 {
            let element = if level < 3 { self.reference } else { FLOAT };
            let array = Span::of(self.natural(shape, level, number));
            let elements = Span::of(element).times(at[level]);
            path[level] = array.plus(Span::of(self.header)).plus(elements).bytes();
            number = number.saturating_mul(sizes[level]).saturating_add(at[level]);
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_series_tensor_in_numbers() {
        let shape = Shape::SERIES;
        assert_eq!(shape.elements() * 4, 3_670_016);
        assert_eq!(shape.strides(), [14_336, 896, 32, 1]);
        assert_eq!(shape.place([63, 15, 27, 31]), shape.elements() - 1);
        assert_eq!(shape.remainders(447), [63, 15, 27, 31]);
        assert_eq!(shape.packed(), 0x0020_001C_0010_0040);
        assert_eq!(shape.period(), 448);
        assert_eq!(Shape::PRIMES.elements(), 932_263);
        assert_eq!(Shape::PRIMES.period(), 932_263);
    }

    #[test]
    fn a_dimension_without_elements_is_named() {
        assert_eq!(Shape::new([3, 1, 0, 5]), Err(ShapeError(2)));
        assert!(Shape::new([1; 4]).is_ok());
    }

    #[test]
    fn the_sizes_of_the_series() {
        let span = |heap: Heap| heap.span(Shape::SERIES);
        assert_eq!(span(Heap::FORMULA), 3_789_056);
        assert_eq!(span(Heap::COMPRESSED), 4_265_232);
        assert_eq!(span(Heap::JAVA), 4_384_272);
    }

    #[test]
    fn arrays_follow_each_other_without_gaps_depth_first() {
        let shape = Shape::new([3, 2, 4, 5]).unwrap();
        for heap in [Heap::JAVA, Heap::COMPRESSED, Heap::FORMULA, Heap::VECTORS] {
            let mut end = heap.first;
            let mut next = |level, number| {
                assert_eq!(heap.natural(shape, level, number), end);
                end += heap.array(shape, level);
            };
            next(0, 0);
            for first in 0..3 {
                next(1, first);
                for second in first * 2..first * 2 + 2 {
                    next(2, second);
                    for third in second * 4..second * 4 + 4 {
                        next(3, third);
                    }
                }
            }
            assert_eq!(end, heap.span(shape));
        }
    }

    #[test]
    fn arrays_that_cannot_be_counted_have_no_size() {
        let shape = Shape::SERIES;
        let heaps = [
            Heap { reference: usize::MAX / 2, ..Heap::JAVA },
            Heap { header: usize::MAX - 8, ..Heap::JAVA },
            Heap { granule: 0, ..Heap::JAVA },
            Heap { first: usize::MAX - 100, ..Heap::JAVA },
        ];
        for heap in heaps {
            assert_eq!(heap.span(shape), usize::MAX, "{heap:?}");
            assert_eq!(heap.natural(shape, 3, 5), usize::MAX, "{heap:?}");
        }
    }

    #[test]
    fn a_path_ends_in_the_last_float_of_the_last_array() {
        let path = Heap::JAVA.path(Shape::SERIES, [63, 15, 27, 31]);
        assert_eq!(path[0], 16 + 63 * 8);
        assert_eq!(path[3], Heap::JAVA.span(Shape::SERIES) - 4);
    }
}
