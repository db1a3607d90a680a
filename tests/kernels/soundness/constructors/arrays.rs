//! Arrays, and the kernels that use them.

use linefill::kernel::{
    Chains, Gather, IndexChase, Op, Outstanding, Passes, Revisit, Shuffle, Store, Sweep, Temporal,
    Width,
};
use linefill::mem::Region;
use linefill::pattern::{
    Arrangement, Chain, Deck, Fill, Indices, Matrix, Order, Orders, Picks, Visits,
};

use super::Case;

fn deck<'m>(case: &mut Case<'_, '_>, region: Region<'m>) -> Option<Deck<'m>> {
    let room = region.len();
    let source = &mut *case.source;
    let count = source.size(room / 4);
    let indices = *source.among(&[Indices::Precomputed, Indices::Generated]);
    let seed = source.word();
    (case.note)(format_args!("Deck::new(_, {count}, {indices:?}, {seed})"));
    Deck::new(region, count, indices, seed).ok()
}

/// A shuffle that may have run, and been divided into other stages, several times.
fn shuffled<'m>(case: &mut Case<'_, '_>, region: Region<'m>) -> Option<Shuffle<'m>> {
    let room = region.len();
    let mut shuffle = Shuffle::new(deck(case, region)?);
    for _ in 0..case.source.byte() % 4 {
        let op = *case.source.among(&[Op::Assembled, Op::Unrolled, Op::Closure, Op::Called]);
        (case.note)(format_args!("with_op({op:?})"));
        shuffle = shuffle.with_op(op);
        if case.source.flag() {
            let length = case.source.size(256);
            (case.note)(format_args!("staged({length})"));
            shuffle = shuffle.staged(length).ok()?;
        }
        case.run(&mut shuffle, room);
    }
    Some(shuffle)
}

pub(super) fn shuffle(case: &mut Case<'_, '_>, region: Region<'_>) -> bool {
    let room = region.len();
    let Some(mut shuffle) = shuffled(case, region) else {
        return false;
    };
    case.run(&mut shuffle, room);
    true
}

pub(super) fn passes(case: &mut Case<'_, '_>, region: Region<'_>) -> bool {
    let room = region.len();
    let Some(shuffle) = shuffled(case, region) else {
        return false;
    };
    (case.note)(format_args!("Passes::new(_)"));
    case.built(Passes::new(shuffle), room)
}

pub(super) fn chains(case: &mut Case<'_, '_>, region: Region<'_>) -> bool {
    let room = region.len();
    let Some(deck) = deck(case, region) else {
        return false;
    };
    let any = case.source.number();
    let chains = *case.source.among(&[1, 2, 4, 8, any]);
    (case.note)(format_args!("Chains::new(_, {chains})"));
    case.built(Chains::new(deck, chains), room)
}

pub(super) fn jump(case: &mut Case<'_, '_>, region: Region<'_>) -> bool {
    let room = region.len();
    let source = &mut *case.source;
    let (size, seed) = (source.size(room / 4), source.word());
    let chain = if source.byte().is_multiple_of(4) {
        // Any array; the constructor must find indices out of bounds.
        let slots = region.into_u32s();
        let bound = source.size(slots.len()) as u32;
        let len = size.min(slots.len());
        let slots = &mut slots[..len];
        let wrapped = |place: usize| (place as u32).wrapping_mul(37) % bound.max(1);
        (0..len).for_each(|place| slots[place] = wrapped(place));
        (case.note)(format_args!("Chain::given({len} indices below {bound})"));
        Chain::given(slots)
    } else {
        let fill = match source.byte() % 5 {
            0 => Fill::Sequential,
            1 => Fill::Stride(source.size(room)),
            2 => Fill::RandomFunction { seed },
            3 => Fill::Permutation { seed },
            _ => Fill::Cycle { seed },
        };
        (case.note)(format_args!("Chain::new(_, {size}, {fill:?})"));
        Chain::new(region, size, fill)
    };
    let Ok(chain) = chain else { return false };
    chain.cycle_length();
    let jump = IndexChase::new(chain);
    let mut jump = if case.source.flag() { jump.checked() } else { jump };
    case.run(&mut jump, room);
    true
}

pub(super) fn outstanding(case: &mut Case<'_, '_>, region: Region<'_>) -> bool {
    let room = region.len();
    let source = &mut *case.source;
    let arrangement = *source.among(&Arrangement::ALL);
    let count = source.size(room / 9);
    let count = if source.flag() { count / 16 * 16 } else { count };
    let seed = source.word();
    (case.note)(format_args!("Orders::new(_, {arrangement:?}, {count}, {seed})"));
    let Ok(orders) = Orders::new(region, arrangement, count, seed) else {
        return false;
    };
    let features = case.features;
    case.built(Outstanding::new(orders, &features), room)
}

pub(super) fn pick(case: &mut Case<'_, '_>, region: Region<'_>) -> bool {
    let room = region.len();
    let source = &mut *case.source;
    let element = source.size(room);
    let element = if source.flag() { element / 8 * 8 } else { element };
    let count = source.size(room);
    let order = match source.flag() {
        true => Order::Random { seed: source.word() },
        false => Order::Sequential,
    };
    (case.note)(format_args!("Picks::new(_, {element}, {count}, {order:?})"));
    let picks = Picks::new(region, element, count, order);
    case.built(picks.map(Gather::new), room)
}

pub(super) fn revisit(case: &mut Case<'_, '_>, region: Region<'_>) -> bool {
    let room = region.len();
    let words = 1 + usize::from(case.source.byte() % 32);
    let mut place = || case.source.size(room);
    let places: Vec<usize> = (0..words)
        .map(|word| match word % 8 {
            7 => place(),
            _ => place() % room / 8 * 8,
        })
        .collect();
    (case.note)(format_args!("Visits::new(_, {places:?})"));
    let visits = Visits::new(region, &places);
    case.built(visits.map(Revisit::new), room)
}

pub(super) fn store(case: &mut Case<'_, '_>, region: Region<'_>) -> bool {
    let room = region.len();
    let source = &mut *case.source;
    let (rows, row_bytes) = (source.size(room), source.size(room));
    let sweep = *source.among(&[Sweep::Row, Sweep::Column]);
    let temporal = *source.among(&[Temporal::Cached, Temporal::NonTemporal]);
    let bytes = *source.among(&Width::BYTES);
    let width = Width::of(bytes, case.features).unwrap_or(Width::W16);
    (case.note)(format_args!(
        "Store::new(Matrix::new(_, {rows}, {row_bytes}), {sweep:?}, {width:?}, {temporal:?})"
    ));
    let Ok(matrix) = Matrix::new(region, rows, row_bytes) else {
        return false;
    };
    case.built(Store::new(matrix, sweep, width, temporal), room)
}
