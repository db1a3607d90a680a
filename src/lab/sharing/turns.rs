//! How often a line moves if the threads that were traced take turns.
//!
//! valgrind runs a thread for long stretches, in which no other thread asks for the line. Here each thread
//! has a simulated cache, and their accesses to the line go there one by one in turn.

use crate::sim::mesi::{Mesi, Messages, Protocol};

/// The most accesses of a thread to a line whose order is kept: 128 KiB.
pub const MOST: u64 = 1 << 20;

/// The first accesses of a thread to a line, in their order: [`MOST`] at most.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// A bit per access, set for a write.
    writes: Vec<u64>,
    /// How many are kept.
    count: u64,
}

impl Order {
    /// Adds an access: a write, or a read alone.
    pub fn push(&mut self, write: bool) {
        if self.count == MOST {
            return;
        }
        let bit = self.count % 64;
        if bit == 0 {
            self.writes.push(0);
        }
        if let Some(last) = self.writes.last_mut() {
            *last |= u64::from(write) << bit;
        }
        self.count += 1;
    }

    /// Whether access `at` writes. `None` if it is not kept.
    fn write(&self, at: u64) -> Option<bool> {
        let kept = at < self.count;
        kept.then(|| self.writes[(at / 64) as usize] >> (at % 64) & 1 == 1)
    }
}

/// What the caches of the threads send for a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turns {
    /// The accesses that were simulated.
    pub accesses: u64,
    /// What the caches sent.
    pub messages: Messages,
}

/// Simulates caches of one line (MESI), one per thread. Each thread makes one access in each turn, as
/// long as it has any.
pub fn in_turns(orders: &[&Order]) -> Turns {
    const LINE: u64 = 0;
    let mut caches = Mesi::new(Protocol::MESI, orders.len());
    let longest = orders.iter().map(|order| order.count).max().unwrap_or(0);
    for turn in 0..longest {
        for (core, order) in orders.iter().enumerate() {
            match order.write(turn) {
                Some(true) => caches.write(core, LINE, turn),
                Some(false) => caches.read(core, LINE),
                None => continue,
            };
        }
    }
    Turns {
        accesses: orders.iter().map(|order| order.count).sum(),
        messages: caches.messages(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `L` is a read, `S` a write.
    fn order(text: &str) -> Order {
        let mut order = Order::default();
        text.chars().for_each(|kind| order.push(kind == 'S'));
        order
    }

    fn of(threads: &[&str]) -> Messages {
        let orders: Vec<Order> = threads.iter().map(|text| order(text)).collect();
        let turns = in_turns(&orders.iter().collect::<Vec<_>>());
        let given: usize = threads.iter().map(|text| text.len()).sum();
        assert_eq!(turns.accesses, given as u64);
        turns.messages
    }

    #[test]
    fn two_writers_take_the_line_at_each_write() {
        // The first write has it from memory, each of the other five from the other cache. From then on the
        // second thread is alone.
        let expected = Messages {
            owns: 6,
            invalidations: 5,
            transfers: 5,
            from_memory: 1,
            ..Messages::default()
        };
        assert_eq!(of(&["SSS", "SSSSSSS"]), expected);
        assert_eq!(of(&["SSSSSSS"]).transfers, 0);
    }

    #[test]
    fn two_counters_of_loads_and_stores_send_it_twice_a_round() {
        // Both load it from memory. Then in each round of four accesses: the first announces its store, the
        // second asks for the line to store, the first to load, which writes it back.
        let expected = Messages {
            reads: 2 + 2,
            owns: 3,
            announcements: 3,
            invalidations: 6,
            transfers: 3 + 2,
            from_memory: 2,
            write_backs: 2,
        };
        assert_eq!(of(&["LSLSLS", "LSLSLS"]), expected);
    }

    #[test]
    fn readers_move_nothing_and_a_writer_disturbs_each_of_them() {
        assert_eq!(of(&["LLLL", "LLLL"]).rfos(), 0);
        assert_eq!(of(&["LLLL", "LLLL"]).transfers, 0);
        // Two readers beside a writer, in two rounds: the writer owns it first; one reader has it from the
        // writer, the other from memory; the second write is announced to both, and one of them has it from
        // the writer again.
        let expected = Messages {
            reads: 4,
            owns: 1,
            announcements: 1,
            invalidations: 2,
            transfers: 2,
            from_memory: 3,
            write_backs: 2,
        };
        assert_eq!(of(&["SS", "LL", "LL"]), expected);
    }

    #[test]
    fn the_order_is_kept_up_to_a_bound() {
        let mut order = Order::default();
        for at in 0..MOST + 1 {
            order.push(at % 3 == 0);
        }
        for at in [0, 1, 63, 64, 66, MOST - 1] {
            assert_eq!(order.write(at), Some(at % 3 == 0), "{at}");
        }
        assert_eq!(order.write(MOST), None);
        assert_eq!(in_turns(&[&order]).accesses, MOST);
    }
}
