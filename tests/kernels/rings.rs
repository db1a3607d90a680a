//! Every ring is one cycle through all its elements, for any layout, order and size.

use std::collections::BTreeSet;

use linefill::mem::{PAGE, Region};
use linefill::pattern::{Layout, Order, Path, Ring};
use proptest::prelude::*;

/// Any layout.
fn layouts() -> impl Strategy<Value = Layout> {
    let shape = prop_oneof![
        Just(Shape::Dense),
        Just(Shape::OneAPage),
        Just(Shape::Rotating),
        (0..1024_usize).prop_map(Shape::Gap),
    ];
    let skew = prop_oneof![Just(0), 0..PAGE];
    (0..=32_usize, shape, skew)
        .prop_flat_map(|(npad, shape, skew)| (Just(npad), Just(shape), Just(skew), 0..=npad))
        .prop_map(|(npad, shape, skew, word)| {
            let layout = Layout::npad(npad).pointer_in_word(word).skewed(skew);
            match shape {
                Shape::Dense => layout,
                Shape::OneAPage => layout.one_a_page(),
                Shape::Rotating => layout.one_a_page().rotating(),
                Shape::Gap(gap) => layout.spaced(layout.element() + gap),
            }
        })
}

#[derive(Clone, Copy, Debug)]
enum Shape {
    Dense,
    OneAPage,
    Rotating,
    Gap(usize),
}

fn orders() -> impl Strategy<Value = Order> {
    prop_oneof![
        Just(Order::Sequential),
        any::<u64>().prop_map(|seed| Order::Random { seed }),
        (0..100_usize, any::<u64>())
            .prop_map(|(pages, seed)| Order::RandomInBlocks { pages, seed }),
        Just(Order::Backward),
        (0..600_usize).prop_map(|elements| Order::Strided { elements }),
        (0..600_usize).prop_map(|streams| Order::Streams { streams }),
        (0..600_usize, paths(), any::<u64>()).prop_map(|(elements, path, seed)| Order::Runs {
            elements,
            path,
            seed
        }),
    ]
}

fn paths() -> impl Strategy<Value = Path> {
    prop_oneof![Just(Path::Forward), Just(Path::Triangular), Just(Path::Random)]
}

