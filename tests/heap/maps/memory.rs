//! No memory is freed twice, too early or never. All threads of a process share the heap, so the test runs
//! again alone in a separate process.

use std::thread;
use std::time::{Duration, Instant};

use linefill::experiment::topics::maps::map::{MapKind, Share, SharedMap, StripedWriteMap};

use crate::allocator::live;
use crate::common::child;

/// Marks the process that measures.
const ALONE: &str = "LINEFILL_MAPS_ALONE";

#[test]
fn maps_give_back_all_that_they_took() {
    if std::env::var_os(ALONE).is_none() {
        let mut again = child::exact(module_path!(), "maps_give_back_all_that_they_took");
        let output = again.env(ALONE, "1").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        return;
    }
    // Threads and the runtime allocate memory that they keep in the first run.
    exercised(&StripedWriteMap::new(4, 1));
    for kind in [MapKind::Striped, MapKind::StripedWrite, MapKind::StripedWritePadded] {
        let before = live();
        let map = kind.make(4, 1).unwrap();
        exercised(&*map);
        let most = live();
        drop(map);
        assert!(most > before + 100_000, "{kind:?}");
        settle(before);
    }
    let before = live();
    let mut map = StripedWriteMap::new(4, 1);
    exercised(&map);
    let kept = live();
    map.reclaim();
    assert!(live() < kept);
    exercised(&map);
    drop(map);
    settle(before);
}

/// Waits until at most `before` bytes are allocated, because threads may free memory after they were joined.
/// Memory that a map keeps would never be freed.
#[track_caller]
fn settle(before: usize) {
    let began = Instant::now();
    while live() > before {
        let patience = Duration::from_secs(10);
        assert!(began.elapsed() < patience, "{} bytes more", live() - before);
        thread::yield_now();
    }
}

/// A reader runs while all that it reads is removed from the map, and while the map grows: it sees either the
/// old or the new state of the rest.
#[test]
fn a_reader_goes_on_in_what_writers_took_out() {
    let map = StripedWriteMap::new(1, 1);
    for key in 0..100 {
        map.put(key, u64::from(key));
    }
    let mut seen = Vec::new();
    map.for_each(&mut |key, value| {
        assert_eq!(u64::from(key), value);
        seen.push(key);
        if key % 10 == 0 {
            for other in 0..100 {
                map.remove(other);
            }
            for other in 0..300 {
                map.put(other, u64::from(other));
            }
        }
    });
    seen.sort_unstable();
    seen.dedup();
    let all: Vec<u32> = seen.iter().copied().filter(|key| *key < 100).collect();
    assert_eq!(all, (0..100).collect::<Vec<_>>());
    assert!(map.kept() > 100);
}

/// Two threads change the map and one reads it, many times, while it grows.
fn exercised(map: &dyn SharedMap) {
    let share = |thread| Share { thread, operations: 30_000, range: 3_000 };
    thread::scope(|scope| {
        scope.spawn(|| map.exercise(share(0)));
        scope.spawn(|| map.exercise(share(1)));
        scope.spawn(|| {
            for round in 0..20 {
                // The value belongs to the key; a freed node would have another value.
                map.for_each(&mut |key, value| assert_eq!(u64::from(key), value, "{round}"));
                for key in 0..3_000 {
                    let found = map.get(key);
                    assert!(found.is_none_or(|value| value == u64::from(key)), "{found:?}");
                }
            }
        });
    });
}
