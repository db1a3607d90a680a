//! Kernels on regions.

use linefill::cpu::SplitLocks;
use linefill::host::Code as _;
use linefill::kernel::{
    Alias4K, Bandwidth, Blocked, Burst, CodeAlign, FillLines, FillWay, FlushLines, FlushWay, Form,
    Forward, Function, Issue, LoadLines, LoadWay, LockAdd, Motion, Passing, Placed, Places, Reach,
    Register, Rewrite, RewriteWay, Routine, Speculate, StoreAddress, StoreBufferFill, Transfer,
    Translate, Trip, Vector, Width,
};
use linefill::mem::Region;
use linefill::os::{Code, Pages};
use linefill::pattern::{
    Behind, Between, Blocks, Callers, Filler, Indirect, Listing, Nested, Window,
};

use super::Case;
use super::source::Source;

/// A vector of a random width, or SSE2 if the CPU lacks that width.
pub(super) fn vector(case: &mut Case<'_, '_>) -> Vector {
    let bytes = *case.source.among(&Vector::BYTES);
    Vector::of(bytes, case.features).unwrap_or(Vector::Sse2)
}

pub(super) fn alias(case: &mut Case<'_, '_>, region: Region<'_>) -> bool {
    let room = region.len();
    let (store, load) = (case.source.size(room), case.source.size(room));
    let known = *case.source.among(&[StoreAddress::Early, StoreAddress::Late]);
    (case.note)(format_args!("Alias4K::new(_, {store}, {load}, {known:?})"));
    case.built(Alias4K::new(region, store, load, known), room)
}

pub(super) fn bandwidth(case: &mut Case<'_, '_>, region: Region<'_>) -> bool {
    let room = region.len();
    let motion = *case.source.among(&Motion::ALL);
    let vector = vector(case);
    // Whole blocks, as many as fit, or sometimes the whole region.
    let whole = room / motion.granularity() * motion.granularity();
    let bytes = if case.source.byte().is_multiple_of(8) || whole == 0 { room } else { whole };
    let part = Region::new(&mut region.into_bytes()[room - bytes..]).expect("whole lines");
    (case.note)(format_args!("Bandwidth::new({bytes}, {motion:?}, {vector:?})"));
    case.built(Bandwidth::new(part, motion, vector), bytes)
}

pub(super) fn blocked(case: &mut Case<'_, '_>, region: Region<'_>) -> bool {
    let room = region.len();
    let (lines, times) = (case.source.size(room / 64), case.source.number());
    (case.note)(format_args!("Blocked::new(_, {lines}, {times})"));
    case.built(Blocked::new(region, lines, times), room)
}

pub(super) fn burst(case: &mut Case<'_, '_>, region: Region<'_>) -> bool {
    let room = region.len();
    let source = &mut *case.source;
    let (first, apart) = (source.size(room), source.size(room));
    let any = source.size(room);
    let count = *source.among(&[8, 16, 64, any]);
    let places = match source.byte() % 3 {
        0 => Places::fixed(first, apart),
        1 => Places::sequential(first, apart, count),
        _ => Places::scattered(first, apart, count),
    };
    let transfer = *source.among(&[
        Transfer::Load,
        Transfer::Store,
        Transfer::LoadAligned,
        Transfer::StoreAligned,
    ]);
    let bytes = *source.among(&Width::BYTES);
    let width = Width::of(bytes, case.features).unwrap_or(Width::W16);
    (case.note)(format_args!("Burst::new(_, {places:?}, {transfer:?}, {width:?})"));
    case.built(Burst::new(region, places, transfer, width), room)
}

pub(super) fn code_align(case: &mut Case<'_, '_>, region: Region<'_>) -> bool {
    let placed = *case.source.among(&Placed::ALL);
    let offset = case.source.size(64);
    (case.note)(format_args!("CodeAlign::new({placed:?}, {offset})"));
    // Also runs a kernel that works only in registers.
    case.run(&mut Register::default(), 0);
    case.built(CodeAlign::new(placed, offset), region.len())
}

pub(super) fn fill_lines(case: &mut Case<'_, '_>, region: Region<'_>) -> bool {
    let room = region.len();
    let number = case.source.number();
    let way = *case.source.among(&[
        FillWay::Cached,
        FillWay::NonTemporal,
        FillWay::Part { quarters: number },
        FillWay::Interleaved { lines: number },
        FillWay::RepStosb,
    ]);
    (case.note)(format_args!("FillLines::new(_, {way:?})"));
    case.built(FillLines::new(region, way), room)
}

pub(super) fn forward(case: &mut Case<'_, '_>, region: Region<'_>) -> bool {
    let room = region.len();
    let source = &mut *case.source;
    let mut bytes = || match source.byte() % 8 {
        7 => source.size(64),
        exponent => 1 << exponent,
    };
    let trip = Trip::new(bytes(), bytes());
    let trip = trip.by(*source.among(&[
        Passing::One,
        Passing::One,
        Passing::Two,
        Passing::Renamed,
        Passing::General,
    ]));
    let (store, load) = (source.size(room), source.size(room).cast_signed());
    (case.note)(format_args!("Forward::new(_, {trip:?}, {store}, {load}, _)"));
    trip.written();
    case.built(Forward::new(region, trip, store, load, case.features), room)
}

