//! Drepper 6.2.1, cache associativity: Figure 6.5.

use crate::experiment::claim::verdict::Extreme;
use crate::experiment::prelude::*;
use crate::experiment::shared::walk::WalkSetup;
use crate::pattern::Layout;
use crate::stats::Side;

pub(crate) static ALL: &[Experiment] = &[FIG_6_5];

/// The longest list: longer than the ways of every L1d to date, and than twice the ways of most.
const LONGEST: usize = 32;

/// A list has left L1d if a step takes this many times as long as in a list of one line.
const STEP: f64 = 1.5;

/// How many times as long a step in a list that stays in L1d may take as in a list of one line.
const FLAT: f64 = 1.1;

const FIG_6_5: Experiment = Experiment {
    id: "E18",
    name: "drepper-fig-6.5",
    title: "Conflicts in a set-associative cache",
    question: "How many lines at equal distances does L1d hold before they evict each other?",
    source: "Drepper 6.2.1, Figure 6.5",
    about: "The test walks lists of 1 to 32 elements, one element per line, at equal distances, in \
            random order: a prefetcher that follows strides would bring further lines into the \
            set. The chart shows the time per step over the distance and the length of the list. \
            Lines at multiples of the way size (cache size divided by ways) fall in one set. If \
            the list has more lines than the set has ways, the lines evict each other, and each \
            step goes to L2. L1d has grown by adding ways, not sets, because the set number must \
            come from the 12 address bits that need no translation. A cache of 32 KiB with 8 ways \
            and a cache of 48 KiB with 12 ways therefore have the same way size, 4,096 bytes. \
            Without strict LRU replacement, the step is less sharp than in the paper. At distances \
            that divide the way size, the list spreads over a few sets, and each set takes part of \
            the list.",
    plot: Some(Plot {
        shape: Shape::Surface { depth: "length of the list in lines" },
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
        // In address order, on a Raptor Cove with 12 ways, ten lines 4 KiB apart stayed in L1d, and twelve
        // lines 8 KiB apart: its prefetcher follows the smaller distance to two lines beyond the list.
        for length in 1..=LONGEST {
            for distance in distances(machine) {
                let layout = Layout::npad(7).spaced(distance * LINE);
                let setup = WalkSetup::random(layout, length * LINE, machine.seed);
                cases.push(Case::new(length.to_string(), distance as f64, setup).in_large_pages());
            }
        }
        cases
    },
    events: events::CONFLICTS,
    claims: &[
        // With a distance of a multiple of 4,096 bytes a list longer than eight is flushed from
        // L1d; 8 ways and 32 KiB follow, so that the test determines both.
        measured(
            "E18.1",
            drepper("6.2.1, Figure 6.5"),
            "at distances that are multiples of the way size, a step takes more than 1.5 times as \
             long as in a list of one line exactly when the list has more lines than L1d has ways",
            |e| {
                let found = Found::on(e)?;
                let Some((cache, ways)) =
                    e.machine.data_cache(1).and_then(|cache| Some((cache, cache.ways?)))
                else {
                    return Err(Untestable(format!(
                        "{found}; CPUID does not report the ways of L1d, so there is nothing to \
                         compare with"
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
                    value: Some(Interval::new(found.early.ways as f64, found.late.ways as f64)),
                })
            },
        )
        .then(8.0, "32 KiB L1d of 8 ways (2007)"),
        // At almost all other distances the addresses are spread over L1d, and a step takes 3
        // cycles whatever the length.
        measured(
            "E18.2",
            drepper("6.2.1, Figure 6.5"),
            "at every distance that spreads a list over several sets, a step through a list of one \
             line more than L1d has ways takes less than 1.1 times as long as through a list of \
             one line",
            |e| {
                let Geometry { period, ways } = Found::on(e)?.late;
                let mut spread =
                    distances(e.machine).filter(|of| !of.is_multiple_of(period)).peekable();
                spread.peek().ok_or_else(|| {
                    Untestable::because("every distance tested is a multiple of the way size")
                })?;
                let lines = ways + 1;
                let rises = spread.map(|distance| Ok((distance, rise(e, lines, distance)?)));
                let Extreme { at, value } = Extreme::most(rises)?;
                let what = format!("{lines} lines over one, at the worst distance, {at} lines");
                at_most(&what, value, FLAT)
            },
        )
        .then(1.02, "32 KiB L1d of 8 ways (2007)"),
    ],
    ..Experiment::PLAIN
};

/// Returns the distances measured, in lines, ascending: every fourth up to four periods of L1d in a
/// full run, every sixteenth up to two periods in a quick run. The surface thus keeps an even grid.
fn distances(machine: &Machine) -> impl Iterator<Item = usize> {
    let (step, most) = if machine.full { (4, 256) } else { (16, 128) };
    (step..=most).step_by(step)
}

/// Returns the time of a step in a list of `length` lines over that in a list of one line.
fn rise(e: &Evidence<'_>, length: usize, distance: usize) -> Testable<Interval> {
    let x = distance as f64;
    ratio(e.at(&length.to_string(), x), e.at("1", x))
}

/// Sets and ways of a cache.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Geometry {
    /// Distance in lines at which lines fall into the same set: the number of sets.
    period: usize,
    /// Lines that a set holds.
    ways: usize,
}

impl Geometry {
    fn bytes(self) -> usize {
        self.period * self.ways * LINE
    }

    /// Infers the geometry from the surface. The distance at which the step comes after the
    /// shortest list is the period; the longest list before this step gives the ways. Of several
    /// such distances, the smallest counts. `left` tells whether a rise lies beyond the step.
    ///
    /// # Errors
    /// If a point before the step was not measured, because the step may lie there; or if there is
    /// no step.
    fn infer(e: &Evidence<'_>, left: fn(Side) -> bool) -> Testable<Self> {
        let mut found: Option<Geometry> = None;
        for distance in distances(e.machine) {
            let mut held = 1;
            while held < LONGEST && !left(rise(e, held + 1, distance)?.side_of(STEP)) {
                held += 1;
            }
            if held < LONGEST && found.is_none_or(|first| held < first.ways) {
                found = Some(Geometry { period: distance, ways: held });
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
        write!(f, "{} ways of {} bytes, {} KiB", self.ways, self.period * LINE, self.bytes() / 1024)
    }
}

/// The geometry of L1d that the surface shows.
struct Found {
    /// The geometry if rises that may lie beyond the step count as beyond it.
    early: Geometry,
    /// The geometry if only rises that certainly lie beyond the step count as beyond it.
    late: Geometry,
}

impl Found {
    fn on(e: &Evidence<'_>) -> Testable<Self> {
        let late = Geometry::infer(e, |side| side == Side::Above)?;
        if distances(e.machine).last() == Some(late.period) {
            return Err(Untestable(format!(
                "the step first appears at the largest distance measured, {} bytes; the way size \
                 may be larger",
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