/// Passes a ring of `count` elements to `test`.
fn with_ring<T>(layout: Layout, count: usize, order: Order, test: impl FnOnce(Ring<'_>) -> T) -> T {
    let mut bytes = vec![0; layout.span(count) + 128];
    let region = Region::new(&mut bytes).unwrap();
    test(Ring::new(region, layout, count, order).unwrap())
}

/// The offsets of the pointer words on a walk from element 0 until it returns there.
fn walk(ring: &Ring<'_>) -> Vec<usize> {
    let first = ring.cursor();
    let mut at = first;
    let mut offsets = Vec::new();
    loop {
        offsets.push(ring.offset(at));
        at = ring.next(at);
        if at == first || offsets.len() > ring.count() {
            return offsets;
        }
    }
}

/// The offsets of the pointer words of all elements, in the order of their indices.
fn places(layout: Layout, count: usize) -> Vec<usize> {
    (0..count).map(|index| layout.place(index) + layout.pointer_offset()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn a_ring_is_one_cycle_through_all_its_elements(
        layout in layouts(), count in 1..=5000_usize, order in orders(),
    ) {
        with_ring(layout, count, order, |ring| {
            let walked = walk(&ring);
            prop_assert_eq!(walked.len(), count);
            prop_assert_eq!(ring.cycle_length(), count);
            let distinct: BTreeSet<_> = walked.into_iter().collect();
            prop_assert_eq!(distinct, places(layout, count).into_iter().collect());
            Ok(())
        })?;
    }

    #[test]
    fn elements_never_overlap_and_stay_in_their_span(
        layout in layouts(), count in 1..=5000_usize,
    ) {
        let mut places: Vec<_> = (0..count).map(|index| layout.place(index)).collect();
        places.sort_unstable();
        prop_assert!(places.windows(2).all(|pair| pair[0] + layout.element() <= pair[1]));
        prop_assert!(places[count - 1] + layout.element() <= layout.span(count));
    }

    #[test]
    fn a_sequential_ring_goes_by_index(layout in layouts(), count in 1..=500_usize) {
        with_ring(layout, count, Order::Sequential, |ring| {
            prop_assert_eq!(walk(&ring), places(layout, count));
            Ok(())
        })?;
    }

    #[test]
    fn a_random_ring_follows_from_its_seed(
        layout in layouts(), count in 20..=500_usize, seed in any::<u64>(),
    ) {
        let walked = |seed| with_ring(layout, count, Order::Random { seed }, |ring| walk(&ring));
        prop_assert_eq!(walked(seed), walked(seed));
        // There are at least 19! cycles, so two seeds never give the same one by chance.
        prop_assert_ne!(walked(seed), walked(seed.wrapping_add(1)));
    }

    #[test]
    fn a_walk_in_blocks_leaves_each_block_once_and_for_all(
        layout in layouts(), count in 1..=5000_usize, pages in 0..100_usize, seed in any::<u64>(),
    ) {
        let order = Order::RandomInBlocks { pages, seed };
        with_ring(layout, count, order, |ring| {
            let block = (pages * PAGE / layout.stride()).max(1);
            let walked = walk(&ring);
            let places = places(layout, count);
            for (walked, places) in walked.chunks(block).zip(places.chunks(block)) {
                let visited: BTreeSet<_> = walked.iter().collect();
                prop_assert_eq!(visited, places.iter().collect::<BTreeSet<_>>());
                let touched: BTreeSet<_> = walked.iter().map(|place| place / PAGE).collect();
                // A block may start within a page, and a rotating element may extend into the next page.
                prop_assert!(touched.len() <= pages.max(1) + 1, "{} pages", touched.len());
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_backward_ring_goes_by_falling_index(layout in layouts(), count in 1..=500_usize) {
        with_ring(layout, count, Order::Backward, |ring| {
            let mut falling = places(layout, count);
            falling[1..].reverse();
            prop_assert_eq!(walk(&ring), falling);
            Ok(())
        })?;
    }

    #[test]
    fn a_run_is_walked_from_end_to_end_before_the_next(
        layout in layouts(), count in 1..=5000_usize, elements in 0..100_usize, path in paths(),
        seed in any::<u64>(),
    ) {
        let order = Order::Runs { elements, path, seed };
        with_ring(layout, count, order, |ring| {
            let walked = walk(&ring);
            let places = places(layout, count);
            let mut walked = walked.as_slice();
            while let [first, ..] = walked {
                let index = places.iter().position(|place| place == first).unwrap();
                prop_assert_eq!(index % elements.max(1), 0);
                let run = &places[index..(index + elements.max(1)).min(count)];
                let (visited, rest) = walked.split_at(run.len());
                let forward = visited == run;
                prop_assert!(forward || path != Path::Forward);
                let visited: BTreeSet<_> = visited.iter().collect();
                prop_assert_eq!(visited, run.iter().collect::<BTreeSet<_>>());
                walked = rest;
            }
            Ok(())
        })?;
    }

    #[test]
    fn jump_pointers_lead_exactly_as_far_ahead_as_asked(
        layout in layouts(), count in 1..=1000_usize, order in orders(),
        ahead in 0..=2000_usize, word in 0..=32_usize,
    ) {
        let words = layout.element() / 8;
        with_ring(layout, count, order, |mut ring| {
            let linked = ring.link_ahead(word, ahead);
            let free = word < words && word * 8 != layout.pointer_offset();
            prop_assert_eq!(linked.is_ok(), free);
            let walked = walk(&ring);
            prop_assert_eq!(walked.len(), count);
            if free {
                let start = ring.cursor() - ring.offset(ring.cursor());
                for (index, place) in walked.iter().enumerate() {
                    let jump = start + place + word * 8 - layout.pointer_offset();
                    let target = ring.offset(ring.word(jump) as usize);
                    prop_assert_eq!(target, walked[(index + ahead) % count]);
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_region_a_line_too_short_is_refused(layout in layouts(), count in 1..=200_usize) {
        let whole = layout.span(count).next_multiple_of(64);
        let mut bytes = vec![0; whole + 64];
        let region = Region::new(&mut bytes).unwrap();
        let Some((short, _)) = region.split(whole - 64) else {
            return Ok(());
        };
        prop_assert!(Ring::new(short, layout, count, Order::Sequential).is_err());
    }
}

/// A random ring of five elements is each of the 24 cycles with the same probability.
#[test]
fn all_cycles_are_equally_likely() {
    let mut counts = std::collections::BTreeMap::new();
    for seed in 0..24_000 {
        let walked = with_ring(Layout::npad(0), 5, Order::Random { seed }, |ring| walk(&ring));
        *counts.entry(walked).or_insert(0) += 1;
    }
    assert_eq!(counts.len(), 24);
    // Five standard deviations of a binomial count with mean 1000.
    assert!(counts.values().all(|count| (845..=1155).contains(count)), "{counts:?}");
}
