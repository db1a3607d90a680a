//! Drepper 6.2.1, a structure with a hole: Figure 6.3.

use crate::experiment::prelude::*;
use crate::experiment::shared::count::CountSetup;
use crate::kernel::Gather;
use crate::mem::{LINE, Region};
use crate::pattern::{Order, Picks};
use crate::stats::Interval;
use core::ffi::{c_int, c_long};
use core::mem::{offset_of, size_of};

/// The figures of this family.
pub(crate) static ALL: &[Experiment] = &[FIG_6_3];

/// The structure of the figure, laid out as C does.
#[repr(C)]
struct Foo {
    a: c_int,
    fill: [c_long; 7],
    b: c_int,
}

/// The same with `b` in the hole behind `a`, as `pahole --reorganize` prints it.
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

/// What is counted: what it is, what it comes to here, and what it is in the figure.
type Counted = (&'static str, usize, f64);

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
    (
        "cache lines, b moved",
        size_of::<Reorganised>().div_ceil(LINE),
        1.0,
    ),
];

const RUST: [Counted; 3] = [
    ("bytes of foo in Rust", size_of::<Chosen>(), 64.0),
    (
        "cache lines in Rust",
        size_of::<Chosen>().div_ceil(LINE),
        1.0,
    ),
    (
        "bytes of holes and padding in Rust",
        size_of::<Chosen>() - MEMBERS,
        0.0,
    ),
];

const RANDOM: [&str; 2] = ["as defined, at random", "reorganised, at random"];
const IN_ORDER: [&str; 2] = ["as defined, in order", "reorganised, in order"];

/// Bytes of the two structures, in the order of the series.
const SIZES: [usize; 2] = [size_of::<Foo>(), size_of::<Reorganised>()];

/// Structures, as bytes of reorganised ones: what the horizontal axis counts in both cases.
fn sizes(machine: &Machine) -> Vec<usize> {
    if machine.full {
        return machine.working_sets();
    }
    let ranges = &machine.ranges;
    vec![
        ranges.l1.hi as usize,
        machine.middle_of(ranges.l2),
        machine.in_memory(),
    ]
}

const FIG_6_3: Experiment = Experiment {
    id: "E12",
    name: "drepper-fig-6.3",
    title: "A structure with a hole takes two lines instead of one",
    question: "How large is the structure of Figure 6.3, and what does its second line cost?",
    source: "Drepper 6.2.1, Figure 6.3: what pahole prints, `linefill layout` prints of every \
             binary. The paper measures nothing here; the times are ours: of structures in an \
             array that indices pick, a or the word that holds it, and b or the word that holds \
             it, are read",
    about: "The layout follows from the ABI. Rust orders the members of a structure itself, \
            unless repr(C) forbids it. A structure of 72 bytes in an array lies across two lines \
            wherever it starts, so each one that is read at random is two misses; they are under \
            way together, and the second line is the first one's neighbour, in the same row of \
            the memory chip and often fetched along with it. In order, prefetchers can fetch \
            both in time.",
    seen: &[],
    plot: Some(Plot::lines(
        Axis::bytes("structures, in bytes of reorganised ones"),
        Axis::linear("slowdown by the second line"),
        Unit::Percent,
    )),
    cases: |machine| {
        let seed = machine.seed;
        let mut cases: Vec<Case> = FOO
            .into_iter()
            .chain(MOVED)
            .chain(RUST)
            .map(counted)
            .collect();
        let orders = [
            (RANDOM, Order::Random { seed }, sizes(machine)),
            (IN_ORDER, Order::Sequential, vec![machine.in_memory()]),
        ];
        for (series, order, sizes) in orders {
            for bytes in sizes {
                let count = bytes / size_of::<Reorganised>();
                for (series, element) in series.into_iter().zip(SIZES) {
                    let setup = PickSetup {
                        element,
                        count,
                        order,
                    };
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
            "the structure of Figure 6.3 is 72 bytes on 2 lines: a hole of 4 bytes, 4 of \
             padding, and 8 on the last line",
            |e| agree(e, &FOO),
        )
        .then(72.0, ""),
        // b fits into the gap, and the structure onto one line.
        computed(
            "E12.2",
            drepper("6.2.1, Figure 6.3"),
            "the structure of Figure 6.3 with b moved into the hole is 64 bytes on 1 line",
            |e| agree(e, &MOVED),
        ),
        computed(
            "E12.3",
            ours("Rust orders members itself, which C may not"),
            "the order that Rust chooses for the structure of Figure 6.3 comes to 64 bytes on 1 \
             line without being asked",
            |e| agree(e, &RUST),
        ),
        measured(
            "E12.4",
            ours("the document measures no times here"),
            "inside L1d a structure on two lines is read as fast as one on one line: less than \
             10 % either way",
            |e| {
                let slower = paired(e, RANDOM[0], RANDOM[1], e.machine.ranges.l1)?;
                between("two lines over one, in L1d", slower, 0.9, 1.1)
            },
        ),
        measured(
            "E12.5",
            ours("the document measures no times here"),
            "in memory structures on two lines take more than 1.1 times as long to read at \
             random as structures on one line",
            |e| at_least("two lines over one, at random", far(e, RANDOM), 1.1),
        ),
        measured(
            "E12.6",
            ours("the document measures no times here"),
            "in memory and in order structures of 72 bytes cost less than 1.5 times those of 64 \
             bytes: nearer to their bytes, an eighth more, than to their lines, twice as many",
            |e| at_most("72 bytes over 64, in order", far(e, IN_ORDER), 1.5),
        ),
    ],
};

fn counted((name, value, _): Counted) -> Case {
    let setup = CountSetup {
        name,
        bytes: 0,
        count: |_, value| Ok(value as f64),
        argument: value as u64,
    };
    Case::new(name, 0.0, setup)
}

/// Whether every number is that of the figure.
fn agree(e: &Evidence<'_>, numbers: &[Counted]) -> Judged {
    let mut parts = Vec::new();
    for (name, _, wanted) in numbers {
        parts.push(between(name, e.at(name, 0.0), *wanted, *wanted));
    }
    all_of(parts)
}

/// The ratio of a pair of series in memory.
fn far(e: &Evidence<'_>, [defined, other]: [&str; 2]) -> Result<Interval, Untestable> {
    let points = paired_points(e, defined, other)?;
    let place = e.machine.place_in_memory(e.machine.in_memory())?;
    let at = points.into_iter().find(|(x, _)| *x == place);
    at.map(|(_, ratio)| ratio)
        .ok_or_else(|| Untestable(format!("`{defined}` was not measured in memory")))
}

/// An array of elements whose first and last words are read. An operation is an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PickSetup {
    /// Bytes of an element.
    pub element: usize,
    /// How many there are.
    pub count: usize,
    /// In which order they are read.
    pub order: Order,
}

impl Setup for PickSetup {
    fn bytes(&self) -> usize {
        Picks::span(self.element, self.count)
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Result<Workload<'m>, Untestable> {
        let picks = Picks::new(region, self.element, self.count, self.order)?;
        let period = picks.count() as u64;
        Ok(Workload::steady(Gather::new(picks), period))
    }
}
