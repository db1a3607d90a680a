//! Beyond the documents: the cost of the first touch of a page.

use crate::experiment::prelude::*;
use crate::experiment::shared::lines::FillSetup;
use crate::experiment::shared::touch::{Touch, TouchSetup};
use crate::host::Pages;
use crate::kernel::FillWay;

pub(crate) static ALL: &[Experiment] = &[FIRST_TOUCH];

const WRITE: &str = "first write";
const READ: &str = "first read";
const AFTER_READ: &str = "first write after a first read";
const AGAIN: &str = "later write";
const POPULATE: &str = "madvise(MADV_POPULATE_WRITE)";
const MAP_POPULATE: &str = "mmap(MAP_POPULATE)";
/// The series of the control: as many bytes, already mapped, zeroed by the program.
const ZEROING: &str = "rep stosb over as many bytes that are there";

const SERIES: [(&str, Touch); 6] = [
    (WRITE, Touch::Write),
    (READ, Touch::Read),
    (AFTER_READ, Touch::WriteAfterRead),
    (AGAIN, Touch::Again),
    (POPULATE, Touch::Populate),
    (MAP_POPULATE, Touch::MapPopulate),
];

/// Places of the page sizes on the axis.
const BASE: f64 = 0.0;
const HUGE: f64 = 1.0;

/// Place on the axis, page size, and number of pages that a shot touches: enough that a single
/// fault does not matter, and few enough for many shots.
const SIZES: [(f64, Pages, usize); 2] = [(BASE, Pages::Base, 512), (HUGE, Pages::Huge, 4)];

const FIRST_TOUCH: Experiment = Experiment {
    id: "X3",
    name: "first-touch",
    title: "The first touch of a page",
    question: "How long does the first access to a page take, when the kernel must find and zero \
               the page?",
    source: "beyond the documents; Linux, mmap(2) and madvise(2)",
    about: "A program touches pages that it has allocated but never accessed. Each first touch is \
            a page fault: the kernel finds a frame, zeroes it and maps it. Entering and leaving \
            the kernel takes longer with mitigations against speculative attacks and on virtual \
            machines. A 2 MiB page takes one fault for 512 times as many bytes. A call that \
            populates all pages enters the kernel once, and then finds and maps one page after the \
            other. A first read maps a page of zeros that all such pages share, so that the first \
            write to it faults again.",
    plot: Some(Plot::bars(
        Axis::linear("pages of 4 KiB (0), pages of 2 MiB (1)"),
        Axis::log("time per page"),
        Unit::CoreCycles,
    )),
    cases: |_| {
        let mut cases = Vec::new();
        for (x, pages, count) in SIZES {
            let in_pages = |case: Case| Case { pages: pages.into(), ..case.in_its_own_pages() };
            for (series, touch) in SERIES {
                cases.push(in_pages(Case::new(series, x, TouchSetup { pages, count, touch })));
            }
            let fill = FillSetup { bytes: count * pages.bytes(), way: FillWay::RepStosb };
            cases.push(in_pages(Case::new(ZEROING, x, fill)));
        }
        cases
    },
    // Zeroing is measured per line, and drawn per page.
    curves: |e| {
        let mut curves = e.curves();
        let zeroing = curves.iter_mut().filter(|curve| curve.label == ZEROING);
        for (x, line) in zeroing.flat_map(|curve| &mut curve.points) {
            *line = line.scaled(lines_of_page(*x));
        }
        curves
    },
    claims: &[
        measured(
            "X3.1",
            ours("what a program pays if it does not touch its memory ahead of time"),
            "the first write to a 4 KiB page takes at least ten times as long as a later write",
            |e| {
                let slower = ratio(e.at(WRITE, BASE), e.at(AGAIN, BASE))?;
                at_least("first over later write", slower, 10.0)
            },
        ),
        measured(
            "X3.2",
            ours("whether it is faster to populate all pages at once, by madvise or mmap"),
            "a call that populates all 4 KiB pages, by madvise or by mmap, takes less time per \
             page than a loop that touches each page",
            |e| {
                let touched = e.at(WRITE, BASE)?;
                all_of([POPULATE, MAP_POPULATE].map(|series| {
                    let share = ratio(e.at(series, BASE), &touched);
                    at_most(&format!("{series} over a loop"), share, 1.0)
                }))
            },
        ),
        measured(
            "X3.3",
            ours("whether large pages speed up programs that allocate much memory"),
            "the first writes to 2 MiB pages obtain more than twice as many bytes per second as \
             the first writes to 4 KiB pages",
            |e| {
                let (huge, base) = (gigabytes(e, HUGE)?, gigabytes(e, BASE)?);
                let what = format!("{huge} GB/s over {base} GB/s, first writes,");
                at_least(&what, ratio(huge, base), 2.0)
            },
        ),
        measured(
            "X3.4",
            ours("what a first touch consists of"),
            "the first write to a 4 KiB page takes at least four times as long as zeroing the \
             page: most of the time is the page fault",
            |e| at_least("first write over zeroing", over_zeroing(e, BASE), 4.0),
        ),
        measured(
            "X3.5",
            ours("what a first touch of a large page consists of"),
            "the first write to a 2 MiB page takes less than four times as long as zeroing the \
             page: much of the time is zeroing",
            |e| at_most("first write over zeroing", over_zeroing(e, HUGE), 4.0),
        ),
        measured(
            "X3.6",
            ours("whether it helps to read a page before writing to it"),
            "a first read of a 4 KiB page plus the first write after it take longer than a first \
             write without the read",
            |e| {
                let (read, write) = (e.at(READ, BASE)?, e.at(AFTER_READ, BASE)?);
                let both = plus(read, write);
                at_least("read and write over write", ratio(both, e.at(WRITE, BASE)), 1.0)
            },
        ),
    ],
    ..Experiment::PLAIN
};

fn page_bytes(x: f64) -> f64 {
    let pages = if x == HUGE { Pages::Huge } else { Pages::Base };
    pages.bytes() as f64
}

fn lines_of_page(x: f64) -> f64 {
    page_bytes(x) / LINE as f64
}

/// Returns the bandwidth at which first writes obtain memory, in GB/s.
fn gigabytes(e: &Evidence<'_>, x: f64) -> Testable<Interval> {
    ratio(Interval::exact(page_bytes(x)), e.in_time().at(WRITE, x))
}

/// Returns the time of the first write to a page divided by the time of zeroing as many mapped
/// bytes.
fn over_zeroing(e: &Evidence<'_>, x: f64) -> Testable<Interval> {
    ratio(e.at(WRITE, x), e.at(ZEROING, x)?.scaled(lines_of_page(x)))
}
