//! Which kernel is checked on which patterns.

use super::cases::{
    FieldsCase, FillCase, JumpCase, LoadCase, PrefetchCase, RegisterCase, StoreCase, WalkCase,
};
use super::check::{Case, Difference, Mismatch, Parts};
use crate::cpu::{Features, Hint};
use crate::kernel::{Ahead, Direction, FillWay, LoadWay, Pace, Step, Sweep, Temporal, Width};
use crate::mem::Region;
use crate::pattern::{Fill, Layout, Order};

/// A ring to be built.
#[derive(Clone, Copy)]
pub(super) struct RingCase {
    pub layout: Layout,
    pub count: usize,
    pub order: Order,
}

const fn ring(layout: Layout, count: usize, order: Order) -> RingCase {
    RingCase {
        layout,
        count,
        order,
    }
}

const RANDOM: Order = Order::Random { seed: 3 };

/// In blocks of `pages` pages.
const fn blocks(pages: usize) -> Order {
    Order::RandomInBlocks { pages, seed: 5 }
}

/// Rings whose elements have padding: every layout and order.
const PADDED: [RingCase; 10] = [
    ring(Layout::npad(7), 100, Order::Sequential),
    ring(Layout::npad(7), 1000, RANDOM),
    ring(Layout::npad(1), 1, RANDOM),
    ring(Layout::npad(2), 2, Order::Sequential),
    ring(Layout::npad(15), 500, blocks(2)),
    ring(Layout::npad(31).pointer_in_word(31), 300, RANDOM),
    ring(Layout::npad(7).pointer_in_word(3), 300, blocks(1)),
    ring(Layout::npad(7).one_a_page(), 31, RANDOM),
    ring(Layout::npad(7).one_a_page().rotating(), 31, RANDOM),
    ring(Layout::npad(7).spaced(192).skewed(60), 400, RANDOM),
];

/// Rings of bare pointers.
const BARE: [RingCase; 2] = [
    ring(Layout::npad(0), 777, RANDOM),
    ring(Layout::npad(0), 64, Order::Sequential),
];

/// Rings of line-sized elements with the pointer in word `word`.
const fn lines(word: usize) -> [RingCase; 3] {
    let layout = Layout::npad(7).pointer_in_word(word);
    [
        ring(layout, 100, Order::Sequential),
        ring(layout, 1, RANDOM),
        ring(layout.spaced(128), 700, RANDOM),
    ]
}

/// Hands the cases to the check and its findings to the caller.
pub(super) struct Oracle<'m, 'r> {
    parts: Option<Parts<'m>>,
    report: &'r mut dyn FnMut(&'static str, Result<(), Mismatch>),
}

