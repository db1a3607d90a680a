//! The tensor of the series: the same elements and the same sums for every storage and every kind of access.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use linefill::kernel::{Get, Kernel, ReadTensor, ReadTensorError, Work};
use linefill::mem::{LINE, PAGE, Region};
use linefill::pattern::{Allocation, Heap, Shape, Storage, Tensor};

const SHUFFLED: Allocation = Allocation::Shuffled { seed: 3 };

/// All ways to store and read the series' tensor.
const WAYS: [(Get, Storage); 10] = [
    (Get::Strides, Storage::Flat),
    (Get::Masks, Storage::Flat),
    (Get::Array, Storage::Flat),
    (Get::Divided, Storage::Flat),
    (Get::Called, Storage::Flat),
    (Get::Boxes, Storage::Boxes(Allocation::Natural)),
    (Get::Boxes, Storage::Boxes(SHUFFLED)),
    (Get::BoxesUnchecked, Storage::Boxes(SHUFFLED)),
    (Get::Vectors, Storage::Vectors(Allocation::Natural)),
    (Get::Vectors, Storage::Vectors(SHUFFLED)),
];

fn with<T>(shape: Shape, storage: Storage, then: impl FnOnce(Tensor<'_>) -> T) -> T {
    let mut bytes = vec![0; storage.bytes(shape) + 2 * LINE];
    then(Tensor::new(Region::new(&mut bytes).unwrap(), shape, storage).unwrap())
}

fn reads<T>(get: Get, storage: Storage, then: impl FnOnce(ReadTensor<'_>) -> T) -> T {
    with(Shape::SERIES, storage, |tensor| then(ReadTensor::new(tensor, get).unwrap()))
}

/// The sum of a pass, computed by the reference.
fn sum_of_a_pass() -> u32 {
    static SUM: OnceLock<u32> = OnceLock::new();
    *SUM.get_or_init(by_the_reference)
}

fn by_the_reference() -> u32 {
    with(Shape::SERIES, Storage::Flat, |tensor| {
        let numbers = 0..ReadTensor::PASS;
        let element = |number| tensor.element(Shape::SERIES.remainders(number));
        numbers.map(element).fold(0.0, |sum: f32, element| sum + element).to_bits()
    })
}

#[test]
fn a_million_reads_sum_to_the_same_bits_in_every_storage() {
    let expected = u64::from(sum_of_a_pass());
    for (get, storage) in WAYS {
        let found = reads(get, storage, |mut kernel| kernel.run(u64::from(ReadTensor::PASS)));
        assert_eq!(found, expected, "{get:?} of {storage:?}");
    }
}

/// If the order did not matter, equal sums would prove little.
#[test]
fn the_sum_depends_on_the_order_of_the_reads() {
    let elements =
        |number: u32| Tensor::value(Shape::SERIES.place(Shape::SERIES.remainders(number)));
    let backwards = (0..ReadTensor::PASS).rev().map(elements);
    let sum = backwards.fold(0.0_f32, |sum, element| sum + element);
    assert_ne!(sum.to_bits(), sum_of_a_pass());
}

#[test]
fn a_pass_begins_anew_behind_its_end_in_whatever_portions_it_is_read() {
    let whole = sum_of_a_pass();
    let pass = u64::from(ReadTensor::PASS);
    for (get, storage) in [WAYS[0], WAYS[5]] {
        reads(get, storage, |mut kernel| {
            assert_eq!(kernel.run(2 * pass), u64::from(whole));
            kernel.run(pass - 7);
            assert_eq!(kernel.run(7), u64::from(whole));
            let first = u64::from(Tensor::value(0).to_bits());
            assert_eq!(kernel.run(1), first);
        });
    }
}

#[test]
fn the_pattern_comes_to_448_elements_on_as_many_lines_and_112_pages() {
    reads(Get::Strides, Storage::Flat, |mut kernel| {
        let mut offsets = BTreeSet::new();
        kernel.trace(10_000, &mut |access| {
            offsets.insert(access.offset);
        });
        let over = |unit: usize| {
            let units: BTreeSet<usize> = offsets.iter().map(|offset| offset / unit).collect();
            units.len()
        };
        assert_eq!(offsets.len(), 448);
        assert_eq!((over(LINE), over(PAGE)), (448, 112));
        assert_eq!(offsets.last(), Some(&(Shape::SERIES.elements() * 4 - 4)));
    });
}

#[test]
fn a_nested_read_follows_three_references_that_the_heap_placed() {
    reads(Get::BoxesUnchecked, Storage::Boxes(Allocation::Natural), |mut kernel| {
        let mut offsets = Vec::new();
        kernel.trace(1000, &mut |access| offsets.push(access.offset));
        let paths = (0..1000).flat_map(|read| {
            let at = Shape::SERIES.remainders(read);
            Heap::JAVA.path(Shape::SERIES, at)
        });
        assert_eq!(offsets, paths.collect::<Vec<_>>());
    });
}

#[test]
fn a_tensor_that_the_instructions_do_not_fit_is_refused_by_value() {
    let refused = |shape, storage, get| {
        with(shape, storage, |tensor| ReadTensor::new(tensor, get).unwrap_err())
    };
    let flat = Storage::Flat;
    let boxes = Storage::Boxes(Allocation::Natural);
    assert_eq!(
        refused(Shape::SERIES, flat, Get::Boxes),
        ReadTensorError::Storage(Get::Boxes, flat)
    );
    assert_eq!(
        refused(Shape::SERIES, boxes, Get::Vectors),
        ReadTensorError::Storage(Get::Vectors, boxes)
    );
    for (shape, storage, get) in [
        // 63 * 1 + 15 + 27 + 31 is 136: the tensor has one element too few.
        (Shape::new([136, 1, 1, 1]).unwrap(), flat, Get::Strides),
        (Shape::PRIMES, flat, Get::Masks),
        (Shape::PRIMES, flat, Get::Array),
        (Shape::new([64, 16, 28, 33]).unwrap(), flat, Get::Array),
        (Shape::PRIMES, boxes, Get::Boxes),
    ] {
        assert_eq!(refused(shape, storage, get), ReadTensorError::Shape(get, shape));
    }
}

/// Loads, and the bytes they read.
fn loads(loads: u32, bytes_read: u32) -> Work {
    Work { loads, bytes_read, ..Work::default() }
}

/// The work that the header of `asm/compute/tensor.S` states per iteration. `tests/library/codegen` compares that
/// header with the machine code.
#[test]
fn a_read_declares_the_loads_of_its_kernel() {
    let one_page = Shape::new([137, 1, 1, 1]).unwrap();
    for get in Get::ALL {
        let (shape, storage, expected) = match get {
            Get::Array => continue,
            Get::Boxes => (Shape::SERIES, Storage::Boxes(Allocation::Shared), loads(7, 40)),
            Get::BoxesUnchecked => {
                (Shape::SERIES, Storage::Boxes(Allocation::Shared), loads(4, 28))
            }
            Get::Vectors => (Shape::SERIES, Storage::Vectors(Allocation::Shared), loads(7, 52)),
            _ => (one_page, Storage::Flat, loads(1, 4)),
        };
        let found = with(shape, storage, |tensor| ReadTensor::new(tensor, get).unwrap().work());
        assert_eq!(found, expected, "{get:?}");
    }
}