pub(super) fn flush_lines(case: &mut Case<'_, '_>, region: Region<'_>) -> bool {
    let room = region.len();
    let (optimised, back) = (case.features.clflushopt(), case.features.clwb());
    let way = match (case.source.byte() % 3, optimised, back) {
        (0, Some(token), _) => FlushWay::Unordered(token),
        (1, _, Some(token)) => FlushWay::Back(token),
        _ => FlushWay::Ordered,
    };
    let form = *case.source.among(&Form::ALL);
    (case.note)(format_args!("FlushLines::new(_, {way:?}).by({form:?})"));
    case.run(&mut FlushLines::new(region, way).by(form), room);
    true
}

pub(super) fn load_lines(case: &mut Case<'_, '_>, region: Region<'_>) -> bool {
    let room = region.len();
    let vector = vector(case);
    let way = match case.features.sse41() {
        Some(token) if case.source.flag() => LoadWay::NonTemporal(token, vector),
        _ => LoadWay::Cached(vector),
    };
    let form = *case.source.among(&Form::ALL);
    (case.note)(format_args!("LoadLines::new(_, {way:?}).by({form:?})"));
    case.built(LoadLines::new(region, way).by(form), room)
}

pub(super) fn lock_add(case: &mut Case<'_, '_>, region: Region<'_>) -> bool {
    let room = region.len();
    let at = case.source.size(room);
    let allowed: Option<SplitLocks> = None;
    (case.note)(format_args!("LockAdd::new(_, {at}, {allowed:?})"));
    case.built(LockAdd::new(region, at, allowed), room)
}

pub(super) fn pending(case: &mut Case<'_, '_>, region: Region<'_>) -> bool {
    let room = region.len();
    let stores = case.source.number();
    (case.note)(format_args!("StoreBufferFill::new(_, {stores})"));
    case.built(StoreBufferFill::new(region, stores), room)
}

pub(super) fn rewrite(case: &mut Case<'_, '_>, region: Region<'_>) -> bool {
    let room = region.len();
    let way = match (case.source.byte() % 3, case.features.clwb()) {
        (0, _) => RewriteWay::NonTemporal,
        (1, Some(token)) => RewriteWay::Through(token),
        _ => RewriteWay::Back,
    };
    let form = *case.source.among(&Form::ALL);
    (case.note)(format_args!("Rewrite::new(_, {way:?}).by({form:?})"));
    case.run(&mut Rewrite::new(region, way).by(form), room);
    true
}

pub(super) fn speculate(case: &mut Case<'_, '_>, region: Region<'_>) -> bool {
    let room = region.len();
    let issue = *case.source.among(&[Issue::Free, Issue::Ordered]);
    let (shared, seed) = (case.source.size(256), case.source.word());
    (case.note)(format_args!("Speculate::new(_, {issue:?}, {shared}, {seed})"));
    case.built(Speculate::new(region, issue, shared, seed), room)
}

pub(super) fn translate(case: &mut Case<'_, '_>, region: Region<'_>) -> bool {
    let room = region.len();
    let reach = *case.source.among(&[Reach::Load, Reach::Prefetch, Reach::PrefetchNull]);
    let pages = case.source.size(room / 4096);
    (case.note)(format_args!("Translate::new(_, {reach:?}, {pages})"));
    case.built(Translate::new(region, reach, pages), room)
}

fn listing(source: &mut Source<'_>) -> Listing {
    const ROOM: usize = 1 << 16;
    match source.byte() % 8 {
        0 => Listing::Straight { filler: *source.among(&Filler::ALL), count: source.size(ROOM) },
        1 => Listing::straight(*source.among(&Filler::ALL), source.size(ROOM)),
        2 => Listing::Jumps { count: source.size(ROOM), spacing: source.size(128) },
        3 => Listing::Callers(Callers {
            count: source.size(64),
            own: source.size(64),
            candidate: source.size(64),
            inlined: source.flag(),
        }),
        4 => Listing::Blocks(Blocks {
            count: source.size(64),
            hot: source.size(64),
            cold: source.size(64),
            moved: source.flag(),
        }),
        5 => Listing::Nested(Nested { depth: source.size(ROOM) }),
        6 => Listing::Window(Window {
            between: *source.among(&Between::ALL),
            count: source.size(ROOM),
        }),
        _ => Listing::Indirect(Indirect {
            count: source.size(64),
            behind: *source.among(&[Behind::Undefined, Behind::Straight]),
        }),
    }
}

/// Whether `write` accepts the listing, according to its documentation.
fn can_be_written(listing: &Listing) -> bool {
    let possible = match *listing {
        Listing::Jumps { spacing, .. } => (2..=129).contains(&spacing),
        Listing::Indirect(jumps) => jumps.count.is_power_of_two(),
        _ => true,
    };
    possible && listing.bytes() <= 1 << 20
}

pub(super) fn routine(case: &mut Case<'_, '_>, _: Region<'_>) -> bool {
    let listing = listing(case.source);
    (case.note)(format_args!("Routine::new(_, _, {listing:?})"));
    listing.instructions();
    if !can_be_written(&listing) {
        return false;
    }
    let code = Code::new(listing.bytes(), Pages::Base, |bytes| listing.write(bytes));
    let Ok(code) = code else { return false };
    let entry: fn(&Code) -> Function = |code| code.function(0);
    // SAFETY: the code is the listing's, and does not move.
    let mut routine = unsafe { Routine::new(code, entry, listing) };
    // One round executes at most one MiB of code.
    case.run(&mut routine, 0);
    true
}
