//! Counting in a piece of code: software events live, and hardware events or the reason why not.
#![cfg(feature = "std")]

use crate::common::software::{FRESH, refused, touch};
use linefill::counters::{Counters, MOST, Named, Place, scope, usual};
use linefill::os::perf::{Event, Refusal, Software};

#[test]
fn a_scope_returns_the_works_result_and_counts_it() {
    let (bytes, counts) = scope(touch);
    assert_eq!(bytes, FRESH * 4096);
    let names: Vec<&str> = counts.iter().map(|(name, _)| name).collect();
    let expected = usual(&Place::here());
    assert!(names.iter().eq(expected.iter().map(|named| &named.name)));
    // Every event has a line, counted or refused.
    assert_eq!(counts.to_string().lines().count(), names.len());
    if !refused() {
        assert!(counts.value("page-faults").unwrap() >= FRESH as f64, "{counts}");
        assert!(counts.value("task-clock").unwrap() > 0.0, "{counts}");
    }
    // Scopes may be nested.
    let ((inner, _), outer) = scope(|| scope(touch));
    assert_eq!(inner, bytes);
    if !refused() {
        assert!(outer.value("page-faults").unwrap() >= FRESH as f64);
    }
}

#[test]
fn a_list_of_ones_own_replaces_the_usual_one() {
    if refused() {
        return;
    }
    let counters = Counters::of("page-faults,cpu-migrations").unwrap();
    let (_, counts) = counters.scope(touch);
    let names: Vec<&str> = counts.iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["page-faults", "cpu-migrations"]);
    assert!(counts.value("page-faults").unwrap() >= FRESH as f64);
    assert_eq!(counts.value("task-clock"), None);
    let text = counts.to_string();
    assert!(text.lines().next().unwrap().ends_with("  page-faults"), "{text}");
    assert!(Counters::of("page-fault").is_err());
}

#[test]
fn what_is_refused_says_why_and_the_others_are_counted() {
    if refused() {
        return;
    }
    let refused = |name: &str, refusal| Named { name: name.to_owned(), event: Err(refusal) };
    let faults = |name: &str| Named {
        name: name.to_owned(),
        event: Ok(Event::software(Software::PageFaults)),
    };
    let list = vec![
        refused("CACHE.MISSES", Refusal::NoPmu),
        faults("first"),
        refused("CACHE.HITS", Refusal::Paranoid(Some(3))),
        faults("second"),
    ];
    let (_, counts) = Counters::open(list).scope(touch);
    let [first, second] = ["first", "second"].map(|name| counts.value(name).unwrap());
    assert!(first >= FRESH as f64 && second >= FRESH as f64, "{counts}");
    assert_eq!(counts.value("CACHE.MISSES"), None);
    let text = counts.to_string();
    assert!(text.contains("CACHE.MISSES  (the kernel sees no PMU on this CPU)"), "{text}");
    assert!(text.contains("CACHE.HITS  (kernel.perf_event_paranoid=3 forbids it)"), "{text}");
    // Only as many events as fit are counted; the others are refused.
    let many = Counters::open(vec![faults("many"); MOST + 1]);
    let text = many.scope(touch).1.to_string();
    assert_eq!(text.lines().count(), MOST + 1, "{text}");
    assert!(text.ends_with("many  (at most 16 events are counted at once)\n"), "{text}");
}
