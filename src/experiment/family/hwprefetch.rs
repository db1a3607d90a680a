//! Drepper 6.3.1, hardware prefetching: what sets it off, what it follows and where it stops, by
//! timing alone.

use super::word::paired;
use crate::experiment::evidence::{ratio, share_of_miss};
use crate::experiment::setup::WalkSetup;
use crate::experiment::{
    Axis, Case, Claim, Curve, Evidence, Experiment, Judgement, Machine, Plot, Range, Shape, Unit,
    Untestable, Verdict, all_of, at_least, at_most, between, plain_curves,
};
use crate::mem::{LINE, PAGE};
use crate::pattern::{Layout, Order, Path};
use crate::stats::Interval;

/// The rows of this family.
pub(super) static ALL: &[Experiment] = &[TRIGGER, STRIDES, STREAMS, PAGES, BACKWARD, NON_LINEAR];

const RANDOM: &str = "random";
const LINE_ELEMENT: Layout = Layout::npad(7);

/// A walk of all lines of a working set in memory.
fn lines(machine: &Machine, order: Order) -> WalkSetup {
    WalkSetup::follow(LINE_ELEMENT, machine.in_memory(), order)
}

/// Runs of `elements` lines; a run of one is a random walk.
fn runs(machine: &Machine, elements: usize, path: Path) -> WalkSetup {
    let seed = machine.seed;
    let order = match elements {
        1 => Order::Random { seed },
        _ => Order::Runs {
            elements,
            path,
            seed,
        },
    };
    lines(machine, order)
}

/// Where every claim of this family is to be judged: in memory.
///
/// # Errors
/// If no more may be allocated than fits the caches.
fn in_memory(e: &Evidence<'_>) -> Result<(), Untestable> {
    e.machine.place_in_memory(e.machine.in_memory()).map(|_| ())
}

const fn plot(x: Axis) -> Option<Plot> {
    Some(Plot {
        shape: Shape::Lines,
        x,
        y: Axis::log("time a line"),
        unit: Unit::CoreCycles,
        reference: &[],
    })
}

const RUNS: &str = "runs at random places";

const TRIGGER: Experiment = Experiment {
    id: "E28",
    name: "hw-prefetch-trigger",
    title: "How many misses set the prefetcher off",
    question: "Which line of a run that starts anywhere is the first to come early?",
    source: "Drepper 6.3.1: two misses or more",
    today: "Intel's streamer wants two misses in a page or more, but its spatial prefetcher brings \
            the other line of an aligned pair of 128 bytes after one, which is half of the second \
            lines here. AMD's region prefetcher learns which lines an instruction tends to touch \
            around a miss, and brings them after one miss, in whatever order they come.",
    plot: plot(Axis::linear("lines of a run")),
    cases: |machine| {
        run_lengths(machine)
            .iter()
            .map(|&length| {
                let setup = runs(machine, length, Path::Forward);
                Case::new(RUNS, length as f64, setup)
            })
            .collect()
    },
    curves: |e| {
        vec![Curve {
            label: "the last lines of a run".to_owned(),
            points: added_lines(e).unwrap_or_default(),
        }]
    },
    events: &[],
    claims: &[Claim {
        text: "the second line after a jump is no prefetched one: two misses or more set the \
               prefetcher off, so it costs at least half of the first",
        judge: |e| {
            in_memory(e)?;
            let lines = added_lines(e)?;
            let cost = |length: f64| {
                let found = lines.iter().find(|line| line.0 == length);
                found.map(|line| line.1).ok_or_else(|| {
                    Untestable(format!("runs of {length:.0} lines were not measured"))
                })
            };
            let first = cost(1.0)?;
            let judged = at_least(
                "second line over the first",
                share_of_miss(cost(2.0)?, first)?,
                0.5,
            );
            let misses = lines
                .iter()
                .take_while(|line| line.1.middle() >= first.middle() / 2.0)
                .last();
            Ok(Judgement {
                numbers: format!(
                    "{}; the first {} cost half a miss or more each",
                    judged.numbers,
                    misses.map_or(1.0, |line| line.0)
                ),
                ..judged
            })
        },
    }],
};

fn run_lengths(machine: &Machine) -> &'static [usize] {
    if machine.full {
        &[1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 32]
    } else {
        &[1, 2, 3, 4, 8]
    }
}

