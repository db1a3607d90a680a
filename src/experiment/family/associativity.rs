//! Drepper 6.2.1, cache associativity: Figure 6.5.

use crate::experiment::setup::WalkSetup;
use crate::experiment::{
    Axis, Case, Claim, Evidence, Experiment, Judgement, Plot, Reference, Shape, Unit, Untestable,
    Verdict, plain_curves,
};
use crate::mem::LINE;
use crate::pattern::{Layout, Order};

/// The figures of this family.
pub(super) static ALL: &[Experiment] = &[FIG_6_5];

/// The longest list: beyond the ways of every L1d to date, and beyond twice those of most.
const LONGEST: usize = 32;

/// A list has left L1d once a step costs this many times what it costs a list of one line.
const STEP: f64 = 1.5;

const FIG_6_5: Experiment = Experiment {
    id: "E18",
    name: "drepper-fig-6.5",
    title: "Conflicts in a set-associative cache",
    question: "How many lines at the same distance does L1d hold before they evict each other?",
    source: "Drepper 6.2.1, Figure 6.5",
    today: "L1d has grown from 32 KiB with 8 ways by adding ways, not sets, because the set must \
            be known from the 12 bits of an address that need no translation: 48 KiB are 12 ways \
            of 4 KiB. The period is therefore still 4,096 bytes, and the step is softer than the \
            paper's, as replacement is no longer strict LRU.",
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
        let distances: Vec<usize> = if machine.full {
            (1..=256).collect()
        } else {
            vec![
                1, 2, 4, 7, 8, 16, 24, 31, 32, 33, 48, 63, 64, 65, 96, 127, 128,
            ]
        };
        let mut cases = Vec::new();
        for length in 1..=LONGEST {
            for &distance in &distances {
                let layout = Layout::npad(7).spaced(distance * LINE);
                let setup = WalkSetup::follow(layout, length * LINE, Order::Sequential);
                cases.push(Case::new(length.to_string(), distance as f64, setup).in_large_pages());
            }
        }
        cases
    },
    curves: plain_curves,
    claims: &[
        Claim {
            text: "the surface steps exactly where sets and ways of L1d say: at multiples of the \
                   way size, as soon as the list is longer than there are ways",
            judge: |e| {
                let (period, ways) = infer(e)?;
                let bytes = period * LINE * ways;
                let found = format!(
                    "measured: {ways} ways, period {} bytes, {} KiB",
                    period * LINE,
                    bytes / 1024
                );
                let Some((cache, reported)) = e
                    .machine
                    .data_cache(1)
                    .and_then(|cache| Some((cache, cache.ways?)))
                else {
                    return Err(Untestable(format!(
                        "{found}; CPUID reports no ways of L1d to hold it against"
                    )));
                };
                let agrees = ways == reported as usize && bytes as u64 == cache.size;
                Ok(Judgement {
                    verdict: if agrees {
                        Verdict::Holds
                    } else {
                        Verdict::DoesNotHold
                    },
                    numbers: format!("{found}; CPUID: {reported} ways, {} KiB", cache.size / 1024),
                })
            },
        },
        Claim {
            text: "at every other distance lists of the same length stay in L1d",
            judge: |e| {
                let (period, ways) = infer(e)?;
                let mut worst: Option<(f64, f64)> = None;
                for (x, value) in e.series(&(ways + 1).to_string())? {
                    let others = sets_touched(x as usize, period) > 1;
                    let base = e.at("1", x)?;
                    if others && worst.is_none_or(|(_, seen)| value.lo / base.hi > seen) {
                        worst = Some((x, value.lo / base.hi));
                    }
                }
                let (x, rise) = worst.ok_or_else(|| {
                    Untestable("no distance but multiples of the period".to_owned())
                })?;
                Ok(Judgement {
                    verdict: if rise < STEP {
                        Verdict::Holds
                    } else {
                        Verdict::DoesNotHold
                    },
                    numbers: format!(
                        "{} lines: at worst {rise:.2} times a list of 1, at a distance of {x} lines",
                        ways + 1
                    ),
                })
            },
        },
    ],
};

/// Sets that a list at this distance touches, if lines repeat their set every `period` lines.
fn sets_touched(distance: usize, period: usize) -> usize {
    let (mut a, mut b) = (distance, period);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    period / a
}

/// The period in lines and the number of ways, from the surface alone: the smallest distance at
/// which the step comes first, and the longest list before it.
fn infer(e: &Evidence<'_>) -> Result<(usize, usize), Untestable> {
    let mut found: Option<(usize, usize)> = None;
    for (x, base) in e.series("1")? {
        let longest = (2..=LONGEST).take_while(|length| {
            e.at(&length.to_string(), x)
                .is_ok_and(|value| value.lo < base.hi * STEP)
        });
        let held = longest.last().unwrap_or(1);
        let better = found.is_none_or(|(_, ways)| held < ways);
        if held < LONGEST && better {
            found = Some((x as usize, held));
        }
    }
    found.ok_or_else(|| {
        Untestable(format!(
            "no list of up to {LONGEST} lines left L1d at any distance measured"
        ))
    })
}
