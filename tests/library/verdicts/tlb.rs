//! The numbers of TLB entries.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::machines::guest;
use super::planted::{Planted, Row, Value, but, noisy, row, time};

const FREE: &str = ".1";
const SMALL: &str = ".2";
const LARGE: &str = ".3";
const SECOND: &str = ".4";
const CONFLICTS: &str = ".5";

/// The planted machine: the entries that are found, and the entries that are stated.
#[derive(Clone, Copy)]
struct Tlbs {
    small: f64,
    large: f64,
    second: f64,
    /// Core cycles with few pages, beyond the first level, and beyond the second level.
    costs: [f64; 3],
    /// The ratio of 16 pages to 16 lines.
    few: f64,
    /// The ratio of pages with a stride of 16 pages to consecutive pages.
    conflicts: f64,
    published: Value,
    reported: Value,
}

/// Values with which every claim holds, except those about numbers other than 64.
const USUAL: Tlbs = Tlbs {
    small: 64.0,
    large: 64.0,
    second: 1536.0,
    costs: [5.0, 12.0, 60.0],
    few: 1.0,
    conflicts: 4.0,
    published: Value::Counted(64.0),
    reported: Value::Counted(64.0),
};

fn planted(machine: &Machine, tlbs: Tlbs) -> Planted {
    Planted::new("X9", machine, |series, x| {
        let [near, first, second] = tlbs.costs;
        // Lines beyond L1d take longer with any page size.
        let lines = if x > 512.0 { 10.0 } else { 0.0 };
        let in_a_row = match x {
            x if x <= tlbs.small => near,
            x if x <= tlbs.second => first,
            _ => second,
        };
        match series {
            "a line of each page" if x <= 16.0 => time(near * tlbs.few),
            "a line of each page" => time(in_a_row + lines),
            "as many lines side by side" => time(near + lines),
            "a line of each page, 16 pages apart" => time((in_a_row + lines) * tlbs.conflicts),
            "a line of each page, 2 MiB pages" if x <= tlbs.large => time(near),
            "a line of each page, 2 MiB pages" => time(first),
            "entries, as published" => tlbs.published,
            _ => tlbs.reported,
        }
    })
}

fn usual(machine: &Machine) -> Planted {
    planted(machine, USUAL)
}

/// The usual values, with `entries` entries of the second level, both published and reported.
fn second(machine: &Machine, entries: f64) -> Planted {
    let stated = Value::Counted(entries);
    let tlbs = Tlbs { published: stated, reported: stated, ..USUAL };
    planted(machine, tlbs)
}

/// In a range of page counts, the times are uncertain.
fn blurred(machine: &Machine, from: f64, to: f64) -> Planted {
    Planted::new("X9", machine, |series, x| {
        if series.starts_with("entries") {
            return Value::Counted(64.0);
        }
        match x {
            x if x <= from => time(5.0),
            x if x <= to => noisy(8.0, 0.5),
            _ => time(12.0),
        }
    })
}

pub fn rows() -> Vec<Row> {
    vec![
        row("X9", FREE, Holds, usual),
        row("X9", FREE, DoesNotHold, |m| planted(m, Tlbs { few: 1.5, ..USUAL })),
        row("X9", FREE, Inconclusive, |m| planted(m, Tlbs { few: 1.1, ..USUAL })),
        row("X9", FREE, Untestable, |m| {
            usual(m).without(|series, _| series == "as many lines side by side")
        })
        .says("was not measured at 16"),
        row("X9", SMALL, Holds, usual)
            .says("[64.0, 67.0] entries found, 64 published, 64 by CPUID"),
        row("X9", SMALL, Holds, |m| {
            let published = Value::Untestable("nothing is known");
            planted(m, Tlbs { published, ..USUAL })
        })
        .says("unknown published, 64 by CPUID"),
        row("X9", SMALL, Holds, |m| {
            // In a virtual machine, CPUID may describe another CPU.
            let reported = Value::Counted(32.0);
            planted(m, Tlbs { reported, ..USUAL })
        })
        .says("64 published, 32 by CPUID"),
        row("X9", SMALL, DoesNotHold, |m| {
            let published = Value::Counted(32.0);
            planted(m, Tlbs { published, ..USUAL })
        })
        .says("32 published, 64 by CPUID"),
        row("X9", SMALL, DoesNotHold, |m| planted(m, but(USUAL, |of| of.small = 40.0))),
        row("X9", SMALL, Inconclusive, |m| blurred(m, 40.0, 80.0)).says("40.0 to 87.0"),
        row("X9", SMALL, Untestable, |m| {
            let none = Value::Untestable("nobody knows");
            let tlbs = Tlbs { published: none, reported: none, ..USUAL };
            planted(m, tlbs)
        })
        .says("nobody knows"),
        row("X9", SMALL, Untestable, |m| {
            let costs = [5.0, 5.5, 60.0];
            planted(m, Tlbs { costs, ..USUAL })
        })
        .says("the curve shows no end of a TLB"),
        row("X9", SMALL, Untestable, |m| {
            usual(m).without(|series, x| series == "a line of each page" && x == 384.0)
        })
        .says("was not measured from 16 pages to 384"),
        row("X9", LARGE, Holds, usual).says("[64.0, 71.0] entries found"),
        row("X9", LARGE, DoesNotHold, |m| planted(m, but(USUAL, |of| of.large = 32.0))),
        row("X9", LARGE, Inconclusive, |m| blurred(m, 40.0, 80.0)),
        row("X9", LARGE, Untestable, |m| {
            Planted::new("X9", m, |series, _| match series {
                "a line of each page, 2 MiB pages" => Value::Untestable("no 2 MiB pages"),
                _ => time(5.0),
            })
        })
        .says("no 2 MiB pages"),
        // A guest's TLB may hold 4 KiB pages, whatever the guest maps.
        row("X9", LARGE, Untestable, |m| {
            let large = 32.0;
            planted(&guest(m), Tlbs { large, ..USUAL })
        })
        .says("with which the host backs larger ones"),
        row("X9", SECOND, Holds, |m| second(m, 1536.0)).says("[1536, 1791] entries found"),
        row("X9", SECOND, DoesNotHold, |m| second(m, 2560.0)),
        row("X9", SECOND, DoesNotHold, |m| second(m, 1024.0)),
        row("X9", SECOND, Inconclusive, |m| second(m, 1400.0)),
        row("X9", SECOND, Untestable, |m| {
            usual(m).without(|series, x| series == "as many lines side by side" && x == 1024.0)
        })
        .says("was not measured at 1024"),
        row("X9", CONFLICTS, Holds, usual),
        row("X9", CONFLICTS, DoesNotHold, |m| {
            // A hash of the page's number selects the set.
            planted(m, but(USUAL, |of| of.conflicts = 1.0))
        })
        .says("16 apart over in a row: 1.0"),
        row("X9", CONFLICTS, Untestable, |m| {
            // There are too many pages for the TLB in any case.
            planted(m, but(USUAL, |of| of.second = 384.0))
        })
        .says("has room for 4"),
        row("X9", CONFLICTS, Holds, |m| {
            // The TLB has just as many entries.
            planted(m, but(USUAL, |of| of.second = 512.0))
        })
        .says("entries found: 5"),
        row("X9", CONFLICTS, Inconclusive, |m| planted(m, but(USUAL, |of| of.conflicts = 1.5))),
        row("X9", CONFLICTS, Untestable, |m| {
            usual(m).without(|series, _| series.ends_with("16 pages apart"))
        }),
    ]
}
