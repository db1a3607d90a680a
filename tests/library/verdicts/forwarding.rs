//! Store-to-load forwarding by size.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::planted::{Planted, Row, Value, experiment, row, time};

const OLDER: &str = ".1";
const SPANNING: &str = ".2";
const UPPER: &str = ".3";
const NO_LESS: &str = ".4";
const PAGES: &str = ".5";

/// The times of round trips.
#[derive(Clone, Copy)]
struct Costs {
    /// A load at the start of the store.
    forwarded: f64,
    /// A narrower load at the end of the store.
    end: f64,
    /// A load that also contains older bytes.
    blocked: f64,
    /// A load that contains bytes of two stores.
    spanning: f64,
    lines: f64,
    pages: f64,
}

const USUAL: Costs =
    Costs { forwarded: 5.0, end: 5.0, blocked: 17.0, spanning: 18.0, lines: 6.0, pages: 30.0 };

impl Costs {
    fn of(&self, series: &str) -> f64 {
        match series {
            "of two stores" => self.spanning,
            "across two lines" => self.lines,
            "across two pages" => self.pages,
            "load at its end" => self.end,
            "load half before it" | "load half behind it" | "load wider than it" => self.blocked,
            _ => self.forwarded,
        }
    }

    fn on(self, machine: &Machine) -> Planted {
        Planted::new("X1", machine, |series, _| time(self.of(series)))
    }
}

/// The place of a pair on the axis, from the axis label.
fn place(pair: &str) -> f64 {
    let plot = experiment("X1").plot.expect("a plot");
    let places = plot.x.label.split(", ").map(|name| {
        let (name, index) = name.split_once(" (").expect("a name and a place");
        (name, index.trim_end_matches(')').parse().expect("a place"))
    });
    let mut found = places.filter(|(name, _)| *name == pair);
    found.next().unwrap_or_else(|| panic!("no place for {pair}")).1
}

/// A CPU whose widest accesses have 16 bytes.
fn narrow(machine: &Machine) -> Planted {
    let wide = ["16 to 32", "32 to 8", "32 to 16", "32 to 32"].map(place);
    Planted::new("X1", machine, |series, x| {
        if wide.contains(&x) || x > place("32 to 32") || x == place("8 to 32") {
            Value::Untestable("this CPU has no accesses of so many bytes")
        } else {
            time(USUAL.of(series))
        }
    })
}

pub fn rows() -> Vec<Row> {
    vec![
        row("X1", OLDER, Holds, |m| USUAL.on(m)),
        row("X1", OLDER, Holds, narrow),
        row("X1", OLDER, DoesNotHold, |m| {
            let blocked = 6.0;
            Costs { blocked, ..USUAL }.on(m)
        })
        .says("half of the bytes older over none, at least, with 4 bytes: 1.20"),
        row("X1", OLDER, Inconclusive, |m| {
            let blocked = 7.5;
            Costs { blocked, ..USUAL }.on(m)
        }),
        row("X1", OLDER, Untestable, |m| {
            USUAL
                .on(m)
                .without(|series, x| series == "load half behind it" && x == place("16 to 16"))
        })
        .says("`load half behind it` was not measured at 20"),
        row("X1", SPANNING, Holds, |m| USUAL.on(m)),
        row("X1", SPANNING, Holds, narrow),
        row("X1", SPANNING, DoesNotHold, |m| {
            let spanning = 5.0;
            Costs { spanning, ..USUAL }.on(m)
        })
        .says("of two stores over one, at least, with 8 bytes: 1.0"),
        row("X1", SPANNING, Inconclusive, |m| {
            let spanning = 7.5;
            Costs { spanning, ..USUAL }.on(m)
        }),
        row("X1", SPANNING, Untestable, |m| {
            USUAL.on(m).without(|series, _| series == "of two stores")
        })
        .says("`of two stores` was not measured at 15"),
        row("X1", UPPER, Holds, |m| USUAL.on(m)),
        row("X1", UPPER, Holds, narrow),
        row("X1", UPPER, DoesNotHold, |m| {
            let end = 10.0;
            Costs { end, ..USUAL }.on(m)
        })
        .says("upper half over lower, at most, of 16 bytes: 2.0"),
        row("X1", UPPER, Inconclusive, |m| {
            let end = 7.5;
            Costs { end, ..USUAL }.on(m)
        }),
        row("X1", UPPER, Untestable, |m| {
            USUAL.on(m).without(|series, x| series == "load at its end" && x == place("16 to 8"))
        })
        .says("`load at its end` was not measured at 19"),
        row("X1", NO_LESS, Holds, |m| USUAL.on(m)),
        row("X1", NO_LESS, DoesNotHold, |m| {
            let forwarded = 1.0;
            Costs { forwarded, ..USUAL }.on(m)
        })
        .says("core cycles per round trip: 1.0"),
        row("X1", NO_LESS, Inconclusive, |m| {
            let forwarded = f64::from(m.load_to_use.unwrap_or(4)) - 0.5;
            Costs { forwarded, ..USUAL }.on(m)
        }),
        row("X1", NO_LESS, Untestable, |m| {
            let unknown = Machine { load_to_use: None, ..m.clone() };
            USUAL.on(m).on(unknown)
        })
        .says("no published load-to-use latency for this CPU; measured 5.0"),
        row("X1", PAGES, Holds, |m| USUAL.on(m)),
        row("X1", PAGES, Holds, narrow),
        row("X1", PAGES, DoesNotHold, |m| {
            let pages = 6.0;
            Costs { pages, ..USUAL }.on(m)
        })
        .says("across pages over across lines, at least, with 8 bytes: 1.0"),
        row("X1", PAGES, Inconclusive, |m| {
            let pages = 6.6;
            Costs { pages, ..USUAL }.on(m)
        }),
        row("X1", PAGES, Untestable, |m| {
            USUAL.on(m).without(|series, x| series == "across two pages" && x == place("8 to 8"))
        })
        .says("`across two pages` was not measured at 15"),
    ]
}

/// The axis names every pair at its place, and every case has such a place.
#[test]
fn every_case_of_x1_lies_at_a_named_place() {
    let machine = super::machines::zen().machine();
    for case in (experiment("X1").cases)(&machine) {
        let setup = format!("{:?}", case.setup);
        let number = |field: &str| {
            let (_, rest) = setup.split_once(field).expect(field);
            let digits = rest.split(|c: char| !c.is_ascii_digit()).next();
            digits.and_then(|digits| digits.parse::<usize>().ok()).expect(field)
        };
        let (store, load) = (number("Trip { store: "), number(", load: "));
        let store = if setup.contains("Two") { 2 * store } else { store };
        assert_eq!(case.x, place(&format!("{store} to {load}")), "{setup}");
    }
}
