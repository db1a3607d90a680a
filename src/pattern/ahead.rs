//! Random numbers that are drawn ahead of their use, so that what lies there can be fetched.

use super::Rng;
use crate::cpu::prefetcht0;

/// Numbers drawn ahead: more misses than a core keeps in flight.
const AHEAD: usize = 32;

/// Has the line at `place` fetched. Miri has no instruction for that, and loses nothing.
pub(super) fn fetch(place: *const u8) {
    if !cfg!(miri) {
        prefetcht0(place);
    }
}

/// What to do with a number.
pub(super) enum Turn {
    /// It will be used soon: fetch what lies there.
    Fetch(usize),
    /// Use it.
    Take {
        /// What it was to lie below.
        below: usize,
        /// The number.
        drawn: usize,
    },
}

/// Draws a number below each of `bounds`, in turn, and has `each` fetch it and, some turns later,
/// use it. To build a large pattern is to miss the caches at random; drawn one by one the numbers
/// would leave most of these misses to be waited for.
pub(super) fn draw_ahead(
    bounds: impl Iterator<Item = usize> + Clone,
    rng: &mut Rng,
    mut each: impl FnMut(Turn),
) {
    let mut drawn = [0; AHEAD];
    let mut early = bounds.clone();
    for (slot, below) in drawn.iter_mut().zip(early.by_ref()) {
        *slot = rng.below(below);
        each(Turn::Fetch(*slot));
    }
    for (turn, below) in bounds.enumerate() {
        let slot = &mut drawn[turn % AHEAD];
        each(Turn::Take {
            below,
            drawn: *slot,
        });
        if let Some(below) = early.next() {
            *slot = rng.below(below);
            each(Turn::Fetch(*slot));
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    /// The numbers are those that drawing one by one gives, each fetched once and before its use,
    /// whether there are fewer of them than are drawn ahead, or more.
    #[test]
    fn as_if_drawn_one_by_one() {
        for count in [0, 1, 31, 32, 33, 500] {
            let mut one_by_one = Rng::new(7);
            let expected: Vec<_> = (1..=count).map(|bound| one_by_one.below(bound)).collect();
            let (mut fetched, mut taken) = (Vec::new(), Vec::new());
            draw_ahead(1..count + 1, &mut Rng::new(7), |turn| match turn {
                Turn::Fetch(drawn) => fetched.push(drawn),
                Turn::Take { below, drawn } => {
                    taken.push(drawn);
                    assert_eq!(below, taken.len());
                    assert!(fetched.len() >= taken.len());
                }
            });
            assert_eq!(fetched, expected);
            assert_eq!(taken, expected);
        }
    }
}
