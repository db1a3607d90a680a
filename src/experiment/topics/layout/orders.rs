//! Drepper 6.2.1, the order structure: two fields of a line are read.

use crate::experiment::prelude::*;
use crate::experiment::shared::arithmetic::OrdersSetup;
use crate::experiment::topics::layout::{Counted, agree, counted};
use crate::order;
use crate::pattern::{Arrangement, HotOrder, Orders, WholeOrder};
use core::mem::{offset_of, size_of};

pub(crate) static ALL: &[Experiment] = &[ORDER_SPLIT];

const WHOLE: &str = "whole orders, 64 bytes";
const SPLIT: &str = "price and paid, 16 bytes";
const APART: &str = "prices and paid apart, 9 bytes, vectors";

const ARRANGEMENTS: [(&str, Arrangement); 3] =
    [(WHOLE, Arrangement::Whole), (SPLIT, Arrangement::Split), (APART, Arrangement::Apart)];

/// Bytes as the compiler lays the structures out, and as pahole prints them for C.
const BYTES: [Counted; 5] = [
    ("bytes of an order", size_of::<WholeOrder>(), 64.0),
    ("bytes before paid", offset_of!(WholeOrder, paid), 8.0),
    ("bytes before buyer", offset_of!(WholeOrder, buyer), 16.0),
    ("bytes before buyer_id", offset_of!(WholeOrder, buyer_id), 56.0),
    ("bytes of the split-off part", size_of::<HotOrder>(), 16.0),
];

/// Bytes of a batch of whole orders. The horizontal axis shows the bytes of whole orders, whatever
/// the arrangement.
const BATCH: usize = Orders::BATCH * size_of::<WholeOrder>();

/// Returns the sizes in bytes of whole orders, one per range in a quick run. The last size, if
/// memory allows, puts the split array into memory as well.
fn sizes(machine: &Machine) -> Vec<usize> {
    let far = (4 * machine.in_memory()).min(1 << machine.largest.max(1).ilog2());
    let ranges = &machine.ranges;
    let mut sizes = if machine.full {
        machine.working_sets()
    } else {
        vec![ranges.l1.hi as usize, machine.middle_of(ranges.l2), machine.middle_of(ranges.llc)]
    };
    sizes.push(far);
    let whole = sizes.iter().map(|bytes| bytes / BATCH * BATCH);
    order::distinct(whole.filter(|&bytes| bytes > 0))
}

