//! Types that threads share; here a single thread uses them.

use std::sync::atomic::Ordering;

use linefill::kernel::{
    AcquireLines, AcquireWay, Fetched, Increment, IncrementWay, Kernel, Motion, QueueLock,
    QueueWay, RoundTrip, RoundTripWay, SharedBandwidth, SharedWalk, Step, Visit,
};
use linefill::mem::Region;

use super::Case;
use super::lines::vector;
use super::rings::ring;

pub(super) fn walk(case: &mut Case<'_, '_>, region: Region<'_>) -> bool {
    let room = region.len();
    let visit = match case.source.byte() % 4 {
        0 => Visit::Work(case.source.number()),
        1 => Visit::Lines,
        _ => Visit::Step(*case.source.among(&Step::ALL)),
    };
    let Some(ring) = ring(case, region).and_then(|ring| ring.share()) else {
        return false;
    };
    (case.note)(format_args!("SharedWalk::new(_, {visit:?})"));
    let Ok(mut walk) = SharedWalk::new(ring, visit) else {
        return false;
    };
    case.run(&mut walk, room);
    for _ in 0..4 {
        let offset = case.source.size(room);
        (case.note)(format_args!("go_to({offset})"));
        walk.go_to(offset);
    }
    case.run(&mut walk, room);
    true
}

pub(super) fn bandwidth(case: &mut Case<'_, '_>, region: Region<'_>) -> bool {
    let words = region.into_atomics();
    let motion = *case.source.among(&Motion::ALL);
    let vector = vector(case);
    let first = case.source.size(words.len()) as u64;
    // From any word: few start on a line and contain whole blocks.
    let from = match case.source.byte() {
        byte if byte.is_multiple_of(8) => usize::from(byte / 8),
        _ => 0,
    };
    let each = motion.granularity() / 8;
    let words = &words[from.min(words.len())..];
    let words = match case.source.byte().is_multiple_of(8) {
        true => words,
        false => &words[..words.len() / each * each],
    };
    let bytes = size_of_val(words);
    (case.note)(format_args!(
        "SharedBandwidth::new({bytes} from {from}, {motion:?}, {vector:?}, {first})"
    ));
    case.built(SharedBandwidth::new(words, motion, vector, first), bytes)
}

pub(super) fn increment(case: &mut Case<'_, '_>, region: Region<'_>) -> bool {
    let room = region.len();
    let words = region.into_atomics();
    let index = case.source.size(words.len());
    let way = *case.source.among(&IncrementWay::ALL);
    (case.note)(format_args!("Increment::new(_, {index}, {way:?})"));
    let Some(mut increment) = Increment::new(words, index, way) else {
        return false;
    };
    // The lock is free.
    words[index].store(0, Ordering::Relaxed);
    case.run(&mut increment, room);
    true
}

pub(super) fn queue_lock(case: &mut Case<'_, '_>, region: Region<'_>) -> bool {
    let room = region.len();
    let threads = case.source.size(room / 128 + 2);
    let way = *case.source.among(&QueueWay::ALL);
    let index = case.source.size(threads.max(1));
    (case.note)(format_args!("QueueLock::threads(_, {threads}, {way:?}).nth({index})"));
    let Some(mut all) = QueueLock::threads(region, threads, way) else {
        return false;
    };
    let Some(mut lock) = all.nth(index) else {
        return false;
    };
    case.run(&mut lock, room);
    true
}

pub(super) fn round_trip(case: &mut Case<'_, '_>, region: Region<'_>) -> bool {
    let room = region.len();
    let words = region.into_atomics();
    let source = &mut *case.source;
    let (word, index) = (source.size(words.len()), source.size(4));
    let threads = if source.flag() { 1 } else { source.size(4) };
    let way = *source.among(&[RoundTripWay::Store, RoundTripWay::CompareExchange]);
    (case.note)(format_args!("RoundTrip::new(_, {word}, {index}, {threads}, {way:?})"));
    let Some(mut trip) = RoundTrip::new(words, word, index, threads, way) else {
        return false;
    };
    words[word].store(0, Ordering::Relaxed);
    if threads == 1 {
        case.run(&mut trip, room);
    } else {
        // More operations would wait for the other threads.
        trip.run(0);
    }
    true
}

pub(super) fn take_lines(case: &mut Case<'_, '_>, region: Region<'_>) -> bool {
    let words = region.into_atomics();
    let from = case.source.below(words.len().min(16));
    let words = &words[from..];
    let lines = case.source.size(words.len() / 32);
    let way = *case.source.among(&AcquireWay::ALL);
    let fetched = *case.source.among(&[Fetched::Not, Fetched::ToRead, Fetched::ToWrite]);
    (case.note)(format_args!("AcquireLines::new(_, {lines}, {way:?}, {fetched:?})"));
    let take = AcquireLines::new(words, lines, way, fetched).ok_or(());
    case.built(take, size_of_val(words))
}
