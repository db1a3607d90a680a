//! Whether operations on a key look as if done one after the other (Herlihy and Wing, 1990), found
//! by the search of Wing and Gong (1993): whatever may come first is tried, and what led nowhere
//! from the same state is not tried again.

use std::collections::HashSet;

/// What is asked of a map for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Get,
    Put(u64),
    PutIfAbsent(u64),
    Remove,
}

impl Call {
    /// What the map holds after the call. What it held before is what the call returns.
    pub fn after(self, before: Option<u64>) -> Option<u64> {
        match self {
            Call::Get => before,
            Call::Put(value) => Some(value),
            Call::PutIfAbsent(value) => before.or(Some(value)),
            Call::Remove => None,
        }
    }
}

/// A call, what it returned, and two moments, one before it and one after.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub call: Call,
    pub returned: Option<u64>,
    pub began: u64,
    pub ended: u64,
}

/// Whether there is an order of these calls for one key, absent at first, in which each returns
/// what it did, and in which none comes before one that had ended when it began.
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
