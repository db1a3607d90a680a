//! Tests of the checker: constructed histories, and a slower checker that tries every order.

use proptest::prelude::*;

use super::checker::{Call, Event, linearizable};
use Call::{Get, Put, PutIfAbsent, Remove};

fn event(began: u64, ended: u64, call: Call, returned: Option<u64>) -> Event {
    Event { call, returned, began, ended }
}

#[test]
fn what_overlaps_may_come_in_either_order() {
    for found in [None, Some(1)] {
        let history = [event(0, 3, Put(1), None), event(1, 2, Get, found)];
        assert!(linearizable(&history), "{found:?}");
    }
    assert!(linearizable(&[]));
    let both = [
        event(0, 5, PutIfAbsent(1), Some(2)),
        event(1, 4, PutIfAbsent(2), None),
        event(2, 3, Remove, None),
        event(6, 7, Remove, Some(2)),
    ];
    assert!(linearizable(&both));
}

#[test]
fn histories_that_no_map_may_show_are_rejected() {
    let wrong: [&[Event]; 7] = [
        // A read after a put does not see it.
        &[event(0, 1, Put(1), None), event(2, 3, Get, None)],
        // Two calls put at the same time, and both find the key absent.
        &[event(0, 3, PutIfAbsent(1), None), event(1, 2, PutIfAbsent(2), None)],
        // Two calls remove the same value.
        &[event(0, 1, Put(1), None), event(2, 5, Remove, Some(1)), event(3, 4, Remove, Some(1))],
        // A lost update.
        &[event(0, 3, Put(1), None), event(1, 2, Put(2), None), event(4, 5, Get, Some(1))],
        // A value that is seen and then not seen while its put is still running: the symptom of a reader that
        // uses the size of a stripe as an answer.
        &[event(0, 9, Put(1), None), event(1, 2, Get, Some(1)), event(3, 4, Get, None)],
        // A value that no call put.
        &[event(0, 1, Get, Some(7))],
        // Two readers that see two puts in opposite orders.
        &[
            event(0, 9, Put(1), None),
            event(0, 9, Put(2), Some(1)),
            event(1, 2, Get, Some(2)),
            event(3, 4, Get, Some(1)),
        ],
    ];
    for history in wrong {
        assert!(!linearizable(history), "{history:?}");
    }
}

/// Whether any order is valid.
fn by_every_order(left: &mut Vec<Event>, held: Option<u64>) -> bool {
    if left.is_empty() {
        return true;
    }
    for at in 0..left.len() {
        let event = left.remove(at);
        let late = left.iter().any(|other| other.ended < event.began);
        let fits = !late && event.returned == held;
        let found = fits && by_every_order(left, event.call.after(held));
        left.insert(at, event);
        if found {
            return true;
        }
    }
    false
}

fn calls() -> impl Strategy<Value = Call> {
    prop_oneof![Just(Get), (1..4_u64).prop_map(Put), (1..4_u64).prop_map(PutIfAbsent), Just(Remove)]
}

/// Any history. A correct map can produce few of them.
fn histories() -> impl Strategy<Value = Vec<Event>> {
    let one = (calls(), proptest::option::of(1..4_u64), 0..12_u64, 0..6_u64);
    let one =
        one.prop_map(|(call, returned, began, long)| event(began, began + long, call, returned));
    proptest::collection::vec(one, 0..7)
}

/// A sequential history. Each call happened within a known interval around its time.
fn done_in_turn() -> impl Strategy<Value = Vec<Event>> {
    let one = (calls(), 0..30_u64, 0..30_u64);
    proptest::collection::vec(one, 1..20).prop_map(|calls| {
        let mut held = None;
        let mut moment = 100;
        let mut history = Vec::new();
        for (call, before, after) in calls {
            moment += 10;
            history.push(event(moment - before, moment + after, call, held));
            held = call.after(held);
        }
        history
    })
}

proptest! {
    #[test]
    fn the_search_finds_what_trying_every_order_finds(history in histories()) {
        let slow = by_every_order(&mut history.clone(), None);
        prop_assert_eq!(linearizable(&history), slow, "{:?}", history);
    }

    #[test]
    fn what_was_done_in_turn_is_accepted(history in done_in_turn()) {
        prop_assert!(linearizable(&history), "{:?}", history);
    }

    #[test]
    fn a_value_that_was_never_put_is_rejected(
        history in done_in_turn(),
        at in any::<prop::sample::Index>(),
    ) {
        let mut history = history;
        let at = at.index(history.len());
        history[at].returned = Some(99);
        prop_assert!(!linearizable(&history), "{:?}", history);
    }
}
