//! Lists in the order of a number.
//!
//! A stable sort is compiled anew for every type and every comparison: some 1,800 lines of LLVM's code each. Here
//! the numbers alone are sorted, with the places of their items, so that two sorts serve all lists.

use core::cmp::{Ordering, Reverse};

/// A number with its place in the order of all.
#[derive(PartialEq)]
struct Number(f64);

impl Eq for Number {}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// Sorts items by a number, the least first. Items of the same number stay in their order.
pub(super) fn least_first<T>(items: &mut [T], number: impl Fn(&T) -> f64) {
    items.sort_by_cached_key(|of| Number(number(of)));
}

/// Sorts items by a number, the greatest first. Items of the same number stay in their order.
pub(super) fn greatest_first<T>(items: &mut [T], number: impl Fn(&T) -> f64) {
    items.sort_by_cached_key(|of| Reverse(Number(number(of))));
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
}
