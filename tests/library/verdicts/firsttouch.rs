//! First writes and reads of pages.

use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};
use linefill::experiment::{Machine, PageRequest};

use super::planted::{Planted, Row, Value, but, row, time};

const FIRST: &str = ".1";
const ONE_CALL: &str = ".2";
const HUGE: &str = ".3";
const FAULT: &str = ".4";
const ZEROING: &str = ".5";
const READ_FIRST: &str = ".6";

/// Core cycles per page.
#[derive(Clone, Copy)]
struct Pages {
    write: f64,
    again: f64,
    read: f64,
    after_read: f64,
    /// With `madvise` and with `mmap`.
    populate: [f64; 2],
    huge: f64,
    /// Core cycles of zeroing a line.
    line: f64,
}

/// Values with which every claim holds.
const USUAL: Pages = Pages {
    write: 2000.0,
    again: 10.0,
    read: 1000.0,
    after_read: 2200.0,
    populate: [1000.0, 1100.0],
    huge: 150_000.0,
    line: 2.5,
};

fn planted(machine: &Machine, pages: Pages) -> Planted {
    Planted::new("X3", machine, |series, x| {
        time(match series {
            "first write" if x == 1.0 => pages.huge,
            "first write" => pages.write,
            "first read" => pages.read,
            "first write after a first read" => pages.after_read,
            "later write" => pages.again,
            "madvise(MADV_POPULATE_WRITE)" => pages.populate[0],
            "mmap(MAP_POPULATE)" => pages.populate[1],
            _ => pages.line,
        })
    })
}

fn usual(machine: &Machine) -> Planted {
    planted(machine, USUAL)
}

fn writing(machine: &Machine, write: f64) -> Planted {
    planted(machine, Pages { write, ..USUAL })
}

fn huge(machine: &Machine, huge: f64) -> Planted {
    planted(machine, Pages { huge, ..USUAL })
}

fn populating(machine: &Machine, populate: [f64; 2]) -> Planted {
    planted(machine, Pages { populate, ..USUAL })
}

fn zeroing(machine: &Machine, line: f64) -> Planted {
    planted(machine, Pages { line, ..USUAL })
}

fn after_read(machine: &Machine, after_read: f64) -> Planted {
    planted(machine, but(USUAL, |of| of.after_read = after_read))
}

fn without_huge_pages(machine: &Machine) -> Planted {
    Planted::new("X3", machine, |_, x| {
        if x == 1.0 { Value::Untestable("no 2 MiB pages") } else { time(100.0) }
    })
}

fn without(machine: &Machine, dropped: &'static str) -> Planted {
    usual(machine).without(move |series, _| series == dropped)
}

pub fn rows() -> Vec<Row> {
    vec![
        row("X3", FIRST, Holds, usual),
        row("X3", FIRST, DoesNotHold, |m| writing(m, 50.0)),
        row("X3", FIRST, Inconclusive, |m| writing(m, 100.0)),
        row("X3", FIRST, Untestable, |m| without(m, "later write")),
        row("X3", ONE_CALL, Holds, usual),
        row("X3", ONE_CALL, DoesNotHold, |m| populating(m, [1000.0, 2500.0]))
            .says("mmap(MAP_POPULATE) over a loop: 1.25"),
        row("X3", ONE_CALL, Inconclusive, |m| populating(m, [2000.0, 1000.0])),
        row("X3", ONE_CALL, Untestable, |m| without(m, "madvise(MADV_POPULATE_WRITE)")),
        row("X3", HUGE, Holds, usual),
        row("X3", HUGE, DoesNotHold, |m| huge(m, 900_000.0)),
        row("X3", HUGE, Inconclusive, |m| huge(m, 512_000.0)),
        row("X3", HUGE, Untestable, without_huge_pages).says("no 2 MiB pages"),
        row("X3", FAULT, Holds, usual),
        row("X3", FAULT, DoesNotHold, |m| zeroing(m, 20.0)),
        row("X3", FAULT, Inconclusive, |m| zeroing(m, 2000.0 / 256.0)),
        row("X3", FAULT, Untestable, |m| without(m, "rep stosb over as many bytes that are there")),
        row("X3", ZEROING, Holds, usual),
        row("X3", ZEROING, DoesNotHold, |m| huge(m, 900_000.0)),
        row("X3", ZEROING, Inconclusive, |m| huge(m, 4.0 * 2.5 * 32768.0)),
        row("X3", ZEROING, Untestable, without_huge_pages).says("no 2 MiB pages"),
        row("X3", READ_FIRST, Holds, usual),
        row("X3", READ_FIRST, DoesNotHold, |m| after_read(m, 500.0)),
        row("X3", READ_FIRST, Inconclusive, |m| after_read(m, 1000.0)),
        row("X3", READ_FIRST, Untestable, |m| without(m, "first read")),
    ]
}

/// In any run, 4 KiB pages are 4 KiB and 2 MiB pages are 2 MiB here.
#[test]
fn every_point_has_the_pages_that_it_is_about() {
    let machine = super::machines::zen().machine();
    let cases = (super::planted::experiment("X3").cases)(&machine);
    assert_eq!(cases.len(), 14);
    for case in cases {
        let about = if case.x == 0.0 { PageRequest::Base } else { PageRequest::Huge };
        assert!(case.own_pages, "{}", case.series);
        assert_eq!(case.pages, about, "{}", case.series);
    }
}
