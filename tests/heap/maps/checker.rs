//! Checks whether the operations on a key are linearizable (Herlihy and Wing, 1990), with the search of Wing
//! and Gong (1993). It tries every call that may come first, and does not search again from a state that led
//! to no solution.

use std::collections::HashSet;

/// An operation on a key of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Get,
    Put(u64),
    PutIfAbsent(u64),
    Remove,
}

impl Call {
    /// The map's content after the call. The call returns the content before it.
    pub fn after(self, before: Option<u64>) -> Option<u64> {
        match self {
            Call::Get => before,
            Call::Put(value) => Some(value),
            Call::PutIfAbsent(value) => before.or(Some(value)),
            Call::Remove => None,
        }
    }
}

/// A call, its result, a time before it and a time after it.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub call: Call,
    pub returned: Option<u64>,
    pub began: u64,
    pub ended: u64,
}

/// Whether these calls for one key, absent at first, have an order in which each returns its recorded result,
/// and no call comes before a call that had ended when it began.
pub fn linearizable(history: &[Event]) -> bool {
    assert!(history.len() <= 64, "{} events", history.len());
    let all = u64::MAX.checked_shr(64 - history.len() as u32).unwrap_or(0);
    let mut seen = HashSet::new();
    let mut open = vec![(0_u64, None)];
    while let Some((done, held)) = open.pop() {
        if done == all {
            return true;
        }
        if !seen.insert((done, held)) {
            continue;
        }
        let left = || (0..history.len()).filter(move |at| done >> at & 1 == 0);
        let first_end = left().map(|at| history[at].ended).min();
        for at in left() {
            let event = &history[at];
            if Some(event.began) <= first_end && event.returned == held {
                open.push((done | 1 << at, event.call.after(held)));
            }
        }
    }
    false
}
