//! Shuffles, chains of exchanges, and interleaved walks.

use super::kernel::{Kernel, Traffic};
use super::{Stated, stated};

pub const STATED: &[Stated] = &[
    stated("linefill_chains1", 5, 3, 20, 12),
    stated("linefill_chains2", 2 * 5, 2 * 3, 2 * 20, 2 * 12),
    stated("linefill_chains4", 4 * 5, 4 * 3, 4 * 20, 4 * 12),
    stated("linefill_chains8", 8 * 5, 8 * 3, 8 * 20, 8 * 12),
    stated("linefill_lanes", 2, 1, 16, 8),
    stated("linefill_shuffle_random", 6, 4, 28, 20),
    stated("linefill_shuffle_table", 5, 3, 20, 12),
    stated("linefill_shuffle_unrolled", 4 * 5, 4 * 3, 4 * 20, 4 * 12),
    // The shorter loop exchanges, after the loop that draws.
    stated("linefill_staged_random", 5, 3, 20, 12).and_outside(Traffic {
        loads: 2,
        stores: 2,
        read: 12,
        written: 12,
    }),
    // Here the shorter loop looks up, before the loop that exchanges.
    stated("linefill_staged_table", 1, 1, 4, 4).and_outside(Traffic {
        loads: 5,
        stores: 3,
        read: 20,
        written: 12,
    }),
];

/// The number of instructions per exchange determines how many exchanges fit into the window of an
/// out-of-order CPU.
#[test]
fn an_exchange_is_as_many_instructions_as_the_header_says() {
    for (name, instructions) in [("linefill_shuffle_random", 40), ("linefill_shuffle_table", 13)] {
        let kernel = Kernel::named(name);
        let body = kernel.innermost().unwrap();
        // The loop of the drawing kernel ends before the code for its rare branches.
        assert_eq!(body.len(), instructions, "{name}");
    }
}
