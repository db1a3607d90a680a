//! A model of how often threads request shared lines, and how often a line moves if the accesses of traced
//! threads are interleaved.
//!
//! valgrind runs a thread for long stretches, in which no other thread requests the line. In the model each
//! thread has a simulated cache, and the threads access the line one by one in turn.

use std::collections::BTreeMap;

use super::{Layout, Scheme};
use crate::sim::mesi::{Mesi, Messages, Protocol};

/// Rounds after which every line has been requested for the first time.
const WARM_UP: u64 = 4;

/// Rounds that are counted.
const ROUNDS: u64 = 64;

/// Requests for lines per round, in which each thread touches each of its fields once.
#[derive(Clone, Debug, PartialEq)]
pub struct Requests {
    /// Requests of each thread, in the order of the threads' numbers.
    pub of_thread: Vec<f64>,
    /// Requests that each thread waits for: its own, and other threads' requests for the same lines, which
    /// are served one after the other.
    pub waited_for: Vec<f64>,
}

/// Counts the requests in a model of MESI in which the threads make one access each in turn. This order
/// maximizes the interference between the threads.
pub fn requests(scheme: &Scheme, layout: &Layout) -> Requests {
    let threads = scheme.threads();
    let accesses: Vec<Vec<(u64, bool)>> = threads
        .iter()
        .map(|&thread| {
            let touches = scheme.touches.iter().filter(|touch| touch.thread == thread);
            touches
                .flat_map(|touch| {
                    let parts = layout.parts(scheme, touch.field).into_iter();
                    parts.map(|(line, _)| (line, touch.write))
                })
                .collect()
        })
        .collect();
    let longest = accesses.iter().map(Vec::len).max().unwrap_or(0);
    let mut caches = Mesi::new(Protocol::MESI, threads.len());
    let mut asked: BTreeMap<(usize, u64), u64> = BTreeMap::new();
    for round in 0..WARM_UP + ROUNDS {
        for turn in 0..longest {
            for (core, accesses) in accesses.iter().enumerate() {
                let Some(&(line, write)) = accesses.get(turn) else { continue };
                let before = caches.messages();
                if write {
                    caches.write(core, line, round)
                } else {
                    caches.read(core, line)
                };
                let requests = (caches.messages() - before).requests();
                if round >= WARM_UP {
                    *asked.entry((core, line)).or_default() += requests;
                }
            }
        }
    }
    let mut of_line: BTreeMap<u64, u64> = BTreeMap::new();
    for ((_, line), requests) in &asked {
        *of_line.entry(*line).or_default() += requests;
    }
    let (mut of_thread, mut waited_for) = (vec![0; threads.len()], vec![0; threads.len()]);
    for ((core, line), requests) in asked.iter().filter(|(_, requests)| **requests > 0) {
        of_thread[*core] += requests;
        waited_for[*core] += of_line[line];
    }
    let per_round = |counts: Vec<u64>| counts.iter().map(|n| *n as f64 / ROUNDS as f64).collect();
    Requests { of_thread: per_round(of_thread), waited_for: per_round(waited_for) }
}

/// Maximum number of accesses of a thread to a line whose order is kept; they take 128 KiB.
pub const MOST: u64 = 1 << 20;

/// The order of a thread's first accesses to a line, at most [`MOST`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// A bit per access, set for a write.
    writes: Vec<u64>,
    /// Number of accesses that are kept.
    count: u64,
}

impl Order {
    /// Adds an access: a write, or a read.
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

    /// Returns whether access `at` writes. `None` if it is not kept.
    fn write(&self, at: u64) -> Option<bool> {
        let kept = at < self.count;
        kept.then(|| self.writes[(at / 64) as usize] >> (at % 64) & 1 == 1)
    }
}

/// The simulated coherence traffic of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turns {
    pub accesses: u64,
    pub messages: Messages,
}

/// Simulates caches of one line (MESI), one per thread. In each turn, every thread that has accesses left
/// makes one access.
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
    Turns { accesses: orders.iter().map(|order| order.count).sum(), messages: caches.messages() }
}

