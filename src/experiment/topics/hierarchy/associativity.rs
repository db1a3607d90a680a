//! Drepper 6.2.1, cache associativity: Figure 6.5.

use crate::experiment::prelude::*;
use crate::experiment::shared::walk::WalkSetup;
use crate::mem::LINE;
use crate::pattern::{Layout, Order};
use crate::stats::{Interval, Side};

/// The figures of this family.
pub(crate) static ALL: &[Experiment] = &[FIG_6_5];

/// The longest list: beyond the ways of every L1d to date, and beyond twice those of most.
const LONGEST: usize = 32;

/// A list has left L1d once a step costs this many times what it costs a list of one line.
const STEP: f64 = 1.5;

/// What a list that stays in L1d may cost over a list of one line.
const FLAT: f64 = 1.1;

const FIG_6_5: Experiment = Experiment {
    id: "E18",
    name: "drepper-fig-6.5",
    title: "Conflicts in a set-associative cache",
    question: "How many lines at the same distance does L1d hold before they evict each other?",
    source: "Drepper 6.2.1, Figure 6.5",
    about: "L1d has grown from 32 KiB with 8 ways by adding ways, not sets, because the set must \
            be known from the 12 bits of an address that need no translation: 48 KiB are 12 ways \
            of 4 KiB. So the period is 4,096 bytes on both. Where replacement is not strict LRU, \
            the step at the first line too many is softer than the paper's. Distances that are \
            parts of the period use few sets, each with a part of the list.",
    seen: &[],
    plot: Some(Plot {
        shape: Shape::Surface {
            depth: "length of the list",
        },
        x: Axis::linear("distance in lines"),
        y: Axis::linear("time"),
        unit: Unit::CoreCycles,
        reference: &[Reference {
            file: "drepper-fig-6.5.csv",
            machine: "Core 2, 32 KiB L1d with 8 ways (2007)",
            x: "distance_elements",
            columns: &[],
        }],
    }),
    cases: |machine| {
        let mut cases = Vec::new();
        for length in 1..=LONGEST {
            for distance in distances(machine) {
                let layout = Layout::npad(7).spaced(distance * LINE);
                let setup = WalkSetup::follow(layout, length * LINE, Order::Sequential);
                cases.push(Case::new(length.to_string(), distance as f64, setup).in_large_pages());
            }
        }
        cases
    },
    curves: plain_curves,
    events: events::CONFLICTS,
    claims: &[
        // With a distance of a multiple of 4,096 bytes a list longer than eight is flushed from
        // L1d; 8 ways and 32 KiB follow, so that the test determines both.
        measured(
            "E18.1",
            drepper("6.2.1, Figure 6.5"),
            "the latency of a list of 64-byte elements jumps by more than 1.5 times exactly where \
             the list is longer than L1d has ways, at multiples of the size of a way",
            |e| {
                let found = Found::on(e)?;
                let Some((cache, ways)) = e
                    .machine
                    .data_cache(1)
                    .and_then(|cache| Some((cache, cache.ways?)))
                else {
                    return Err(Untestable(format!(
                        "{found}; CPUID reports no ways of L1d to hold it against"
                    )));
                };
                let agrees = |shape: Geometry| {
                    shape.ways == ways as usize && shape.bytes() as u64 == cache.size
                };
                Ok(Judgement {
                    verdict: match (agrees(found.early), agrees(found.late)) {
                        (true, true) => Verdict::Holds,
                        (false, false) if found.early == found.late => Verdict::DoesNotHold,
                        _ => Verdict::Inconclusive,
                    },
                    numbers: format!("{found}; CPUID: {ways} ways, {} KiB", cache.size / 1024),
                    value: Some(Interval::new(
                        found.early.ways as f64,
                        found.late.ways as f64,
                    )),
                })
            },
        )
        .then(8.0, "32 KiB L1d of 8 ways (2007)"),
        // At almost all other distances the addresses are spread over L1d, and a step takes 3
        // cycles whatever the length.
        measured(
            "E18.2",
            drepper("6.2.1, Figure 6.5"),
            "at every distance that spreads a list over several sets, a list of one line more \
             than L1d has ways costs less than 1.1 times a list of one line",
            |e| {
                let Geometry { period, ways } = Found::on(e)?.late;
                let mut worst: Option<(usize, Interval)> = None;
                for distance in distances(e.machine) {
                    if sets_touched(distance, period) > 1 {
                        let rise = rise(e, ways + 1, distance)?;
                        worst = Some(worst.map_or((distance, rise), |(at, seen)| {
                            let at = if rise.hi > seen.hi { distance } else { at };
                            (at, seen.most(rise))
                        }));
                    }
                }
                let (distance, rise) = worst.ok_or_else(|| {
                    Untestable("no distance but multiples of the period".to_owned())
                })?;
                let what = format!(
                    "{} lines over one, at worst, at a distance of {distance} lines",
                    ways + 1
                );
                at_most(&what, rise, FLAT)
            },
        )
        .then(1.02, "32 KiB L1d of 8 ways (2007)"),
    ],
};

