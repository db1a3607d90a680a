//! Concurrent operations on the same keys, recorded and checked.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use linefill::experiment::topics::maps::map::SharedMap;
use linefill::pattern::Rng;

use super::checker::{Call, Event, linearizable};
use super::maps;

/// Counts time: a later reading is larger, on any CPU.
#[derive(Default)]
struct Clock(AtomicU64);

impl Clock {
    fn now(&self) -> u64 {
        self.0.fetch_add(1, Ordering::SeqCst)
    }

    fn record(&self, map: &dyn SharedMap, key: u32, call: Call) -> Event {
        let began = self.now();
        let returned = match call {
            Call::Get => map.get(key),
            Call::Put(value) => map.put(key, value),
            Call::PutIfAbsent(value) => map.put_if_absent(key, value),
            Call::Remove => map.remove(key),
        };
        Event { call, returned, began, ended: self.now() }
    }
}

/// A barrier without sleeping, so that the threads continue at the same time. It can be used many times.
struct Meeting {
    threads: usize,
    arrived: AtomicUsize,
}

impl Meeting {
    fn wait(&self, round: usize) {
        self.arrived.fetch_add(1, Ordering::AcqRel);
        let mut looks = 0_u32;
        while self.arrived.load(Ordering::Acquire) < (round + 1) * self.threads {
            looks += 1;
            // Threads on the same CPU must yield to each other.
            if looks.is_multiple_of(1_000) {
                thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
    }
}

const ROUNDS: usize = 600;
const THREADS: usize = 3;
/// Keys per round.
const KEYS: usize = 2;
/// Calls per thread and round.
const CALLS: usize = 20;

/// A random operation on a key: half of the calls are reads.
fn call(rng: &mut Rng, value: u64) -> Call {
    match rng.below(6) {
        0 => Call::Put(value),
        1 => Call::PutIfAbsent(value),
        2 => Call::Remove,
        _ => Call::Get,
    }
}

/// The calls of one thread. Each round has new keys, which all threads share.
fn calls_of(
    thread: usize,
    map: &dyn SharedMap,
    clock: &Clock,
    meeting: &Meeting,
) -> Vec<(u32, Event)> {
    let mut rng = Rng::new(thread as u64);
    let mut events = Vec::new();
    for round in 0..ROUNDS {
        meeting.wait(round);
        for number in 0..CALLS {
            let key = (round * KEYS + rng.below(KEYS)) as u32;
            // No two puts have the same value.
            let value = (thread + THREADS * (number + CALLS * round)) as u64;
            let event = clock.record(map, key, call(&mut rng, value));
            events.push((key, event));
        }
    }
    events
}

/// The calls of all threads by key, followed by a read of each key after the threads have ended.
fn stressed(map: &dyn SharedMap) -> BTreeMap<u32, Vec<Event>> {
    let clock = Clock::default();
    let meeting = Meeting { threads: THREADS, arrived: AtomicUsize::new(0) };
    let mut by_key: BTreeMap<u32, Vec<Event>> = BTreeMap::new();
    thread::scope(|scope| {
        let (clock, meeting) = (&clock, &meeting);
        let start = |thread| scope.spawn(move || calls_of(thread, map, clock, meeting));
        let threads: Vec<_> = (0..THREADS).map(start).collect();
        for thread in threads {
            for (key, event) in thread.join().unwrap() {
                by_key.entry(key).or_default().push(event);
            }
        }
    });
    for (key, events) in &mut by_key {
        events.push(clock.record(map, *key, Call::Get));
    }
    by_key
}

/// One bucket per stripe at first, so that the map grows many times during the calls. Also with only one
/// stripe, so that all keys share a lock and a size.
#[test]
fn operations_of_several_threads_look_as_if_done_in_turn() {
    for stripes in [1, 4] {
        for (name, map) in maps(stripes, 1) {
            let by_key = stressed(&*map);
            for (key, history) in &by_key {
                assert!(linearizable(history), "{name}, key {key}: {history:#?}");
            }
            let present = by_key.keys().filter(|key| map.contains(**key)).count();
            assert_eq!(map.len(), present, "{name}");
        }
    }
}

/// A faulty map: its put-if-absent reads first and puts later, with time for other calls in between.
struct LooksFirst<'m> {
    map: &'m dyn SharedMap,
    between: Meeting,
}

impl SharedMap for LooksFirst<'_> {
    fn get(&self, key: u32) -> Option<u64> {
        self.map.get(key)
    }

    fn put(&self, key: u32, value: u64) -> Option<u64> {
        self.map.put(key, value)
    }

    fn put_if_absent(&self, key: u32, value: u64) -> Option<u64> {
        let held = self.map.get(key);
        self.between.wait(0);
        if held.is_none() {
            self.map.put(key, value);
        }
        held
    }

    fn remove(&self, key: u32) -> Option<u64> {
        self.map.remove(key)
    }

    fn for_each(&self, each: &mut dyn FnMut(u32, u64)) {
        self.map.for_each(each);
    }

    fn len(&self) -> usize {
        self.map.len()
    }
}

#[test]
fn a_map_that_looks_before_it_puts_is_caught() {
    for (name, map) in maps(4, 1) {
        let broken = LooksFirst {
            map: &*map,
            between: Meeting { threads: 2, arrived: AtomicUsize::new(0) },
        };
        let (broken, clock) = (&broken, &Clock::default());
        let history: Vec<Event> = thread::scope(|scope| {
            let put =
                |value| scope.spawn(move || clock.record(broken, 5, Call::PutIfAbsent(value)));
            let both = [1, 2].map(put);
            both.map(|thread| thread.join().unwrap()).into()
        });
        assert!(!linearizable(&history), "{name}: {history:?}");
    }
}