#[cfg(test)]
mod tests {
    use super::super::planted::{counters, scheme};
    use super::*;

    fn of(scheme: &Scheme) -> Requests {
        requests(scheme, &Layout::structure(scheme, 0))
    }

    #[test]
    fn neighbours_are_asked_for_at_each_write_and_apart_never_again() {
        let counters = counters();
        let dense = of(&counters);
        assert_eq!(dense.of_thread, [1.0, 1.0]);
        assert_eq!(dense.waited_for, [2.0, 2.0]);
        let apart = requests(&counters, &Layout::apart(&counters, 64));
        assert_eq!(apart.of_thread, [0.0, 0.0]);
        assert_eq!(apart.waited_for, [0.0, 0.0]);
    }

    #[test]
    fn a_writer_disturbs_its_reader_and_readers_nobody() {
        let found = of(&scheme(&[(0, 8), (8, 8)], &[(0, 0, true), (5, 1, false)]));
        assert_eq!(found.of_thread, [1.0, 1.0]);
        let found = of(&scheme(&[(0, 8), (8, 8)], &[(0, 0, false), (1, 1, false)]));
        assert_eq!(found.of_thread, [0.0, 0.0]);
    }

    #[test]
    fn more_threads_wait_for_more_requests() {
        let fields: Vec<(u64, u64)> = (0..4).map(|at| (8 * at, 8)).collect();
        let touches: Vec<(usize, usize, bool)> = (0..4).map(|at| (at, at, true)).collect();
        assert_eq!(of(&scheme(&fields, &touches)).waited_for, [4.0; 4]);
    }

    /// `L` is a read, `S` a write.
    fn order(text: &str) -> Order {
        let mut order = Order::default();
        text.chars().for_each(|kind| order.push(kind == 'S'));
        order
    }

    fn messages(threads: &[&str]) -> Messages {
        let orders: Vec<Order> = threads.iter().map(|text| order(text)).collect();
        let turns = in_turns(&orders.iter().collect::<Vec<_>>());
        let given: usize = threads.iter().map(|text| text.len()).sum();
        assert_eq!(turns.accesses, given as u64);
        turns.messages
    }

    #[test]
    fn two_writers_take_the_line_at_each_write() {
        // The first write gets the line from memory, each of the other five from the other cache. After that
        // only the second thread writes.
        let expected = Messages {
            owns: 6,
            invalidations: 5,
            transfers: 5,
            from_memory: 1,
            ..Messages::default()
        };
        assert_eq!(messages(&["SSS", "SSSSSSS"]), expected);
        assert_eq!(messages(&["SSSSSSS"]).transfers, 0);
    }

    #[test]
    fn two_counters_of_loads_and_stores_send_it_twice_a_round() {
        // Both load the line from memory. Then, in each round of four accesses, the first announces its
        // store, the second requests the line to store, and the first requests it to load, which writes it
        // back.
        let expected = Messages {
            reads: 2 + 2,
            owns: 3,
            announcements: 3,
            invalidations: 6,
            transfers: 3 + 2,
            from_memory: 2,
            write_backs: 2,
        };
        assert_eq!(messages(&["LSLSLS", "LSLSLS"]), expected);
    }

    #[test]
    fn readers_move_nothing_and_a_writer_disturbs_each_of_them() {
        assert_eq!(messages(&["LLLL", "LLLL"]).rfos(), 0);
        assert_eq!(messages(&["LLLL", "LLLL"]).transfers, 0);
        // Two readers beside a writer, in two rounds. First the writer gets the line; one reader gets it
        // from the writer, the other from memory. The second write is announced to both, and one reader gets
        // the line from the writer again.
        let expected = Messages {
            reads: 4,
            owns: 1,
            announcements: 1,
            invalidations: 2,
            transfers: 2,
            from_memory: 3,
            write_backs: 2,
        };
        assert_eq!(messages(&["SS", "LL", "LL"]), expected);
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
