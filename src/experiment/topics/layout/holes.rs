//! Drepper 6.2.1, a structure with a hole: Figure 6.3.

use crate::experiment::prelude::*;
use crate::experiment::topics::layout::{Counted, agree, counted};
use crate::kernel::Gather;
use crate::pattern::{Order, Picks};
use core::ffi::{c_int, c_long};
use core::mem::{offset_of, size_of};

pub(crate) static ALL: &[Experiment] = &[FIG_6_3];

/// The structure of the figure, in C layout.
#[repr(C)]
struct Foo {
    a: c_int,
    fill: [c_long; 7],
    b: c_int,
}

/// The structure with `b` in the hole behind `a`, as `pahole --reorganize` prints it.
#[repr(C)]
struct Reorganised {
    a: c_int,
    b: c_int,
    fill: [c_long; 7],
}

/// The structure of the figure in the order that the Rust compiler chooses.
#[expect(dead_code, reason = "only its size is looked at")]
struct Chosen {
    a: c_int,
    fill: [c_long; 7],
    b: c_int,
}

/// Bytes of all members.
const MEMBERS: usize = 2 * size_of::<c_int>() + size_of::<[c_long; 7]>();
/// The first byte behind `b`, the last member of `Foo`.
const END: usize = offset_of!(Foo, b) + size_of::<c_int>();

/// Figure 6.3, line by line.
const FOO: [Counted; 7] = [
    ("bytes of foo", size_of::<Foo>(), 72.0),
    ("bytes before fill", offset_of!(Foo, fill), 8.0),
    ("bytes before b", offset_of!(Foo, b), 64.0),
    ("cache lines", size_of::<Foo>().div_ceil(LINE), 2.0),
    ("bytes of holes", END - MEMBERS, 4.0),
    ("bytes of padding", size_of::<Foo>() - END, 4.0),
    ("bytes of the last line", size_of::<Foo>() % LINE, 8.0),
];

const MOVED: [Counted; 3] = [
    ("bytes before b, moved", offset_of!(Reorganised, b), 4.0),
    ("bytes of foo, b moved", size_of::<Reorganised>(), 64.0),
    ("cache lines, b moved", size_of::<Reorganised>().div_ceil(LINE), 1.0),
];

const RUST: [Counted; 3] = [
    ("bytes of foo in Rust", size_of::<Chosen>(), 64.0),
    ("cache lines in Rust", size_of::<Chosen>().div_ceil(LINE), 1.0),
    ("bytes of holes and padding in Rust", size_of::<Chosen>() - MEMBERS, 0.0),
];

const RANDOM: [&str; 2] = ["as defined, at random", "reorganised, at random"];
const IN_ORDER: [&str; 2] = ["as defined, in order", "reorganised, in order"];

/// Bytes of the two structures, in the order of the series.
const SIZES: [usize; 2] = [size_of::<Foo>(), size_of::<Reorganised>()];

/// Returns the sizes of the array, in bytes of reorganised structures. The horizontal axis has
/// these sizes for both structures.
fn sizes(machine: &Machine) -> Vec<usize> {
    if machine.full {
        return machine.working_sets();
    }
    let ranges = &machine.ranges;
    vec![ranges.l1.hi as usize, machine.middle_of(ranges.l2), machine.in_memory()]
}

