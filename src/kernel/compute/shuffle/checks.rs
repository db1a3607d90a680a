//! Shuffles, and exchanges in chains.

use crate::kernel::verify::Oracle;
use crate::kernel::{Chains, Op, Shuffle};
use crate::pattern::{Deck, Indices};

/// How the exchanges of an array are done.
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
        for (name, chains) in [
            ("linefill_chains1", 1),
            ("linefill_chains2", 2),
            ("linefill_chains4", 4),
            ("linefill_chains8", 8),
        ] {
            let counts = [chains as usize + 1, 30, 1000];
            self.shuffle(
                name,
                Precomputed,
                counts.map(|count| (count, Way::Chained(chains))),
            );
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