/// What a line costs by which a run is longer than the next shorter one, in core cycles.
fn added_lines(e: &Evidence<'_>) -> Result<Vec<(f64, Interval)>, Untestable> {
    e.series(RUNS)?;
    let mut shorter = (0.0, Interval::exact(0.0));
    let mut lines = Vec::new();
    for &length in run_lengths(e.machine) {
        let length = length as f64;
        let whole = e.at(RUNS, length)?.scaled(length);
        lines.push((length, per(minus(whole, shorter.1), length - shorter.0)));
        shorter = (length, whole);
    }
    Ok(lines)
}

/// The difference of two intervals.
fn minus(of: Interval, less: Interval) -> Interval {
    Interval::new(of.lo - less.hi, of.hi - less.lo)
}

fn per(whole: Interval, parts: f64) -> Interval {
    Interval::new(whole.lo / parts, whole.hi / parts)
}

const STRIDED: &str = "strided";
const STRIDED_HUGE: &str = "strided, 2 MiB pages";
const RANDOM_HUGE: &str = "random, 2 MiB pages";

const STRIDES: Experiment = Experiment {
    id: "E29",
    name: "hw-prefetch-strides",
    title: "Strides that the prefetcher follows",
    question: "Up to which distance do equal steps cost less than random ones?",
    source: "Drepper 6.3.1: strides inside a window of 512 bytes, and none across a page",
    today: "A prefetcher that tells strides by the instruction that loads follows them up to 2 KiB \
            on Intel, inside a page. AMD's works on virtual addresses and may follow a \
            stride of a page and more, which makes it translate addresses ahead, too.",
    plot: plot(Axis {
        label: "stride",
        log: true,
        bytes: true,
    }),
    cases: |machine| {
        let strides: &[usize] = if machine.full {
            &[1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256]
        } else {
            &[1, 4, 16, 32, 64, 128]
        };
        let seed = machine.seed;
        let random = lines(machine, Order::Random { seed });
        let mut cases = Vec::new();
        for &stride in strides {
            let order = match stride {
                1 => Order::Sequential,
                elements => Order::Strided { elements },
            };
            let x = (stride * LINE) as f64;
            let setup = lines(machine, order);
            cases.push(Case::new(STRIDED, x, setup));
            if machine.full || stride == 1 || stride * LINE == PAGE {
                cases.push(Case::new(STRIDED_HUGE, x, setup).in_huge_pages());
            }
        }
        cases.push(Case::new(RANDOM, LINE as f64, random));
        cases.push(Case::new(RANDOM_HUGE, LINE as f64, random).in_huge_pages());
        cases
    },
    curves: plain_curves,
    events: &[],
    claims: &[
        Claim {
            text: "line after line costs less than half of a random step",
            judge: |e| {
                let share = strided_over_random(e, STRIDED, RANDOM, LINE)?;
                Ok(at_most("stride 64 over random", share, 0.5))
            },
        },
        Claim {
            text: "a stride of a page or two is not followed: 0.7 to 1.3 of a random step",
            judge: |e| {
                let part = |stride| {
                    let share = strided_over_random(e, STRIDED, RANDOM, stride)?;
                    let what = format!("stride {stride} over random");
                    Ok(between(&what, share, 0.7, 1.3))
                };
                Ok(all_of([part(PAGE)?, part(2 * PAGE)?]))
            },
        },
        Claim {
            text: "nor is it in pages of 2 MiB, where a step of 4 KiB stays inside: 0.7 to 1.3 of \
                   a random one",
            judge: |e| {
                let share = strided_over_random(e, STRIDED_HUGE, RANDOM_HUGE, PAGE)?;
                Ok(between("stride 4096 over random", share, 0.7, 1.3))
            },
        },
    ],
};

fn strided_over_random(
    e: &Evidence<'_>,
    strided: &str,
    random: &str,
    stride: usize,
) -> Result<Interval, Untestable> {
    in_memory(e)?;
    e.series(strided)?;
    e.series(random)?;
    ratio(e.at(strided, stride as f64)?, e.at(random, LINE as f64)?)
}

const INTERLEAVED: &str = "streams walked in turn";

