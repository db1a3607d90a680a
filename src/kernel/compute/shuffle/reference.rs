//! The reference implementations of [`Shuffle`](crate::kernel::Shuffle) and
//! [`Chains`](crate::kernel::Chains): the loops of the post, with a closure that yields an index. Also the
//! patterns on which the kernels are checked against them.

use core::hint::black_box;

use super::chains::side_by_side;
use crate::kernel::verify::Oracle;
use crate::kernel::{Chains, Op, Shuffle};
use crate::pattern::{Deck, DeckParts, Indices};

/// Exchanges two integers with three `xor` steps, which leave 0 if both are the same element.
#[expect(clippy::manual_swap, reason = "a swap would not leave 0")]
#[inline]
pub fn exchange(data: &mut [u32], i: usize, j: usize) {
    data[i] ^= data[j];
    data[j] ^= data[i];
    data[i] ^= data[j];
}

/// Exchanges element `i - 1` with element `op(i)`, for `exchanges` numbers `i` from `from`
/// downwards.
///
/// # Panics
/// If an element does not exist.
#[inline]
pub fn shuffle(
    data: &mut [u32],
    from: usize,
    exchanges: usize,
    mut op: impl FnMut(usize) -> usize,
) {
    for i in (from - exchanges + 1..=from).rev() {
        exchange(data, i - 1, op(i));
    }
}

/// Like [`shuffle`], in stages: draws as many indices as `buffer` has room for before it uses them.
///
/// # Panics
/// If an element does not exist, or the buffer is empty.
#[inline]
pub fn staged(
    data: &mut [u32],
    from: usize,
    exchanges: usize,
    buffer: &mut [u32],
    mut op: impl FnMut(usize) -> usize,
) {
    let mut i = from;
    while i > from - exchanges {
        let length = buffer.len().min(i - (from - exchanges));
        let stage = &mut buffer[..length];
        for (j, index) in stage.iter_mut().enumerate() {
            *index = op(i - j) as u32;
        }
        for (j, index) in stage.iter().enumerate() {
            exchange(data, i - j - 1, *index as usize);
        }
        i -= length;
    }
}

/// Shuffles the array of `deck` from `from` downwards, one exchange after the other or in stages of
/// `stage` indices, and advances the deck's generator.
///
/// # Panics
/// If there are fewer than `from` elements, `exchanges` is more than `from`, or the stage is longer than
/// the buffer.
pub fn on_deck(deck: &mut Deck<'_>, from: usize, exchanges: usize, stage: Option<usize>) {
    let mut random = deck.generator();
    let indices = deck.indices();
    let parts = deck.parts();
    match indices {
        Indices::Precomputed => {
            let table = parts.table;
            go(parts, from, exchanges, stage, |i| table[i - 1] as usize);
        }
        Indices::Generated => {
            go(parts, from, exchanges, stage, |i| random.next_int_below(i as u32) as usize)
        }
    }
    deck.set_generator(&random);
}

/// Like [`on_deck`], with the operation called through a pointer.
///
/// # Panics
/// As for [`on_deck`].
pub fn on_deck_called(deck: &mut Deck<'_>, from: usize, exchanges: usize, stage: Option<usize>) {
    type Op<'a> = &'a mut dyn FnMut(usize) -> usize;
    let mut random = deck.generator();
    let indices = deck.indices();
    let parts = deck.parts();
    let table = parts.table;
    let mut look_up = |i: usize| table[i - 1] as usize;
    let mut draw = |i: usize| random.next_int_below(i as u32) as usize;
    let op: Op<'_> = match indices {
        Indices::Precomputed => &mut look_up,
        Indices::Generated => &mut draw,
    };
    // Opaque, so that the compiler cannot inline one of the two closures into the loop.
    go(parts, from, exchanges, stage, black_box(op));
    deck.set_generator(&random);
}

#[inline]
fn go(
    parts: DeckParts<'_>,
    from: usize,
    exchanges: usize,
    stage: Option<usize>,
    op: impl FnMut(usize) -> usize,
) {
    match stage {
        None => shuffle(parts.data, from, exchanges, op),
        Some(length) => staged(parts.data, from, exchanges, &mut parts.buffer[..length], op),
    }
}

/// How the exchanges of an array are made.
#[derive(Clone, Copy)]
enum Way {
    Simple,
    Unrolled,
    Staged(usize),
    Chained(u32),
}

impl Oracle<'_, '_> {
    pub(crate) fn shuffles(&mut self) {
        use Indices::{Generated, Precomputed};
        let simple = [3, 4, 1000, 4096].map(|count| (count, Way::Simple));
        let stages = [(3, 1), (10, 8), (1000, 8), (1000, 64), (4096, 256)];
        let stages = stages.map(|(count, length)| (count, Way::Staged(length)));
        let unrolled = simple.map(|(count, _)| (count, Way::Unrolled));
        self.shuffle("linefill_shuffle_table", Precomputed, simple);
        self.shuffle("linefill_shuffle_unrolled", Precomputed, unrolled);
        self.shuffle("linefill_staged_table", Precomputed, stages);
        self.shuffle("linefill_shuffle_random", Generated, simple);
        self.shuffle("linefill_staged_random", Generated, stages);
        for chains in [1, 2, 4, 8] {
            let counts = [chains as usize + 1, 30, 1000];
            let cases = counts.map(|count| (count, Way::Chained(chains)));
            self.shuffle(side_by_side(chains).name, Precomputed, cases);
        }
    }

    fn shuffle<const N: usize>(
        &mut self,
        name: &'static str,
        indices: Indices,
        cases: [(usize, Way); N],
    ) {
        self.check(name, cases, |&(count, way), memory, then| {
            let deck = Deck::new(memory, count, indices, 11).ok()?;
            match way {
                Way::Simple => then(&mut Shuffle::new(deck)),
                Way::Unrolled => then(&mut Shuffle::new(deck).with_op(Op::Unrolled)),
                Way::Staged(length) => then(&mut Shuffle::new(deck).staged(length).ok()?),
                Way::Chained(chains) => then(&mut Chains::new(deck, chains).ok()?),
            }
        });
    }
}
