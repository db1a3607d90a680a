//! Shuffles, and exchanges in chains.

use crate::kernel::verify::check::{Built, Case, WithKernel, WithTwin};
use crate::kernel::verify::run::Oracle;
use crate::kernel::{Chains, Kernel, Op, Shuffle};
use crate::mem::Region;
use crate::pattern::{Deck, Indices};

/// How the exchanges of an array are done.
#[derive(Clone, Copy)]
enum Way {
    Simple,
    Unrolled,
    Staged(usize),
    Chained(u32),
}

struct ShuffleCase {
    count: usize,
    indices: Indices,
    way: Way,
}

impl ShuffleCase {
    fn deck<'m>(&self, memory: Region<'m>) -> Option<Deck<'m>> {
        Deck::new(memory, self.count, self.indices, 11).ok()
    }

    fn shuffle<'m>(&self, memory: Region<'m>, length: usize) -> Option<Shuffle<'m>> {
        Shuffle::new(self.deck(memory)?).staged(length).ok()
    }

    /// The first `i` that a pass does not come to, by going there.
    fn end(&self) -> usize {
        let mut i = self.count;
        match self.way {
            Way::Simple | Way::Unrolled => return 1,
            Way::Staged(length) => {
                while i > length + 1 {
                    i -= length;
                }
            }
            Way::Chained(chains) => {
                while i > chains as usize {
                    i -= chains as usize;
                }
            }
        }
        i
    }
}

impl Case for ShuffleCase {
    fn kernel(&self, memory: Region<'_>, then: WithKernel<'_>) -> Built {
        let kernel: &mut dyn Kernel = match self.way {
            Way::Simple => &mut Shuffle::new(self.deck(memory)?),
            Way::Unrolled => &mut Shuffle::new(self.deck(memory)?).with_op(Op::Unrolled),
            Way::Staged(length) => &mut self.shuffle(memory, length)?,
            Way::Chained(chains) => &mut Chains::new(self.deck(memory)?, chains).ok()?,
        };
        then(kernel);
        Some(())
    }

    fn twin(&self, memory: Region<'_>, then: WithTwin<'_>) -> Built {
        let mut deck = self.deck(memory)?;
        let end = self.end();
        let stage = match self.way {
            Way::Staged(length) => Some(length),
            Way::Simple | Way::Unrolled | Way::Chained(_) => None,
        };
        let (mut i, mut last) = (self.count, end);
        then(&mut |operations| {
            let mut left = operations as usize;
            while left > 0 {
                let exchanges = left.min(i - end);
                crate::kernel::compute::shuffle::reference::on_deck(&mut deck, i, exchanges, stage);
                i -= exchanges;
                left -= exchanges;
                last = i;
                if i == end {
                    i = self.count;
                }
            }
            deck.int(Deck::DATA + last * 4).into()
        });
        Some(())
    }
}

impl Oracle<'_, '_> {
    pub(crate) fn shuffles(&mut self) {
        let counts = [3, 4, 1000, 4096];
        let case = |count, indices, way| ShuffleCase {
            count,
            indices,
            way,
        };
        for (simple, staged, indices) in [
            (
                "linefill_shuffle_table",
                "linefill_staged_table",
                Indices::Precomputed,
            ),
            (
                "linefill_shuffle_random",
                "linefill_staged_random",
                Indices::Generated,
            ),
        ] {
            self.check(
                simple,
                counts.map(|count| case(count, indices, Way::Simple)),
            );
            let stages = [(3, 1), (10, 8), (1000, 8), (1000, 64), (4096, 256)];
            let staged_case = |(count, length)| case(count, indices, Way::Staged(length));
            self.check(staged, stages.map(staged_case));
        }
        let unrolled = counts.map(|count| case(count, Indices::Precomputed, Way::Unrolled));
        self.check("linefill_shuffle_unrolled", unrolled);
        for (name, chains) in [
            ("linefill_chains1", 1),
            ("linefill_chains2", 2),
            ("linefill_chains4", 4),
            ("linefill_chains8", 8),
        ] {
            let counts = [chains as usize + 1, 30, 1000];
            let chained = |count| case(count, Indices::Precomputed, Way::Chained(chains));
            self.check(name, counts.map(chained));
        }
    }
}
