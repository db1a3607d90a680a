//! Stable sorts by any comparison, and lists without repetition or in groups.
//!
//! The standard library's stable sort is compiled once per type and comparison, with 1,800 lines of LLVM
//! IR each time, which was a twentieth of the lab's. Here a single sort of indices serves all lists.

use alloc::vec::Vec;
use core::cmp::Ordering;

/// Sorts items by `compare`. Equal items keep their order.
pub(crate) fn by<T>(items: &mut [T], mut compare: impl FnMut(&T, &T) -> Ordering) {
    let mut places = places(items.len(), &mut |a, b| compare(&items[a], &items[b]));
    for place in 0..items.len() {
        // The item of this place may have been swapped to the place of an earlier item: follow the
        // swaps.
        while places[place] < place {
            places[place] = places[places[place]];
        }
        items.swap(place, places[place]);
    }
}

/// Sorts items by a key, which is computed at every comparison. Items with equal keys keep their order.
pub(crate) fn by_key<T, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    by(items, |a, b| key(a).cmp(&key(b)));
}

/// Returns the different items, sorted.
pub(crate) fn distinct<T: Ord>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.into_iter().collect();
    items.sort_unstable();
    items.dedup();
    items
}

/// Returns the different numbers, sorted.
#[cfg(feature = "lab")]
pub(crate) fn distinct_numbers(numbers: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut numbers: Vec<f64> = numbers.into_iter().collect();
    numbers.sort_unstable_by(f64::total_cmp);
    numbers.dedup();
    numbers
}

/// Sorts items by a number in ascending order. Items with the same number keep their order.
#[cfg(feature = "lab")]
pub(crate) fn least_first<T>(items: &mut [T], number: impl Fn(&T) -> f64) {
    by(items, |a, b| number(a).total_cmp(&number(b)));
}

/// Sorts items by a number in descending order. Items with the same number keep their order.
#[cfg(feature = "lab")]
pub(crate) fn greatest_first<T>(items: &mut [T], number: impl Fn(&T) -> f64) {
    by(items, |a, b| number(b).total_cmp(&number(a)));
}

/// Returns each item once, in the order in which the items first occur.
#[cfg(feature = "lab")]
pub(crate) fn unique<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for item in items {
        if !found.contains(&item) {
            found.push(item);
        }
    }
    found
}

/// Groups items by key. The keys are in the order in which they first occur.
#[cfg(feature = "lab")]
pub(crate) fn grouped<K: PartialEq, T>(
    items: impl IntoIterator<Item = (K, T)>,
) -> Vec<(K, Vec<T>)> {
    let mut groups: Vec<(K, Vec<T>)> = Vec::new();
    for (key, item) in items {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(item),
            None => groups.push((key, alloc::vec![item])),
        }
    }
    groups
}

/// Returns the indices of `items` items, sorted by `compare`.
fn places(items: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..items).collect();
    places.sort_by(|&a, &b| compare(a, b));
    places
}

#[cfg(test)]
mod tests {
    use core::cmp::Reverse;

    use super::*;
    use crate::pattern::Rng;

    #[test]
    fn every_list_is_in_the_order_of_a_stable_sort() {
        let mut rng = Rng::new(7);
        for length in 0..60_usize {
            let items: Vec<(usize, usize)> =
                (0..length).map(|place| (rng.below(length.div_ceil(3)), place)).collect();
            let mut sorted = items.clone();
            sorted.sort();
            let mut ours = items.clone();
            by_key(&mut ours, |item| item.0);
            assert_eq!(ours, sorted);
            sorted.sort_by_key(|item| Reverse(item.0));
            by(&mut ours, |a, b| b.0.cmp(&a.0));
            assert_eq!(ours, sorted);
        }
    }

    #[cfg(feature = "lab")]
    #[test]
    fn items_of_the_same_number_stay_in_their_order() {
        let items = [("a", 2.0), ("b", 1.0), ("c", 2.0), ("d", f64::INFINITY)];
        let sorted = |sort: fn(&mut [(&'static str, f64)])| {
            let mut sorted = items;
            sort(&mut sorted);
            sorted.map(|(name, _)| name)
        };
        let least = sorted(|items| least_first(items, |of| of.1));
        assert_eq!(least, ["b", "a", "c", "d"]);
        let greatest = sorted(|items| greatest_first(items, |of| of.1));
        assert_eq!(greatest, ["d", "a", "c", "b"]);
    }

    #[cfg(feature = "lab")]
    #[test]
    fn keys_and_items_are_in_the_order_in_which_they_first_occur() {
        assert_eq!(unique(["b", "a", "b", "c", "a"]), ["b", "a", "c"]);
        let groups = grouped([("b", 1), ("a", 2), ("b", 3)]);
        assert_eq!(groups, [("b", vec![1, 3]), ("a", vec![2])]);
    }
}