impl<'m, 'r> Oracle<'m, 'r> {
    pub(super) fn new(
        region: Region<'m>,
        report: &'r mut dyn FnMut(&'static str, Result<(), Mismatch>),
    ) -> Self {
        Oracle {
            parts: Parts::new(region),
            report,
        }
    }

    /// Checks the cases of one kernel up to the first that fails, and reports.
    fn check<C: Case>(&mut self, name: &'static str, cases: impl IntoIterator<Item = C>) {
        let result = cases.into_iter().enumerate().try_for_each(|(case, built)| {
            let found = match &mut self.parts {
                Some(parts) => parts.check(&built),
                None => Err(Difference::NotBuilt),
            };
            found.map_err(|difference| Mismatch { case, difference })
        });
        (self.report)(name, result);
    }

    pub(super) fn register(&mut self) {
        self.check("linefill_register", [RegisterCase]);
    }

    pub(super) fn walks(&mut self) {
        let walk = |step| move |ring| WalkCase { ring, step };
        let all = PADDED.into_iter().chain(BARE);
        self.check("linefill_walk_follow", all.map(walk(Step::Follow)));
        self.check("linefill_walk_inc", PADDED.map(walk(Step::Inc)));
        let zero = PADDED.into_iter().map(walk(Step::Addnext0));
        let last = PADDED.into_iter().map(walk(Step::Addnextlast));
        self.check("linefill_walk_addnext", zero.chain(last));
    }

    pub(super) fn jumps(&mut self) {
        let chains = [
            (1, Fill::Sequential),
            (1000, Fill::Sequential),
            (1000, Fill::Stride(33)),
            (1000, Fill::RandomFunction { seed: 7 }),
            (1000, Fill::Permutation { seed: 8 }),
            (30_000, Fill::Cycle { seed: 9 }),
        ];
        for (name, checked) in [("linefill_jump", false), ("linefill_jump_checked", true)] {
            let case = |(size, fill)| JumpCase {
                size,
                fill,
                checked,
            };
            self.check(name, chains.map(case));
        }
    }

    pub(super) fn fields(&mut self) {
        use Direction::{Ascending, Descending};
        for (name, word, direction) in [
            ("linefill_fields_first_ascending", 0, Ascending),
            ("linefill_fields_first_descending", 0, Descending),
            ("linefill_fields_last_ascending", 7, Ascending),
            ("linefill_fields_last_descending", 7, Descending),
        ] {
            let case = |ring| FieldsCase { ring, direction };
            self.check(name, lines(word).map(case));
        }
    }

    pub(super) fn prefetches(&mut self) {
        for (hint, overlapped, serial) in [
            (
                None,
                "linefill_prefetch_none",
                "linefill_prefetch_none_serial",
            ),
            (
                Some(Hint::T0),
                "linefill_prefetch_t0",
                "linefill_prefetch_t0_serial",
            ),
            (
                Some(Hint::T1),
                "linefill_prefetch_t1",
                "linefill_prefetch_t1_serial",
            ),
            (
                Some(Hint::T2),
                "linefill_prefetch_t2",
                "linefill_prefetch_t2_serial",
            ),
            (
                Some(Hint::Nta),
                "linefill_prefetch_nta",
                "linefill_prefetch_nta_serial",
            ),
            (
                Some(Hint::Write),
                "linefill_prefetch_w",
                "linefill_prefetch_w_serial",
            ),
        ] {
            for (name, pace) in [(overlapped, Pace::Overlapped), (serial, Pace::Serial)] {
                let cases = PADDED.into_iter().enumerate().map(|(index, ring)| {
                    PrefetchCase {
                        ring,
                        ahead: hint.map(|hint| Ahead {
                            hint,
                            elements: index,
                        }),
                        // Both ends of the dial, and what lies between.
                        work: [0, 1, 53, 255, 256][index % 5],
                        pace,
                    }
                });
                self.check(name, cases);
            }
        }
    }

    pub(super) fn stores(&mut self, features: Features) {
        for (bytes, cached, streamed) in [
            (4, "linefill_store4", "linefill_stream4"),
            (8, "linefill_store8", "linefill_stream8"),
            (16, "linefill_store16", "linefill_stream16"),
            (32, "linefill_store32", "linefill_stream32"),
            (64, "linefill_store64", "linefill_stream64"),
        ] {
            let Some(width) = Width::of(bytes, features) else {
                continue;
            };
            for (name, temporal) in [
                (cached, Temporal::Cached),
                (streamed, Temporal::NonTemporal),
            ] {
                let matrices = [(1, 1), (1, 40), (40, 1), (7, 3), (23, 61)];
                let sweeps = [Sweep::Row, Sweep::Column];
                let cases = sweeps.into_iter().flat_map(|sweep| {
                    matrices.map(|(rows, columns)| StoreCase {
                        rows,
                        row_bytes: columns * bytes,
                        sweep,
                        width,
                        temporal,
                    })
                });
                self.check(name, cases);
            }
        }
    }

    pub(super) fn fills(&mut self) {
        for (name, way) in [
            ("linefill_fill_cached", FillWay::Cached),
            ("linefill_fill_stream", FillWay::NonTemporal),
            ("linefill_fill_rep_stosb", FillWay::RepStosb),
        ] {
            self.check(name, [1, 2, 100].map(|lines| FillCase { lines, way }));
        }
        let groups = [1, 2, 3, 8, 13, 63, 64].map(|lines| FillWay::Interleaved { lines });
        let cases = groups
            .into_iter()
            .flat_map(|way| [1, 2, 100].map(|lines| FillCase { lines, way }));
        self.check("linefill_fill_interleaved", cases);
    }

    pub(super) fn loads(&mut self, features: Features) {
        let cases = |way| [1, 2, 100].map(|lines| LoadCase { lines, way });
        self.check("linefill_load_cached", cases(LoadWay::Cached));
        if let Some(sse41) = features.sse41() {
            self.check("linefill_load_stream", cases(LoadWay::NonTemporal(sse41)));
        }
    }
}
