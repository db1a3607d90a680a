//! Rings, and the kernels that walk them.

use linefill::cpu::Hint;
use linefill::kernel::{
    Ahead, Chase, Dependence, Direction, Fields, Form, Issue, Mode, ParallelChase, PrefetchWalk,
    SpeculateMiss, Step, TwoFields, Walk, WideChase, Width,
};
use linefill::mem::Region;
use linefill::pattern::{Lanes, Layout, Link, Links, Order, Path, Ring};

use super::Case;
use super::source::Source;

fn layout(source: &mut Source<'_>, room: usize) -> Layout {
    let any = source.size(room);
    let mut layout = Layout::npad(*source.among(&[0, 1, 7, 7, 15, any]));
    if source.flag() {
        let any = source.size(layout.element() / 8);
        layout = layout.pointer_in_word(*source.among(&[1, 7, layout.padding(), any]));
    }
    if source.flag() {
        layout = match source.byte() % 4 {
            0 => layout.one_a_page(),
            1 => layout.one_a_page().rotating(),
            2 => layout.spaced(layout.element().saturating_add(source.size(room))),
            _ => layout.spaced(source.size(room)).rotating(),
        };
    }
    if source.byte().is_multiple_of(4) {
        layout = layout.skewed(source.size(room));
    }
    layout
}

fn order(source: &mut Source<'_>, room: usize) -> Order {
    let seed = source.word();
    match source.byte() % 8 {
        0 => Order::Sequential,
        1 | 2 => Order::Random { seed },
        3 => Order::RandomInBlocks { pages: source.size(room), seed },
        4 => Order::Backward,
        5 => Order::Strided { elements: source.size(room) },
        6 => Order::Streams { streams: source.size(room) },
        _ => Order::Runs {
            elements: source.size(room),
            path: *source.among(&[Path::Forward, Path::Triangular, Path::Random]),
            seed,
        },
    }
}

/// A ring, often with as many elements as fit. Jump pointers may have been written to it.
pub(super) fn ring<'m>(case: &mut Case<'_, '_>, region: Region<'m>) -> Option<Ring<'m>> {
    let source = &mut *case.source;
    let room = region.len();
    let layout = layout(source, room);
    let most = room / layout.stride().max(1);
    let count = match source.byte() % 3 {
        0 => source.size(room),
        1 => most,
        _ => most / (1 + usize::from(source.byte() % 16)),
    };
    let order = order(source, room);
    (case.note)(format_args!("Ring::new(_, {layout:?}, {count}, {order:?})"));
    let mut ring = Ring::new(region, layout, count, order).ok()?;
    assert_eq!(ring.cycle_length(), count);
    if case.source.flag() {
        let (word, ahead) = (case.source.size(room), case.source.size(room));
        (case.note)(format_args!("link_ahead({word}, {ahead})"));
        // Even if the call is refused, the ring must remain one cycle.
        let _ = ring.link_ahead(word, ahead);
        assert_eq!(ring.cycle_length(), count);
    }
    Some(ring)
}

/// Builds a kernel on a ring and runs it.
macro_rules! on_ring {
    ($case:ident, $region:ident, |$ring:ident| $kernel:expr) => {{
        let room = $region.len();
        let Some($ring) = ring($case, $region) else {
            return false;
        };
        let kernel = $kernel;
        $case.built(kernel, room)
    }};
}

pub(super) fn walk(case: &mut Case<'_, '_>, region: Region<'_>) -> bool {
    let step = *case.source.among(&Step::ALL);
    let form = *case.source.among(&Form::ALL);
    (case.note)(format_args!("Walk::new(_, {step:?}), by({form:?})"));
    on_ring!(case, region, |ring| Walk::new(ring, step).map(|walk| walk.by(form)))
}

pub(super) fn two_fields(case: &mut Case<'_, '_>, region: Region<'_>) -> bool {
    let room = region.len();
    let mut word = || match case.source.flag() {
        true => case.source.size(room),
        false => usize::from(case.source.byte() % 16),
    };
    let words = [word(), word()];
    (case.note)(format_args!("TwoFields::new(_, {words:?})"));
    on_ring!(case, region, |ring| TwoFields::new(ring, words))
}

pub(super) fn fields(case: &mut Case<'_, '_>, region: Region<'_>) -> bool {
    let direction = *case.source.among(&[Direction::Ascending, Direction::Descending]);
    (case.note)(format_args!("Fields::new(_, {direction:?})"));
    on_ring!(case, region, |ring| Fields::new(ring, direction))
}

pub(super) fn straddle(case: &mut Case<'_, '_>, region: Region<'_>) -> bool {
    let bytes = *case.source.among(&Width::BYTES);
    let Some(width) = Width::of(bytes, case.features) else {
        return false;
    };
    (case.note)(format_args!("WideChase::new(_, {width:?})"));
    on_ring!(case, region, |ring| WideChase::new(ring, width))
}

pub(super) fn chase(case: &mut Case<'_, '_>, region: Region<'_>) -> bool {
    let mode = *case.source.among(&Mode::ALL);
    let features = case.features;
    (case.note)(format_args!("Chase::new(_, {mode:?}, _)"));
    on_ring!(case, region, |ring| Chase::new(ring, mode, &features))
}

pub(super) fn links(case: &mut Case<'_, '_>, region: Region<'_>) -> bool {
    let room = region.len();
    let Some(ring) = ring(case, region) else {
        return false;
    };
    let link = if case.source.flag() {
        Link::Address { less: case.source.size(room) }
    } else {
        Link::Offset { bytes: case.source.size(8), unit: case.source.size(room) }
    };
    (case.note)(format_args!("Links::new(_, {link:?})"));
    let Ok(links) = Links::new(ring, link) else {
        return false;
    };
    links.place(case.source.word());
    let start = links.cursor();
    let round = 0..links.count();
    assert_eq!(round.fold(start, |link, _| links.next(link)), start);
    true
}

pub(super) fn prefetch_walk(case: &mut Case<'_, '_>, region: Region<'_>) -> bool {
    let room = region.len();
    let hints = [Hint::T0, Hint::T1, Hint::T2, Hint::Nta, Hint::Write];
    let hint = *case.source.among(&hints);
    let elements = case.source.size(room);
    let ahead = case.source.flag().then_some(Ahead { hint, elements });
    let work = case.source.number();
    let pace = *case.source.among(&[Dependence::Serial, Dependence::Independent]);
    (case.note)(format_args!("PrefetchWalk::new(_, {ahead:?}, {work}, {pace:?})"));
    on_ring!(case, region, |ring| PrefetchWalk::new(ring, ahead, work, pace))
}

pub(super) fn speculate_miss(case: &mut Case<'_, '_>, region: Region<'_>) -> bool {
    let issue = *case.source.among(&[Issue::Free, Issue::Ordered]);
    (case.note)(format_args!("SpeculateMiss::new(_, {issue:?})"));
    on_ring!(case, region, |ring| SpeculateMiss::new(ring, issue))
}

pub(super) fn abreast(case: &mut Case<'_, '_>, region: Region<'_>) -> bool {
    let room = region.len();
    let source = &mut *case.source;
    let (lanes, seed) = (source.size(64), source.word());
    let lines = if source.flag() {
        room / 64 / (1 + usize::from(source.byte() % 4))
    } else {
        source.size(room)
    };
    (case.note)(format_args!("Lanes::new(_, {lanes}, {lines}, {seed})"));
    let lanes = Lanes::new(region, lanes, lines, seed);
    case.built(lanes.map(ParallelChase::new), room)
}
