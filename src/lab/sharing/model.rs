//! How often threads ask for the lines that they share.

use std::collections::BTreeMap;

use super::{Layout, Scheme};
use crate::sim::mesi::{Mesi, Protocol};

/// Rounds until every line has been asked for the first time.
const WARM_UP: u64 = 4;

/// Rounds that are counted.
const ROUNDS: u64 = 64;

/// Requests for lines, a round in which each thread touches each of its fields once.
#[derive(Clone, Debug, PartialEq)]
pub struct Requests {
    /// Those of each thread, in the order of the threads' numbers.
    pub of_thread: Vec<f64>,
    /// How many requests a thread waits for a round: its own, and those of others for the same
    /// lines, which are served in turn.
    pub waited_for: Vec<f64>,
}

/// Counts the requests in a model of MESI in which the threads make one access each in turn: the
/// most that they can disturb each other.
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
                let Some(&(line, write)) = accesses.get(turn) else {
                    continue;
                };
                let before = caches.messages();
                match write {
                    true => caches.write(core, line, round),
                    false => caches.read(core, line),
                };
                let requests = (caches.messages() - before).requests();
                if round >= WARM_UP {
                    *asked.entry((core, line)).or_default() += requests;
                }
            }
        }
    }
    let a_round = |requests: u64| requests as f64 / ROUNDS as f64;
    let of_thread = |core: usize| {
        let own = asked.iter().filter(|((of, _), _)| *of == core);
        a_round(own.map(|(_, requests)| requests).sum())
    };
    let waited_for = |core: usize| {
        let own = asked.iter();
        let lines = own.filter(|((of, _), requests)| *of == core && **requests > 0);
        let of_all = |line: u64| {
            let all = asked.iter().filter(|((_, of), _)| *of == line);
            all.map(|(_, requests)| requests).sum::<u64>()
        };
        a_round(lines.map(|((_, line), _)| of_all(*line)).sum())
    };
    Requests {
        of_thread: (0..threads.len()).map(of_thread).collect(),
        waited_for: (0..threads.len()).map(waited_for).collect(),
    }
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
}
