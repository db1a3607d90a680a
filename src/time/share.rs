//! Measures how much of its core a thread has to itself.
//!
//! The sibling hyper-thread takes execution slots and cache, and no operating system counts them: under
//! a hypervisor, the sibling may belong to another virtual machine. Throughput reveals it. Beside most
//! siblings, a chain of dependent instructions takes as long as alone, while independent instructions
//! take up to twice as long. The ratio of the two times depends on the kind of core, but neither on its
//! clock nor on the counter's rate.

// The timed instructions must be exactly these.
#![allow(unsafe_code)]

use core::arch::asm;

use super::{start, stop, yardstick};

/// The share below which a thread is not [alone](SmtContention::alone). On an AMD Zen 4 the share
/// scatters by 4 % without a sibling; beside a sibling that computes it falls to 0.5 to 0.8.
const ALONE: f64 = 0.87;

/// Measurements per look, which takes their median: an interrupt falls into at most one of them.
const TIMES: usize = 3;

/// Blocks of independent instructions; a block takes about 32 cycles at four instructions per cycle.
const BLOCKS: u64 = 40;

/// Dependent multiplications that are timed beside the independent instructions.
const CHAIN: u64 = 400;

/// How much the clock may slow down between two looks without further evidence: 5 % in 400 looks.
const SLOWER: f64 = 1.0 + 1.0 / 8192.0;

/// The largest slowdown of both kinds of instructions that is taken for a slower clock at once. A core that
/// waits for memory was seen to slow down to 0.86 of its clock. An interrupted look takes far longer.
const LARGEST_SLOWDOWN: f64 = 1.25;

/// How far the slowdowns of both kinds of instructions may differ, as a ratio, if only the clock is slower.
const SAME: f64 = 1.06;

/// Detects a busy sibling from the throughput of the core that a thread runs on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SmtContention {
    /// Lowest ticks of the dependent instructions at the core's present clock.
    clock: f64,
    /// Lowest ratio seen of the independent instructions' ticks to `clock`: the ratio without a sibling.
    alone: f64,
}

impl SmtContention {
    /// Takes this many looks, of some microseconds each. Call it on the CPU to be watched, because a
    /// core's instructions per cycle depend on its kind. If the thread shares its core in all of these
    /// looks, it counts as alone until a look finds it alone.
    pub fn after(looks: usize) -> Self {
        let mut share = SmtContention { clock: f64::INFINITY, alone: f64::INFINITY };
        for _ in 0..looks {
            share.look();
        }
        share
    }

    /// Returns the share of the core's throughput that this thread has now, relative to the most it ever
    /// had: 1 alone, about 0.5 beside a sibling that computes. Takes some microseconds and touches no
    /// memory.
    pub fn look(&mut self) -> f64 {
        let (mut independent, mut dependent) = ([0; TIMES], [0; TIMES]);
        for (independent, dependent) in independent.iter_mut().zip(&mut dependent) {
            (*independent, *dependent) = ticks();
        }
        self.among(independent, dependent)
    }

    /// Checks once, and returns whether no other thread computes on the core.
    pub fn alone(&mut self) -> bool {
        self.look() >= ALONE
    }

    fn among(&mut self, mut independent: [u64; TIMES], mut dependent: [u64; TIMES]) -> f64 {
        independent.sort_unstable();
        dependent.sort_unstable();
        let least = |sorted: [u64; TIMES]| sorted[0].max(1) as f64;
        let middle = |sorted: [u64; TIMES]| sorted[TIMES / 2].max(1) as f64;
        // A slower clock slows down both kinds of instructions alike. A sibling slows down one kind more.
        let slowdown = least(dependent) / self.clock;
        let apart = least(independent) / least(dependent) / self.alone;
        if slowdown < LARGEST_SLOWDOWN && apart < SAME && apart > 1.0 / SAME {
            self.clock = self.clock.max(least(dependent));
        }
        self.clock = (self.clock * SLOWER).min(least(dependent));
        self.alone = self.alone.min(least(independent) / self.clock);
        // A sibling that multiplies keeps the dependent instructions waiting, too.
        let clock = (middle(independent) / self.alone).max(middle(dependent));
        (self.clock / clock).min(1.0)
    }
}

/// Returns the ticks of the independent instructions and of the dependent ones.
fn ticks() -> (u64, u64) {
    let began = start();
    independent(BLOCKS);
    let between = start();
    yardstick::chain(CHAIN);
    let ended = stop();
    (between - began, ended - between)
}

/// Executes `blocks` times 128 instructions, in groups of eight that depend only on the group before.
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

    /// Once seen alone, a thread is found to share its core whichever of its instructions wait. One
    /// interrupted measurement of three has no effect.
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

    /// A clock that slows down a little slows down both kinds of instructions alike. One that slows down much
    /// looks like a busy sibling at first, and is accepted after some looks.
    #[test]
    fn a_slower_clock_is_believed() {
        let mut share = SmtContention::after(0);
        share.among([900; 3], [800; 3]);
        let look = share.among([1080; 3], [960; 3]);
        assert!(look > 0.99, "{look}");
        // A sibling takes more of the independent instructions.
        let beside = share.among([1600; 3], [1000; 3]);
        assert!(beside < ALONE, "{beside}");
        let much = [0; 4000].map(|_| share.among([1620; 3], [1440; 3]));
        assert!(much[0] < ALONE, "{}", much[0]);
        assert!(much[3999] > 0.99, "{}", much[3999]);
        // The first clock again.
        assert!(share.among([900; 3], [800; 3]) > 0.99);
        assert!(share.among([1800; 3], [800; 3]) < 0.51);
    }

    #[test]
    fn a_look_gives_a_share() {
        let mut share = SmtContention::after(9);
        let looks = [0; 9].map(|_| share.look());
        assert!(looks.iter().all(|&look| 0.0 < look && look <= 1.0), "{looks:?}");
    }
}
