//! Sorting by a number, and grouping by keys in the order in which the keys first occur.

use crate::order;

/// Sorts items by a number in ascending order. Items with the same number keep their order.
pub(super) fn least_first<T>(items: &mut [T], number: impl Fn(&T) -> f64) {
    order::by(items, |a, b| number(a).total_cmp(&number(b)));
}

/// Sorts items by a number in descending order. Items with the same number keep their order.
pub(super) fn greatest_first<T>(items: &mut [T], number: impl Fn(&T) -> f64) {
    order::by(items, |a, b| number(b).total_cmp(&number(a)));
}

/// Returns each item once, in the order in which the items first occur.
pub(super) fn unique<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for item in items {
        if !found.contains(&item) {
            found.push(item);
        }
    }
    found
}

/// Groups items by key. The keys are in the order in which they first occur.
pub(super) fn grouped<K: PartialEq, T>(
    items: impl IntoIterator<Item = (K, T)>,
) -> Vec<(K, Vec<T>)> {
    let mut groups: Vec<(K, Vec<T>)> = Vec::new();
    for (key, item) in items {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(item),
            None => groups.push((key, vec![item])),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn keys_and_items_are_in_the_order_in_which_they_first_occur() {
        assert_eq!(unique(["b", "a", "b", "c", "a"]), ["b", "a", "c"]);
        let groups = grouped([("b", 1), ("a", 2), ("b", 3)]);
        assert_eq!(groups, [("b", vec![1, 3]), ("a", vec![2])]);
    }
}
