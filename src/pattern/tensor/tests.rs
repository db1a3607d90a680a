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
