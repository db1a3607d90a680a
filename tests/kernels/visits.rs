//! Words visited in any order: the kernels keep the order, visit all words, and refuse impossible orders.

use linefill::kernel::{Kernel, Revisit, StoreBufferFill, TooManyStores};
use linefill::mem::Region;
use linefill::pattern::{Visits, VisitsError};
use proptest::prelude::*;

const WORDS: usize = 96;

/// Some of the words of a region, in any order.
fn places() -> impl Strategy<Value = Vec<usize>> {
    let all: Vec<usize> = (0..WORDS).map(|word| 8 * word).collect();
    (1..=WORDS)
        .prop_flat_map(move |count| prop::sample::subsequence(all.clone(), count).prop_shuffle())
}

fn in_region<T>(test: impl FnOnce(Region<'_>) -> T) -> T {
    let mut bytes = vec![0; 8 * WORDS + 128];
    let (region, _) = Region::new(&mut bytes).unwrap().split(8 * WORDS).unwrap();
    test(region)
}

proptest! {
    #[test]
    fn a_round_comes_by_the_places_in_their_order(places in places(), rounds in 1..4_usize) {
        let traced = in_region(|region| {
            let mut revisit = Revisit::new(Visits::new(region, &places).unwrap());
            let mut traced = Vec::new();
            let loads = (rounds * places.len()) as u64;
            revisit.trace(loads, &mut |access| traced.push(access.offset));
            traced
        });
        prop_assert_eq!(traced, places.repeat(rounds));
    }

    /// The loads stop at the place that the list gives.
    #[test]
    fn loads_lead_where_the_places_say(places in places(), loads in 0..300_u64) {
        let (first, second) = in_region(|region| {
            let mut revisit = Revisit::new(Visits::new(region, &places).unwrap());
            (revisit.run(loads), revisit.run(1))
        });
        let at = |load: u64| places[load as usize % places.len()] as u64;
        prop_assert_eq!((first, second), (at(loads), at(loads + 1)));
    }
}

#[test]
fn what_is_no_word_is_refused_by_value() {
    let refused = |places: &[usize]| in_region(|region| Visits::new(region, places).unwrap_err());
    assert_eq!(refused(&[]), VisitsError::None);
    assert_eq!(refused(&[0, 12]), VisitsError::NoWord(12));
    assert_eq!(refused(&[8 * WORDS]), VisitsError::NoWord(8 * WORDS));
    assert_eq!(refused(&[usize::MAX & !7]), VisitsError::NoWord(usize::MAX & !7));
    assert_eq!(refused(&[0, 64, 0]), VisitsError::Twice(0));
    let most = in_region(|region| StoreBufferFill::new(region, 129).unwrap_err());
    assert_eq!(most, TooManyStores(129));
}
