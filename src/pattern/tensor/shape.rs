//! The sizes of a tensor's dimensions.

/// The sizes of a tensor's four dimensions, the first one outermost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape([u16; 4]);

/// A dimension without elements: its number, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapeError(pub usize);

impl core::fmt::Display for ShapeError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(
            f,
            "dimension {} of the tensor has no element; 1 to {} are needed",
            self.0,
            u16::MAX
        )
    }
}

impl core::error::Error for ShapeError {}

impl Shape {
    /// Dimensions of the tensor series (mmpataki, part 1).
    pub const SERIES: Shape = Shape([64, 16, 28, 32]);

    /// The prime dimensions of its part 8, about as many elements.
    pub const PRIMES: Shape = Shape([61, 17, 29, 31]);

    /// A shape of these dimensions.
    ///
    /// # Errors
    /// If one of them is 0.
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
        self.0.map(usize::from)
    }

    /// Elements of the tensor; `usize::MAX` if they cannot be counted.
    pub fn elements(&self) -> usize {
        self.dimensions()
            .into_iter()
            .fold(1, |product: usize, size| product.saturating_mul(size))
    }

    /// Elements from one index to the next, in each dimension of a tensor that is one run.
    pub fn strides(&self) -> [usize; 4] {
        let [_, second, third, fourth] = self.dimensions();
        [second * third * fourth, third * fourth, fourth, 1]
    }

    /// The place of an element among all, counted along the last dimension first; `usize::MAX` if
    /// it cannot be counted.
    pub fn place(&self, at: [usize; 4]) -> usize {
        let each = |(index, stride): (usize, usize)| index.saturating_mul(stride);
        let along = at.into_iter().zip(self.strides()).map(each);
        along.fold(0, usize::saturating_add)
    }

    /// The remainders of `number` by the dimensions: where the series' benchmark reads.
    pub fn remainders(&self, number: u32) -> [usize; 4] {
        self.dimensions().map(|size| number as usize % size)
    }

    /// After how many numbers their remainders repeat: the least common multiple of the
    /// dimensions.
    pub fn period(&self) -> usize {
        self.dimensions().into_iter().fold(1, |period, size| {
            period / common_divisor(period, size) * size
        })
    }

    /// The dimensions in one word, 16 bits each, the first one lowest: as kernels take them.
    pub fn packed(&self) -> u64 {
        self.0
            .into_iter()
            .rev()
            .fold(0, |word, size| word << 16 | u64::from(size))
    }
}

fn common_divisor(mut a: usize, mut b: usize) -> usize {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
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
}