/// The distances measured, in lines, ascending: every fourth up to four periods of L1d in a full run,
/// every sixteenth in a quick one, so that the surface keeps an even grid.
fn distances(machine: &Machine) -> impl Iterator<Item = usize> {
    let (step, most) = if machine.full { (4, 256) } else { (16, 128) };
    (step..=most).step_by(step)
}

/// Sets that a list at this distance touches, if lines repeat their set every `period` lines.
fn sets_touched(distance: usize, period: usize) -> usize {
    let (mut a, mut b) = (distance, period);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    period / a
}

/// What a step costs in a list of `length` lines over what it costs in a list of one.
fn rise(e: &Evidence<'_>, length: usize, distance: usize) -> Result<Interval, Untestable> {
    let x = distance as f64;
    ratio(e.at(&length.to_string(), x), e.at("1", x))
}

/// Sets and ways of a cache.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Geometry {
    /// Distance in lines at which lines meet in one set: the number of sets.
    period: usize,
    /// Lines that a set holds.
    ways: usize,
}

impl Geometry {
    fn bytes(self) -> usize {
        self.period * self.ways * LINE
    }

    /// Infers it from the surface: the smallest distance at which the step comes first, and the
    /// longest list before it. `left` says whether a rise lies behind the step.
    ///
    /// Every point on the way counts: without one of them, the step may have been there.
    fn infer(e: &Evidence<'_>, left: fn(Side) -> bool) -> Result<Self, Untestable> {
        let mut found: Option<Geometry> = None;
        for distance in distances(e.machine) {
            let mut held = 1;
            while held < LONGEST && !left(rise(e, held + 1, distance)?.side_of(STEP)) {
                held += 1;
            }
            if held < LONGEST && found.is_none_or(|first| held < first.ways) {
                found = Some(Geometry {
                    period: distance,
                    ways: held,
                });
            }
        }
        found.ok_or_else(|| {
            Untestable(format!(
                "no list of up to {LONGEST} lines left L1d at any distance measured"
            ))
        })
    }
}

impl core::fmt::Display for Geometry {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(
            f,
            "{} ways, period {} bytes, {} KiB",
            self.ways,
            self.period * LINE,
            self.bytes() / 1024
        )
    }
}

/// What the surface says of L1d.
struct Found {
    /// If every rise that may lie behind the step does.
    early: Geometry,
    /// If only those do that certainly lie behind it.
    late: Geometry,
}

impl Found {
    fn on(e: &Evidence<'_>) -> Result<Self, Untestable> {
        let late = Geometry::infer(e, |side| side == Side::Above)?;
        if distances(e.machine).last() == Some(late.period) {
            return Err(Untestable(format!(
                "the step comes first at the largest distance measured, {} bytes: lines may meet \
                 in one set at a larger one",
                late.period * LINE
            )));
        }
        let early = Geometry::infer(e, |side| side != Side::Below)?;
        Ok(Found { early, late })
    }
}

impl core::fmt::Display for Found {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "measured: {}", self.late)?;
        if self.early != self.late {
            write!(f, ", or {}", self.early)?;
        }
        Ok(())
    }
}