const ORDER_SPLIT: Experiment = Experiment {
    id: "E17",
    name: "drepper-order-split",
    title: "The sum of outstanding payments, over whole and over split orders",
    question: "How much do unused fields slow a loop over an array of structures?",
    source: "Drepper 6.2.1, struct order, with the factor of Figure 3.11. In every arrangement the \
             horizontal axis is the number of orders times 64 bytes. A mask on the price selects \
             the unpaid orders: a branch on random payments would be mispredicted every other time \
             and hide the cost of memory. The third arrangement is ours: prices and payments in \
             separate arrays, added four at a time by AVX2",
    about: "A loop adds the prices of all unpaid orders, in three arrangements: whole orders of 64 \
            bytes, orders split so that price and payment take 16 bytes, and separate arrays of \
            prices and payments. With whole orders, prefetchers also fetch the unused bytes; \
            inside the caches, the arithmetic can hide this cost. In memory, bandwidth limits the \
            loop. It then needs a quarter of the time for 16 instead of 64 bytes per order, if the \
            arithmetic keeps up. Separate arrays save more bytes, and their values lie next to \
            each other, as vector instructions need them.",
    plot: Some(Plot::cycles(
        Axis::bytes("number of orders x 64 bytes"),
        Axis::log("time for 16 orders"),
    )),
    cases: |machine| {
        let seed = machine.seed;
        let mut cases: Vec<Case> = BYTES.map(counted).into();
        for bytes in sizes(machine) {
            for (series, arrangement) in ARRANGEMENTS {
                let setup = OrdersSetup { batches: bytes / BATCH, arrangement, seed };
                cases.push(Case::new(series, bytes as f64, setup).in_turn());
            }
        }
        cases
    },
    curves: |e| e.curves_of(|label| ARRANGEMENTS.iter().any(|(series, _)| *series == label)),
    events: events::WALK,
    claims: &[
        computed(
            "E17.1",
            ours("the document gives the members of the structure; the sizes follow from the ABI"),
            "an order of section 6.2.1 has 64 bytes with a hole of 7 bytes after paid, and its \
             split-off part has 16 bytes",
            |e| agree(e, &BYTES),
        ),
        // Fields that the sum does not need are loaded unnecessarily: up to 5 times worse, judging
        // from Figure 3.11.
        measured(
            "E17.2",
            drepper("6.2.1, struct order, with Figure 3.11"),
            "in memory, the sum over whole orders takes more than 1.5 times as long as the sum \
             over split orders",
            |e| at_least("whole over split, in memory", far(e, WHOLE, SPLIT), 1.5),
        )
        .then(5.2, PENTIUM_4)
        .takeaway(
            Shown::Times,
            Touches::Many,
            "Whole over split records, sum of one field, in memory",
            "A sum of one field takes {now} as long over whole records as over split records",
        )
        .advice(
            "Keep the fields that a loop reads together, in arrays separate from other fields.",
            "Splitting records gains little for this loop: the prefetchers fetch the whole lines \
             in time.",
        )
        .holding(
            "The loop also loads the fields that it does not use, because they share lines with \
             the others.",
        ),
        measured(
            "E17.3",
            ours("the control: in L1d, unused fields cause no transfers"),
            "in L1d, the sum over whole orders takes as long as the sum over split orders: less \
             than 10 % either way",
            |e| between("whole over split, in L1d", near(e, WHOLE, SPLIT), 0.9, 1.1),
        ),
        measured(
            "E17.4",
            ours(
                "the document says that the program performs up to 5 times worse than it could, \
                 and no least factor; four times the bytes should take about four times as long",
            ),
            "in memory, the sum over whole orders takes 3 to 6 times as long as the sum over split \
             orders, near the factor of 4 in bytes",
            |e| between("whole over split, in memory", far(e, WHOLE, SPLIT), 3.0, 6.0),
        )
        .failing(
            "The bytes alone do not decide: the sum takes its own time, or one of the streams is \
             prefetched better.",
        ),
        measured(
            "E17.5",
            ours(
                "separate arrays go one step further than the document, and suit vector \
                 instructions",
            ),
            "the sum over separate arrays is more than 2 times as fast as over split orders in \
             L1d, and more than 1.2 times as fast in memory",
            |e| {
                all_of([
                    at_least("split over apart, in L1d", near(e, SPLIT, APART), 2.0),
                    at_least("split over apart, in memory", far(e, SPLIT, APART), 1.2),
                ])
            },
        ),
    ],
    ..Experiment::PLAIN
};

/// Returns the ratio of two arrangements where whole orders fit into half of L1d.
fn near(e: &Evidence<'_>, of: &str, to: &str) -> Testable<Interval> {
    // A working set rounded down to whole batches may fall below the range.
    paired(e, of, to, Range { lo: 0.0, ..e.machine.ranges.l1 })
}

/// Returns the ratio of two arrangements at the largest number of orders. Fails if whole or split orders do
/// not lie in memory: the ratio would compare memory with a cache. Split orders, at 16 bytes, take four times
/// the last level; separate arrays, at 9, then take more than twice.
fn far(e: &Evidence<'_>, of: &str, to: &str) -> Testable<Interval> {
    let place = e.machine.place_in_memory(most(e.machine))?;
    e.machine.place_in_memory(most(e.machine) / 4)?;
    paired_at(e, of, to, place)
}

/// Returns the largest number of bytes of whole orders.
fn most(machine: &Machine) -> usize {
    sizes(machine).pop().unwrap_or(0)
}
