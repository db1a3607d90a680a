//! Nothing is freed twice, too early or never. Run in a process of its own, for the heap is
//! everybody's: the test starts itself again, alone.

use std::thread;
use std::time::{Duration, Instant};

use linefill::experiment::topics::maps::map::{MapKind, Share, SharedMap, StripedWriteMap};

use crate::allocator::live;
use crate::common::child;

/// Says that this is the process that measures.
const ALONE: &str = "LINEFILL_MAPS_ALONE";

#[test]
fn maps_give_back_all_that_they_took() {
    if std::env::var_os(ALONE).is_none() {
        let mut again = child::exact(module_path!(), "maps_give_back_all_that_they_took");
        let output = again.env(ALONE, "1").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        return;
    }
    // What threads and the runtime keep to themselves they take at the first run.
    exercised(&StripedWriteMap::new(4, 1));
    for kind in [
        MapKind::Striped,
        MapKind::StripedWrite,
        MapKind::StripedWritePadded,
    ] {
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

/// Waits until no more is taken than `before`: threads give back what is theirs after they were
/// joined. What a map keeps is never given back.
#[track_caller]
fn settle(before: usize) {
    let began = Instant::now();
    while live() > before {
        let patience = Duration::from_secs(10);
        assert!(began.elapsed() < patience, "{} bytes more", live() - before);
        thread::yield_now();
    }
}

/// A reader that is underway while everything that it walks is taken out of the map, and while the
/// map grows: what it has yet to see is as it was, or as it is.
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

/// Two that change the map and one that reads it, many times, while it grows.
fn exercised(map: &dyn SharedMap) {
    let share = |thread| Share {
        thread,
        operations: 30_000,
        range: 3_000,
    };
    thread::scope(|scope| {
        scope.spawn(|| map.exercise(share(0)));
        scope.spawn(|| map.exercise(share(1)));
        scope.spawn(|| {
            for round in 0..20 {
                // A value is the key's own: a freed node would not have it.
                map.for_each(&mut |key, value| assert_eq!(u64::from(key), value, "{round}"));
                for key in 0..3_000 {
                    let found = map.get(key);
                    assert!(
                        found.is_none_or(|value| value == u64::from(key)),
                        "{found:?}"
                    );
                }
            }
        });
    });
}