const STREAMS: Experiment = Experiment {
    id: "E30",
    name: "hw-prefetch-streams",
    title: "Streams that the prefetcher follows at a time",
    question: "How many sequential walks can be interleaved before they cost more?",
    source: "Drepper 6.3.1: 8 to 16 streams",
    today: "Intel's streamer keeps 32 streams since Sandy Bridge, one forward or backward in a \
            page (Optimization Reference Manual, Sandy Bridge, data prefetching); AMD publishes no \
            number. A few streams can cost more than one or sixteen: the more there are, the more \
            time passes between two steps of one, and the further ahead its prefetches come.",
    plot: plot(Axis::log("streams")),
    cases: |machine| {
        let streams: &[usize] = if machine.full {
            &[1, 2, 4, 6, 8, 12, 16, 20, 24, 32, 40, 48, 64, 96, 128]
        } else {
            &[1, 4, 8, 16, 32, 64, 128]
        };
        let mut cases = Vec::new();
        for &streams in streams {
            let mut setup = lines(machine, Order::Streams { streams });
            setup.count = streams * staggered(setup.count / streams);
            cases.push(Case::new(INTERLEAVED, streams as f64, setup));
        }
        cases
    },
    curves: plain_curves,
    events: &[],
    claims: &[Claim {
        text: "8 to 64 streams are followed at a time",
        judge: |e| {
            in_memory(e)?;
            knee(&e.series(INTERLEAVED)?)
        },
    }],
};

/// Lines of a stream, about `lines`: so many that streams beside each other start an odd number of
/// lines apart, and share no set of a cache of up to 2048 sets, nor leave their pages together.
fn staggered(lines: usize) -> usize {
    const SETS: usize = 2048;
    const ODD: usize = 33;
    (lines / SETS * SETS + ODD).min(lines.max(1))
}

/// Judges that the streams of which there can be most, before a line costs more for good than the
/// geometric mean of the least and the most that it costs anywhere, are 8 to 64.
fn knee(points: &[(f64, Interval)]) -> Result<Judgement, Untestable> {
    let costs = || points.iter().map(|point| point.1);
    let ([(first, _), .., (last, _)], Some(least), Some(most)) = (
        points,
        costs().reduce(Interval::least),
        costs().reduce(Interval::most),
    ) else {
        return Err(Untestable(
            "it takes two numbers of streams to find a knee between".to_owned(),
        ));
    };
    let rise = at_least(
        "the dearest number over the cheapest",
        ratio(most, least)?,
        2.0,
    );
    if rise.verdict != Verdict::Holds {
        return Ok(rise);
    }
    let mean = Interval::new((least.lo * most.lo).sqrt(), (least.hi * most.hi).sqrt());
    let below = points.iter().rfind(|point| point.1.hi < mean.lo);
    let not_above = points.iter().rposition(|point| point.1.lo <= mean.hi);
    let lo = below.map_or(*first, |point| point.0);
    let hi = not_above.map_or(*first, |index| {
        points.get(index + 1).map_or(*last, |point| point.0)
    });
    let judged = between("streams at the knee", Interval::new(lo, hi), 8.0, 64.0);
    Ok(Judgement {
        numbers: format!(
            "{}; {least} core cycles a line at the least, {most} at the most",
            judged.numbers
        ),
        ..judged
    })
}

const HALVES: &str = "runs of 16 lines";
const INSIDE: &str = "runs of 32 lines";
const ACROSS: &str = "runs of 32 lines, half of them across pages";
const LONG: usize = 32;

const PAGES: Experiment = Experiment {
    id: "E31",
    name: "hw-prefetch-page-boundary",
    title: "The first line of the next page",
    question: "Does the prefetcher go on into the next page?",
    source: "Drepper 6.3.1: prefetching cannot cross page boundaries",
    today: "Addresses are physical where the streamers work, and the next page can lie anywhere; \
            fetching it ahead may also fault. Ivy Bridge and later prefetch the translation of \
            the next page, and some CPUs its first lines: then the first line is not much dearer \
            than the others.",
    plot: plot(Axis::linear("lines of a run")),
    cases: |machine| {
        let run = |length| runs(machine, length, Path::Forward);
        let inside = run(LONG);
        // A quarter of a page on, every other run goes over the end of one.
        let mut across = inside;
        across.layout = across.layout.skewed(PAGE / 4);
        let (half, long) = (LONG as f64 / 2.0, LONG as f64);
        vec![
            Case::new(HALVES, half, run(LONG / 2)),
            Case::new(INSIDE, long, inside).in_turn(),
            Case::new(ACROSS, long, across).in_turn(),
        ]
    },
    curves: plain_curves,
    events: &[],
    claims: &[Claim {
        text: "in the middle of a run the first line of a page costs more than three times a \
               line of the second half of a run inside a page",
        judge: |e| {
            in_memory(e)?;
            let length = LONG as f64;
            let half = e.at(HALVES, length / 2.0)?.scaled(length / 2.0);
            let whole = e.at(INSIDE, length)?.scaled(length);
            let line = per(minus(whole, half), length / 2.0);
            let here = Range {
                lo: length,
                hi: length,
            };
            let dearer = paired(e, ACROSS, INSIDE, here)?;
            // Of two runs one crosses.
            let crossing = |ratio: f64| 2.0 * (ratio - 1.0) * whole.middle();
            let first = Interval::new(crossing(dearer.lo) + line.lo, crossing(dearer.hi) + line.hi);
            let judged = at_least(
                "first line over the others",
                share_of_miss(first, line)?,
                3.0,
            );
            Ok(Judgement {
                numbers: format!("{}; {first} against {line} core cycles", judged.numbers),
                ..judged
            })
        },
    }],
};