const FIG_6_3: Experiment = Experiment {
    id: "E12",
    name: "drepper-fig-6.3",
    title: "A structure with a hole takes two lines instead of one",
    question: "How large is the structure of Figure 6.3, and what does its second line cost?",
    source: "Drepper 6.2.1, Figure 6.3, the output of pahole; `linefill layout` prints the same \
             for any binary. The paper measures no times here. Our test picks structures of an \
             array by indices and reads two words of each: the word that holds a and the word that \
             holds b",
    about: "The layout of a structure follows from the ABI. Rust orders the members itself, unless \
            repr(C) forbids it. The chart shows how much longer it takes to read two members of a \
            72-byte structure than of a 64-byte structure. In an array, a structure of 72 bytes \
            always lies across two lines, so that a random read of it causes two misses. The two \
            misses overlap, and the second line is the neighbour of the first: it lies in the same \
            DRAM row, and the CPU often fetches both lines together. In sequential order, \
            prefetchers can fetch both lines in time.",
    plot: Some(Plot::lines(
        Axis::bytes("number of structures x 64 bytes"),
        Axis::linear("slowdown by the second line"),
        Unit::Percent,
    )),
    cases: |machine| {
        let seed = machine.seed;
        let mut cases: Vec<Case> = FOO.into_iter().chain(MOVED).chain(RUST).map(counted).collect();
        let orders = [
            (RANDOM, Order::Random { seed }, sizes(machine)),
            (IN_ORDER, Order::Sequential, vec![machine.in_memory()]),
        ];
        for (series, order, sizes) in orders {
            for bytes in sizes {
                let count = bytes / size_of::<Reorganised>();
                for (series, element) in series.into_iter().zip(SIZES) {
                    let setup = PickSetup { element, count, order };
                    cases.push(Case::new(series, bytes as f64, setup).in_turn());
                }
            }
        }
        cases
    },
    curves: |e| {
        [("at random", RANDOM), ("in order", IN_ORDER)]
            .into_iter()
            .filter_map(|(label, [defined, other])| slowdown(e, label, other, defined))
            .collect()
    },
    events: events::WALK,
    claims: &[
        // Size 72 on 2 lines, a hole of 4 bytes, padding of 4, 8 bytes on the last line.
        computed(
            "E12.1",
            drepper("6.2.1, Figure 6.3"),
            "the structure of Figure 6.3 has 72 bytes on 2 lines, with a hole of 4 bytes, 4 bytes \
             of padding, and 8 bytes on the last line",
            |e| agree(e, &FOO),
        )
        .then(72.0, ""),
        // b fits into the gap, and the structure onto one line.
        computed(
            "E12.2",
            drepper("6.2.1, Figure 6.3"),
            "the structure of Figure 6.3 with b moved into the hole has 64 bytes on 1 line",
            |e| agree(e, &MOVED),
        ),
        computed(
            "E12.3",
            ours("Rust may order members itself, and C may not"),
            "without repr(C), Rust lays out the structure of Figure 6.3 in 64 bytes on 1 line",
            |e| agree(e, &RUST),
        ),
        measured(
            "E12.4",
            ours("the document measures no times here"),
            "in L1d, reading structures on two lines takes as long as reading structures on one \
             line: less than 10 % either way",
            |e| {
                let slower = paired(e, RANDOM[0], RANDOM[1], e.machine.ranges.l1)?;
                between("two lines over one, in L1d", slower, 0.9, 1.1)
            },
        ),
        measured(
            "E12.5",
            ours("the document measures no times here"),
            "in memory, reading structures on two lines at random takes more than 1.1 times as \
             long as reading structures on one line",
            |e| at_least("two lines over one, at random", far(e, RANDOM), 1.1),
        ),
        measured(
            "E12.6",
            ours("the document measures no times here"),
            "in memory, reading structures of 72 bytes sequentially takes less than 1.5 times as \
             long as reading structures of 64 bytes: the time follows the bytes (1.125 times) \
             rather than the lines (2 times)",
            |e| at_most("72 bytes over 64, in order", far(e, IN_ORDER), 1.5),
        ),
    ],
    ..Experiment::PLAIN
};

/// Returns the ratio of a pair of series in memory.
fn far(e: &Evidence<'_>, [defined, other]: [&str; 2]) -> Testable<Interval> {
    paired_at(e, defined, other, e.machine.memory_size()?)
}

/// An array of elements whose first and last words are read. An operation reads one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PickSetup {
    /// Bytes of an element.
    pub element: usize,
    pub count: usize,
    pub order: Order,
}

impl Setup for PickSetup {
    fn bytes(&self) -> usize {
        Picks::span(self.element, self.count)
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Testable<Workload<'m>> {
        let picks = Picks::new(region, self.element, self.count, self.order)?;
        let period = picks.count() as u64;
        Ok(Workload::steady(Gather::new(picks), period))
    }
}
