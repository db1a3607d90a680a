//! Operations of several threads on the same keys, recorded and checked.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use linefill::experiment::topics::maps::map::SharedMap;
use linefill::pattern::Rng;

use super::checker::{Call, Event, linearizable};
use super::maps;

/// Counts moments: one that is taken after another is larger, on whatever CPU.
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
        Event {
            call,
            returned,
            began,
            ended: self.now(),
        }
    }
}

/// Where threads wait for each other, many times, without sleeping: they are to go on at once.
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
            // Those that share a CPU must give it away.
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
/// Keys of a round.
const KEYS: usize = 2;
/// Calls of a thread in a round.
const CALLS: usize = 20;

/// What is done to a key: reads as often as all changes together.
fn call(rng: &mut Rng, value: u64) -> Call {
    match rng.below(6) {
        0 => Call::Put(value),
        1 => Call::PutIfAbsent(value),
        2 => Call::Remove,
        _ => Call::Get,
    }
}

/// One thread's calls: keys of its own in each round, the same as the other threads'.
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
            // No two puts have a value in common.
            let value = (thread + THREADS * (number + CALLS * round)) as u64;
            let event = clock.record(map, key, call(&mut rng, value));
            events.push((key, event));
        }
    }
    events
}

/// The calls of all threads, key by key, and a last look at each key when they are done.
fn stressed(map: &dyn SharedMap) -> BTreeMap<u32, Vec<Event>> {
    let clock = Clock::default();
    let meeting = Meeting {
        threads: THREADS,
        arrived: AtomicUsize::new(0),
    };
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

/// A bucket a stripe at first, so that the map grows many times meanwhile; and one stripe, so that
/// all keys share a lock and a size.
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

/// A map whose put-if-absent looks first and puts afterwards, with time for others in between.
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
            between: Meeting {
                threads: 2,
                arrived: AtomicUsize::new(0),
            },
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