const FORWARDS: &str = "forwards";
const BACKWARDS: &str = "backwards";

const BACKWARD: Experiment = Experiment {
    id: "E32",
    name: "hw-prefetch-backward",
    title: "Towards lower addresses",
    question: "Does the prefetcher follow a walk that goes backwards?",
    source: "Drepper 6.3.1: it recognises strides in either direction",
    today: "Both streamers and stride prefetchers go either way; Intel's next-line prefetcher of \
            L1d goes forwards only.",
    plot: Plot::over_working_set(&[]),
    cases: |machine| {
        let seed = machine.seed;
        let sizes = if machine.full {
            machine.working_sets()
        } else {
            vec![machine.in_memory()]
        };
        let orders = [
            (FORWARDS, Order::Sequential),
            (BACKWARDS, Order::Backward),
            (RANDOM, Order::Random { seed }),
        ];
        let mut cases = Vec::new();
        for bytes in sizes {
            for (series, order) in orders {
                let setup = WalkSetup::follow(LINE_ELEMENT, bytes, order);
                cases.push(Case::new(series, bytes as f64, setup));
            }
        }
        cases
    },
    curves: plain_curves,
    events: &[],
    claims: &[Claim {
        text: "in memory a step backwards costs less than half of a random one",
        judge: |e| {
            let memory = e.machine.ranges.memory;
            let level = |label| e.level(label, memory);
            let share = ratio(level(BACKWARDS)?, level(RANDOM)?)?;
            let over = ratio(level(BACKWARDS)?, level(FORWARDS)?)?;
            let judged = at_most("backwards over random", share, 0.5);
            Ok(Judgement {
                numbers: format!("{}; backwards over forwards {over}", judged.numbers),
                ..judged
            })
        },
    }],
};

const TRIANGULAR: &str = "triangular";
const PAGE_LINES: usize = PAGE / LINE;

const NON_LINEAR: Experiment = Experiment {
    id: "E33",
    name: "hw-prefetch-non-linear",
    title: "Patterns that are not linear",
    question: "Does the prefetcher recognise steps of 1, 2, 3 and so on lines inside a page?",
    source: "Drepper 6.3.1: non-linear patterns are not recognised",
    today: "All three walks visit every line of a page before they leave for another page. A \
            prefetcher that brings what lies around a miss helps with any order of them, so that \
            even a random one comes out below a random walk of all memory; one that learns \
            repeated differences of addresses inside a page may learn the triangular one, too.",
    plot: plot(Axis::log("lines of a run")),
    cases: |machine| {
        let lengths: &[usize] = if machine.full {
            &[8, 16, 32, PAGE_LINES]
        } else {
            &[PAGE_LINES]
        };
        let paths = [
            (FORWARDS, Path::Forward),
            (TRIANGULAR, Path::Triangular),
            (RANDOM, Path::Random),
        ];
        let mut cases = Vec::new();
        for &length in lengths {
            for (series, path) in paths {
                let setup = runs(machine, length, path);
                cases.push(Case::new(series, length as f64, setup));
            }
        }
        cases
    },
    curves: plain_curves,
    events: &[],
    claims: &[
        Claim {
            text: "inside a page triangular steps cost at least 0.8 of random ones: they are not \
                   recognised",
            judge: |e| {
                let share = in_a_page(e, TRIANGULAR, RANDOM)?;
                Ok(at_least("triangular over random", share, 0.8))
            },
        },
        Claim {
            text: "inside a page random steps cost more than twice those from line to line",
            judge: |e| {
                let share = in_a_page(e, RANDOM, FORWARDS)?;
                Ok(at_least("random over forwards", share, 2.0))
            },
        },
    ],
};

fn in_a_page(e: &Evidence<'_>, of: &str, to: &str) -> Result<Interval, Untestable> {
    in_memory(e)?;
    e.series(of)?;
    e.series(to)?;
    let x = PAGE_LINES as f64;
    ratio(e.at(of, x)?, e.at(to, x)?)
}
