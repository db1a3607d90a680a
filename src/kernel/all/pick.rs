//! The twin of [`Pick`](crate::kernel::Pick).

use crate::pattern::Picks;

/// Picks `operations` elements, of which the first is number `done` since the beginning; returns
/// the wrapping sum of their first and last words.
pub fn pick(picks: &Picks<'_>, done: u64, operations: u64) -> u64 {
    let count = picks.count() as u64;
    let mut sum = 0_u64;
    for number in done..done + operations {
        let element = picks.place((number % count) as usize);
        let last = element + picks.element() - 8;
        for place in [element, last] {
            sum = sum.wrapping_add(picks.region().word(place));
        }
    }
    sum
}
