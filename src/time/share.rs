//! How much of its core a thread has.
//!
//! A hyper-thread beside this one takes execution slots and cache that no operating system counts:
//! of a virtual machine it may belong to a stranger. What gives it away is throughput. Dependent
//! instructions take as long as ever beside most siblings, while as many independent ones take up
//! to twice as long; how many of these fit into the time of those depends on the kind of core, and
//! neither on its clock nor on the counter's.

// Instructions that must be exactly these.
#![allow(unsafe_code)]

use core::arch::asm;

use super::{start, stop, yardstick};

/// The share below which a thread is not [alone](SmtContention::alone). On an AMD Zen 4 it scatters by 4 %
/// without a sibling; beside one that computes it falls to 0.5 to 0.8.
const ALONE: f64 = 0.87;

/// Measurements of which a look takes the middle one: an interrupt falls into one of them at most.
const TIMES: usize = 3;

/// Blocks of independent instructions, each some 32 cycles long where four a cycle are executed.
const BLOCKS: u64 = 40;

/// Dependent multiplications beside them.
const CHAIN: u64 = 400;

/// How much slower a clock is believed to become from one look to the next: 5 % in 400.
const SLOWER: f64 = 1.0 + 1.0 / 8192.0;

/// Watches the throughput of the core that a thread runs on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SmtContention {
    /// Ticks of the dependent instructions at the core's present clock: nothing makes them faster
    /// than that.
    clock: f64,
    /// What the independent ones take of it in a thread that has the core to itself.
    alone: f64,
}

impl SmtContention {
    /// Takes so many looks, of some microseconds each. On the CPU that is to be watched: what a core
    /// executes in a cycle depends on its kind. If the thread is alone at none of them, it is taken
    /// to be alone until it is.
    pub fn after(looks: usize) -> Self {
        let mut share = SmtContention {
            clock: f64::INFINITY,
            alone: f64::INFINITY,
        };
        for _ in 0..looks {
            share.look();
        }
        share
    }

    /// The share of the core's throughput that this thread has at the moment, against the most it
    /// ever had: 1 alone, about a half beside a sibling that computes. Takes some microseconds and
    /// touches no memory.
    pub fn look(&mut self) -> f64 {
        let (mut independent, mut dependent) = ([0; TIMES], [0; TIMES]);
        for (independent, dependent) in independent.iter_mut().zip(&mut dependent) {
            (*independent, *dependent) = ticks();
        }
        self.among(independent, dependent)
    }

    /// Whether nobody else computes on the core right now.
    pub fn alone(&mut self) -> bool {
        self.look() >= ALONE
    }

    fn among(&mut self, mut independent: [u64; TIMES], mut dependent: [u64; TIMES]) -> f64 {
        independent.sort_unstable();
        dependent.sort_unstable();
        let least = |sorted: [u64; TIMES]| sorted[0].max(1) as f64;
        let middle = |sorted: [u64; TIMES]| sorted[TIMES / 2].max(1) as f64;
        self.clock = (self.clock * SLOWER).min(least(dependent));
        self.alone = self.alone.min(least(independent) / self.clock);
        // A sibling that multiplies keeps the dependent instructions waiting, too.
        let clock = (middle(independent) / self.alone).max(middle(dependent));
        (self.clock / clock).min(1.0)
    }
}

/// Ticks of independent instructions, and of dependent ones.
fn ticks() -> (u64, u64) {
    let began = start();
    independent(BLOCKS);
    let between = start();
    yardstick::chain(CHAIN);
    let ended = stop();
    (between - began, ended - between)
}

/// `blocks` times 128 instructions of which eight at a time depend on nothing but the eight before.
#[inline(always)]
fn independent(blocks: u64) {
    // SAFETY: combines registers, `blocks` times; touches nothing else.
    unsafe {
        asm!(
            "2:",
            ".rept 16",
            "xor {a}, {with}",
            "xor {b}, {with}",
            "xor {c}, {with}",
            "xor {d}, {with}",
            "xor {e}, {with}",
            "xor {f}, {with}",
            "xor {g}, {with}",
            "xor {h}, {with}",
            ".endr",
            "dec {blocks}",
            "jnz 2b",
            a = inout(reg) 1_u64 => _,
            b = inout(reg) 2_u64 => _,
            c = inout(reg) 3_u64 => _,
            d = inout(reg) 4_u64 => _,
            e = inout(reg) 5_u64 => _,
            f = inout(reg) 6_u64 => _,
            g = inout(reg) 7_u64 => _,
            h = inout(reg) 8_u64 => _,
            with = in(reg) 9_u64,
            blocks = inout(reg) blocks => _,
            options(nostack, nomem),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seen alone once, a thread is known to share its core whichever of its instructions wait, and
    /// one measurement of three that was interrupted says nothing.
    #[test]
    fn a_share_is_held_against_the_most_ever_seen() {
        let mut share = SmtContention::after(0);
        let mut look = |independent, dependent| {
            let percent = 100.0 * share.among(independent, dependent);
            percent.round() as u64
        };
        // Beside a sibling from the start: nothing better is known.
        assert_eq!(look([1800; 3], [800; 3]), 100);
        assert_eq!(look([900; 3], [800; 3]), 100);
        assert_eq!(look([1800; 3], [800; 3]), 50);
        assert_eq!(look([1000; 3], [1600; 3]), 50);
        assert_eq!(look([900, 900, 90_000], [90_000, 800, 800]), 100);
    }

    /// A clock that slows down looks like company at first, and soon no more.
    #[test]
    fn a_slower_clock_is_believed_in_time() {
        let mut share = SmtContention::after(0);
        share.among([900; 3], [800; 3]);
        let shares = [0; 2000].map(|_| share.among([1080; 3], [960; 3]));
        assert!(shares[0] < ALONE, "{}", shares[0]);
        assert!(shares[1999] > 0.99, "{}", shares[1999]);
    }

    #[test]
    fn a_look_gives_a_share() {
        let mut share = SmtContention::after(9);
        let looks = [0; 9].map(|_| share.look());
        assert!(
            looks.iter().all(|&look| 0.0 < look && look <= 1.0),
            "{looks:?}"
        );
    }
}
