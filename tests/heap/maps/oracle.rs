//! Compares the maps with the standard library's map.

use std::collections::{BTreeMap, HashMap};
use std::thread;

use linefill::experiment::topics::maps::map::{Share, SharedMap, StripedWriteMap, Tally};
use linefill::pattern::java::Random;
use proptest::prelude::*;

use super::checker::Call;
use super::maps;

fn content(map: &dyn SharedMap) -> BTreeMap<u32, u64> {
    let mut content = BTreeMap::new();
    map.for_each(&mut |key, value| {
        assert_eq!(content.insert(key, value), None, "key {key} is there twice");
    });
    content
}

fn calls() -> impl Strategy<Value = (u32, Call)> {
    // Many keys share a bucket; some differ only in the upper half.
    let key = prop_oneof![0..40_u32, (0..4_u32).prop_map(|high| high << 16)];
    let call = prop_oneof![
        Just(Call::Get),
        any::<u64>().prop_map(Call::Put),
        any::<u64>().prop_map(Call::PutIfAbsent),
        Just(Call::Remove),
    ];
    (key, call)
}

proptest! {
    #[test]
    fn one_thread_finds_what_it_finds_in_a_map_of_the_standard_library(
        calls in proptest::collection::vec(calls(), 0..300),
        stripes in 1..7_usize,
        keys in 0..50_usize,
    ) {
        for (name, map) in maps(stripes, keys) {
            let mut oracle: BTreeMap<u32, u64> = BTreeMap::new();
            prop_assert!(map.is_empty());
            for (key, call) in &calls {
                let held = oracle.get(key).copied();
                let returned = match *call {
                    Call::Get => map.get(*key),
                    Call::Put(value) => map.put(*key, value),
                    Call::PutIfAbsent(value) => map.put_if_absent(*key, value),
                    Call::Remove => map.remove(*key),
                };
                prop_assert_eq!(returned, held, "{}: {:?} of {}", name, call, key);
                match call.after(held) {
                    Some(value) => oracle.insert(*key, value),
                    None => oracle.remove(key),
                };
                prop_assert_eq!(map.contains(*key), oracle.contains_key(key));
                prop_assert_eq!(map.len(), oracle.len(), "{}", name);
            }
            prop_assert_eq!(content(&*map), oracle, "{}", name);
        }
    }
}

/// An independent implementation of the note's program.
fn program(operations: u64, range: u32) -> (Tally, HashMap<u32, u64>) {
    let mut random = Random::new(78);
    let mut map = HashMap::new();
    let mut tally = Tally::default();
    for _ in 0..operations {
        let key = random.next_int_below(range);
        if map.contains_key(&key) {
            if random.next_double() < 0.02 {
                map.remove(&key);
                map.insert(key, key.into());
                tally.removed += 1;
                tally.added += 1;
            }
        } else if random.next_double() < 0.6 {
            map.insert(key, key.into());
            tally.added += 1;
        }
    }
    (tally, map)
}

#[test]
fn one_thread_does_the_notes_program() {
    let (operations, range) = (20_000, 1_000);
    let (tally, oracle) = program(operations, range);
    for (name, map) in maps(32, range as usize) {
        let found = map.exercise(Share { thread: 0, operations, range });
        assert_eq!(found, tally, "{name}");
        assert_eq!(content(&*map), oracle.clone().into_iter().collect(), "{name}");
    }
}

#[test]
fn sizes_agree_after_several_threads() {
    for keys in [1, 2_000] {
        for (name, map) in maps(32, keys) {
            let share = |thread| Share { thread, operations: 20_000, range: 2_000 };
            let tally = thread::scope(|scope| {
                let map = &map;
                let start = |thread| scope.spawn(move || map.exercise(share(thread)));
                let threads: Vec<_> = (0..4).map(start).collect();
                let each = threads.into_iter().map(|thread| thread.join().unwrap());
                each.fold(Tally::default(), Tally::with)
            });
            assert_eq!(map.len() as u64, tally.added - tally.removed, "{name}");
            assert_eq!(map.len(), content(&*map).len(), "{name}");
        }
    }
}

#[test]
fn what_writers_take_out_is_kept_until_the_map_is_somebodys_own() {
    let mut map = StripedWriteMap::new(2, 4);
    for key in 0..4 {
        map.put(key, 0);
    }
    assert_eq!(map.kept(), 0);
    map.put(1, 1);
    map.remove(2);
    assert_eq!(map.kept(), 2);
    // A crowded map grows, and keeps its old table.
    for key in 4..40 {
        map.put(key, 0);
    }
    assert!(map.kept() > 2);
    let before = content(&map);
    map.reclaim();
    assert_eq!((map.kept(), content(&map)), (0, before));
}
