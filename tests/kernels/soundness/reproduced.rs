//! Arguments that once made kernels leave their region, because a product or a sum wrapped. The constructor
//! that first gets the region must refuse them, before anything runs.

use linefill::kernel::{
    Burst, Kernel, Places, SharedWalk, Shuffle, Step, Transfer, TwoFields, Visit, Walk, Width,
};
use linefill::os::{Memory, Pages};
use linefill::pattern::{
    Allocation, Arrangement, Deck, Indices, Lanes, Layout, Listing, Order, Orders, Ring, Shape,
    Storage, Tensor, TensorError,
};

/// A page between two guard pages.
fn page() -> Memory {
    Memory::new(4096, Pages::Base).unwrap()
}

#[test]
fn a_distance_whose_multiple_wraps_is_refused() {
    let mut memory = page();
    // Seven times the distance is 5 more than a multiple of 2^64.
    let places = Places::fixed(0, 0x2492_4924_9249_2493);
    let burst = Burst::new(memory.region(), places, Transfer::Store, Width::W8);
    burst.map(|mut burst| burst.run(8)).unwrap_err();
}

#[test]
fn a_skew_that_wraps_is_refused() {
    let mut memory = page();
    let layout = Layout::npad(15).pointer_in_word(15).skewed(0_usize.wrapping_sub(64));
    let ring = Ring::new(memory.region(), layout, 1, Order::Sequential);
    let walk = |ring| Walk::new(ring, Step::Inc).unwrap().run(1000);
    ring.map(walk).unwrap_err();
    let ring = Ring::new(memory.region(), layout.pointer_in_word(8), 1, Order::Sequential);
    let add_up = |ring| TwoFields::new(ring, [0, 1]).unwrap().run(1);
    ring.map(add_up).unwrap_err();
}

#[test]
fn an_element_that_wraps_is_refused() {
    let mut memory = Memory::new(8192, Pages::Base).unwrap();
    let layout = Layout::npad(usize::MAX / 8 - 8).skewed(4096);
    let ring = Ring::new(memory.region(), layout, 1, Order::Sequential);
    let add_up = |ring| TwoFields::new(ring, [0, 1 << 50]).map(|mut pair| pair.run(1));
    ring.map(add_up).unwrap_err();
}

#[test]
fn a_number_of_lines_that_wraps_is_refused() {
    let mut memory = page();
    // 2^64 / 64 + 1 lines have a number of bytes that wraps to one line.
    let lines = Lanes::new(memory.region(), 1, (1 << 58) + 1, 1);
    lines.unwrap_err();
    let orders = Orders::new(memory.region(), Arrangement::Whole, 1 << 58, 1);
    orders.unwrap_err();
}

#[test]
fn elements_that_turn_and_overlap_are_refused() {
    let mut memory = Memory::new(1 << 16, Pages::Base).unwrap();
    let layout = Layout::npad(1023).one_a_page().rotating();
    Ring::new(memory.region(), layout, 4, Order::Sequential).unwrap_err();
}

#[test]
fn arrays_beyond_4_gib_are_not_shuffled() {
    let mut memory = page();
    // 2^26 arrays of 4 bytes take 24 bytes each, and need references of 8 bytes.
    let shape = Shape::new([1 << 13, 1 << 12, 1 << 2, 1]).unwrap();
    let storage = Storage::Boxes(Allocation::Shuffled { seed: 1 });
    let refused = Tensor::new(memory.region(), shape, storage).unwrap_err();
    assert!(matches!(refused, TensorError::Shuffled(_)), "{refused}");
}

#[test]
fn stages_begin_at_the_end_of_the_array() {
    let mut memory = Memory::new(1 << 14, Pages::Base).unwrap();
    let deck = Deck::new(memory.region(), 1000, Indices::Precomputed, 1).unwrap();
    let mut shuffle = Shuffle::new(deck);
    // Further down than a pass in stages goes.
    shuffle.run(990);
    let mut shuffle = shuffle.staged(256).unwrap();
    let pass = shuffle.pass();
    shuffle.run(2 * pass + 10);
}

#[test]
fn a_step_that_would_write_to_pointers_is_refused() {
    let mut memory = page();
    let ring = Ring::new(memory.region(), Layout::npad(0), 10, Order::Sequential).unwrap();
    Walk::new(ring, Step::Inc).unwrap_err();
    let ring = Ring::new(memory.region(), Layout::npad(0), 10, Order::Sequential).unwrap();
    SharedWalk::new(ring.share().unwrap(), Visit::Step(Step::Inc)).unwrap_err();
}

#[test]
fn a_walk_goes_to_no_padding() {
    let mut memory = page();
    let layout = Layout::npad(7).pointer_in_word(1);
    let ring = Ring::new(memory.region(), layout, 10, Order::Sequential).unwrap();
    let ring = ring.share().unwrap();
    let mut walk = SharedWalk::new(ring, Visit::Step(Step::Inc)).unwrap();
    // From this place, the word that a step changes would be a pointer word.
    walk.go_to(ring.offset(ring.first()) + 8);
    assert_eq!(walk.at(), ring.first());
    walk.trace(100, &mut |_| {});
    walk.run(100);
}

#[test]
#[should_panic(expected = "there is room for 100")]
fn code_that_does_not_fit_is_not_begun() {
    let count = usize::MAX / 2;
    Listing::Jumps { count, spacing: 4 }.write(&mut [0; 100]);
}
