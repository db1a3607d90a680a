//! Which patterns the hardware prefetcher follows: runs, strides, and several streams.

use crate::experiment::claim::verdict::untestable;
use crate::experiment::prelude::*;
use crate::experiment::topics::prefetch::hwprefetch::{
    RANDOM, if_prefetched, lines, over, per, plot, runs,
};
use crate::pattern::{Order, Path};

const RUNS: &str = "runs at random places";

pub(crate) const TRIGGER: Experiment = Experiment {
    id: "E28",
    name: "hw-prefetch-trigger",
    title: "How many misses trigger the prefetcher",
    question: "In a run of lines at a random place, which line is the first to arrive early?",
    source: "Drepper 6.3.1: two or more misses trigger prefetching",
    about: "A list consists of runs of neighbouring lines at random places. The axis is the \
            length of the runs. Each point shows the cost per line that a run gains over the next \
            shorter run, so a drop shows the first line that a prefetcher brings early. Intel's \
            streamer waits for at least two misses in a page. Intel's spatial prefetcher brings \
            the other line of an aligned 128-byte pair after one miss; in runs of two, the second \
            line is always such a line. AMD's region prefetcher learns which lines an instruction \
            tends to touch around a miss, and fetches them after one miss in any order. The \
            document speaks of a prefetcher that waits for a pattern of misses, so a second line \
            that comes early as a part of the pair does not decide the claim: the next pair does.",
    plot: plot(Axis::linear("lines of a run")),
    cases: |machine| {
        let of_length =
            |&length| Case::new(RUNS, length as f64, runs(machine, length, Path::Forward));
        run_lengths(machine).iter().map(of_length).collect()
    },
    curves: |e| {
        let points = added_lines(e).unwrap_or_default();
        vec![Curve { label: "the last lines of a run".to_owned(), points }]
    },
    events: events::WALK,
    claims: &[
        // Prefetching starts after two misses or more; otherwise every random access would trigger
        // it.
        measured(
            "E28.1",
            drepper("6.3.1"),
            "a single miss at a random place does not trigger the prefetcher: the second line of a \
             run costs at least half as much as the first, or, where a miss brings its whole pair \
             of lines, the next pair costs at least half as much as the first",
            |e| {
                e.machine.memory_size()?;
                let lines = added_lines(e)?;
                let cost = |length: f64| {
                    let found = lines.iter().find(|line| line.0 == length);
                    found.map(|line| line.1).ok_or_else(|| {
                        Untestable(format!("runs of {length:.0} lines were not measured"))
                    })
                };
                let first = cost(1.0)?;
                let alone = lines.iter().map(|line| line.1).reduce(Interval::least);
                let next = alone.map_or(Ok(first), |least| signed_ratio(least, first));
                let judged = if_prefetched(e, next, || early(e, cost(2.0)?, first));
                let misses =
                    lines.iter().take_while(|line| line.1.middle() >= first.middle() / 2.0).last();
                let misses = misses.map_or(1.0, |line| line.0);
                noted(
                    judged,
                    format!("lines from the first that cost half a miss or more each: {misses}"),
                )
            },
        )
        .failing("On this CPU one miss is enough to fetch lines beyond its pair."),
    ],
    ..Experiment::PLAIN
};

/// Judges that a miss brings no line early, or only the other half of its pair. Bringing the pair is the
/// work of another prefetcher, which waits for no pattern. Runs of two and of four lines begin with a pair.
fn early(e: &Evidence<'_>, second: Interval, first: Interval) -> Judged {
    const HALF: f64 = 0.5;
    let second = at_least("second line over the first", signed_ratio(second, first), HALF)?;
    if second.verdict == Verdict::Holds {
        return Ok(second);
    }
    let pair = e.at(RUNS, 2.0)?.scaled(2.0);
    let next_pair = minus(e.at(RUNS, 4.0)?.scaled(4.0), &pair);
    let what = "second pair of lines over the first pair";
    let share = signed_ratio(next_pair, pair)?.most(NOTHING);
    let beyond = at_least(what, share, HALF)?;
    match (second.verdict, beyond.verdict) {
        (Verdict::Inconclusive, Verdict::DoesNotHold) => noted(Ok(second), beyond.numbers),
        _ => noted(Ok(beyond), second.numbers),
    }
}

fn run_lengths(machine: &Machine) -> &'static [usize] {
    if machine.full { &[1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 32] } else { &[1, 2, 3, 4, 8] }
}

/// What lines cost at least.
const NOTHING: Interval = Interval::exact(0.0);

/// Returns the cost per line that each run adds to the next shorter run, in core cycles.
fn added_lines(e: &Evidence<'_>) -> Testable<Vec<(f64, Interval)>> {
    e.series(RUNS)?;
    let mut shorter = (0.0, Interval::exact(0.0));
    let mut lines = Vec::new();
    for &length in run_lengths(e.machine) {
        let length = length as f64;
        let whole = e.at(RUNS, length)?.scaled(length);
        let added = per(*minus(&whole, shorter.1), length - shorter.0);
        lines.push((length, added.most(NOTHING)));
        shorter = (length, *whole);
    }
    Ok(lines)
}

const STRIDED: &str = "strided";
const STRIDED_HUGE: &str = "strided, 2 MiB pages";
const RANDOM_HUGE: &str = "random, 2 MiB pages";

pub(crate) const STRIDES: Experiment = Experiment {
    id: "E29",
    name: "hw-prefetch-strides",
    title: "Strides that the prefetcher follows",
    question: "Up to which stride do equal steps cost less than random steps?",
    source: "Drepper 6.3.1: strides are recognised within a window of 512 bytes, and never across \
             a page boundary",
    about: "A walk visits every line of a large list by equal steps. The axis is the size of a \
            step; the points at 64 bytes also show a random walk. A stride that the prefetcher \
            follows costs much less than a random step. Intel's stride prefetcher, which learns a \
            stride per load instruction, follows strides of up to 2 KiB inside a page. AMD's \
            works on virtual addresses and may follow strides of a page and more; it then also \
            translates addresses ahead. The walks in 2 MiB pages separate the effect of the page \
            boundary from the effect of the stride.",
    plot: plot(Axis::bytes("stride")),
    cases: |machine| {
        let strides: &[usize] = if machine.full {
            &[1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256]
        } else {
            &[1, 4, 16, 32, 64, 128]
        };
        let random = lines(machine, Order::Random { seed: machine.seed });
        let mut cases = Vec::new();
        for &stride in strides {
            let order = match stride {
                1 => Order::Sequential,
                elements => Order::Strided { elements },
            };
            let x = (stride * LINE) as f64;
            let setup = lines(machine, order);
            cases.push(Case::new(STRIDED, x, setup).in_its_own_pages());
            if machine.full || stride == 1 || stride * LINE == PAGE {
                cases.push(Case::new(STRIDED_HUGE, x, setup).in_huge_pages());
            }
        }
        cases.push(Case::new(RANDOM, LINE as f64, random).in_its_own_pages());
        cases.push(Case::new(RANDOM_HUGE, LINE as f64, random).in_huge_pages());
        cases
    },
    events: events::WALK,
    claims: &[
        // A sequence of misses to succeeding lines triggers the prefetcher.
        measured(
            "E29.1",
            drepper("6.3.1"),
            "in memory, a step to the next line costs less than half of a random step",
            |e| at_most("stride 64 over random", strided_over_random(e, LINE), 0.5),
        ),
        // Prefetching's big weakness is that it cannot cross page boundaries.
        measured(
            "E29.2",
            drepper("6.3.1"),
            "in memory, steps of one page and of two pages cost 0.7 to 1.3 times as much as a \
             random step: the prefetcher does not follow strides across pages",
            |e| {
                let part = |stride| {
                    let share = strided_over_random(e, stride)?;
                    between(&format!("stride {stride} over random"), share, 0.7, 1.3)
                };
                let next = strided_over_random(e, LINE);
                if_prefetched(e, next, || all_of([part(PAGE), part(2 * PAGE)]))
            },
        )
        .failing(
            "A prefetcher of this core works on virtual addresses, or neighbouring pages also lie \
             side by side in physical memory, or lines that lie a page apart get in each other's \
             way in caches and memory.",
        ),
        measured(
            "E29.3",
            ours(
                "a step of 4 KiB stays inside a page of 2 MiB: does the page or the size of the \
                 stride set the limit?",
            ),
            "in pages of 2 MiB, a step of 4 KiB costs 0.7 to 1.3 times as much as a random step",
            |e| {
                let share = over(e, (STRIDED_HUGE, PAGE as f64), (RANDOM_HUGE, LINE as f64))?;
                between("stride 4096 over random", share, 0.7, 1.3)
            },
        )
        .failing(
            "A prefetcher follows this stride, or lines that lie 4 KiB apart get in each other's \
             way in caches and memory.",
        ),
        // Strides are recognised as well: skipping a fixed number of lines counts as a pattern,
        // within a window that is often 512 bytes.
        measured(
            "E29.4",
            drepper("6.3.1"),
            "in memory, strides of more than a line and up to 512 bytes cost less than half of a \
             random step",
            |e| {
                all_of(strides(e, LINE + 1..=WINDOW)?.into_iter().map(|stride| {
                    let share = strided_over_random(e, stride);
                    at_most(&format!("stride {stride} over random"), share, 0.5)
                }))
            },
        ),
        // Going beyond the window of 512 bytes probably makes little sense.
        measured(
            "E29.5",
            drepper("6.3.1"),
            "in memory, strides of more than 512 bytes and less than a page cost at least half of \
             a random step",
            |e| {
                let part = |stride| {
                    let share = strided_over_random(e, stride);
                    at_least(&format!("stride {stride} over random"), share, 0.5)
                };
                let wide = strides(e, WINDOW + 1..=PAGE - 1)?;
                let next = strided_over_random(e, LINE);
                if_prefetched(e, next, || all_of(wide.into_iter().map(part)))
            },
        )
        .failing("This core follows strides in a wider window."),
    ],
    ..Experiment::PLAIN
};

/// The document's window for strides, in bytes.
const WINDOW: usize = 512;

/// Returns the measured strides within the bounds.
fn strides(e: &Evidence<'_>, within: core::ops::RangeInclusive<usize>) -> Testable<Vec<usize>> {
    let strides = e.series(STRIDED)?.into_iter().map(|(x, _)| x as usize);
    Ok(strides.filter(|stride| within.contains(stride)).collect())
}

fn strided_over_random(e: &Evidence<'_>, stride: usize) -> Testable<Interval> {
    over(e, (STRIDED, stride as f64), (RANDOM, LINE as f64))
}

const INTERLEAVED: &str = "streams walked in turn";

pub(crate) const STREAMS: Experiment = Experiment {
    id: "E30",
    name: "hw-prefetch-streams",
    title: "Streams that the prefetcher follows at the same time",
    question: "How many sequential walks can be interleaved before a line costs more?",
    source: "Drepper 6.3.1: prefetchers follow 8 to 16 streams",
    about: "Memory is divided into equal parts, and one walk visits a line of each part in turn. \
            The axis is the number of parts (streams). While the prefetcher follows all streams, \
            a line costs little; with more streams than it can track, the cost rises. The parts \
            start an odd number of lines apart, so that the streams do not meet in one set of a \
            cache, and do not leave their pages at the same time. The Pentium \
            4 followed 8 streams, the Pentium M 12 forwards and 4 backwards (IA-32 Optimization \
            Reference Manual, 2006). Intel's streamer follows 32 since Sandy Bridge, one forward \
            or backward stream per page (the same manual, Sandy Bridge, data prefetching). AMD \
            publishes no number.",
    plot: plot(Axis::log("streams")),
    cases: |machine| {
        let streams: &[usize] = if machine.full {
            &[1, 2, 4, 6, 8, 12, 16, 20, 24, 32, 40, 48, 64, 96, 128]
        } else {
            &[1, 4, 8, 12, 16, 20, 24, 32, 64, 128]
        };
        let mut cases = Vec::new();
        for &streams in streams {
            let mut setup = lines(machine, Order::Streams { streams });
            setup.count = streams * staggered(setup.count / streams);
            cases.push(Case::new(INTERLEAVED, streams as f64, setup));
        }
        cases
    },
    events: events::WALK,
    claims: &[
        // CPUs today can keep track of eight to sixteen separate streams for the higher level
        // caches.
        measured(
            "E30.1",
            drepper("6.3.1"),
            "the prefetcher follows 8 to 16 streams walked in turn before the cost per line rises",
            |e| {
                e.machine.memory_size()?;
                knee(&e.series(INTERLEAVED)?)
            },
        )
        .then_between(8.0, 16.0, "CPUs of 2007")
        .failing(
            "The prefetchers of this core follow another number of streams than those of 2007.",
        ),
    ],
    ..Experiment::PLAIN
};

/// Returns the lines per stream, about `lines`. Neighbouring streams then start an odd number of
/// lines apart: they share no set of a cache of up to 2048 sets and do not leave their pages
/// together.
fn staggered(lines: usize) -> usize {
    const SETS: usize = 2048;
    const ODD: usize = 33;
    (lines.saturating_sub(ODD) / SETS * SETS + ODD).min(lines.max(1))
}

/// Judges that the knee lies at 8 to 16 streams. The knee is the largest number of streams before
/// the cost of a line stays above the geometric mean of its least cost and of that with the most streams.
/// A cost that only falls, or rises in between, has no knee.
fn knee(points: &[(f64, Interval)]) -> Judged {
    let least = points.iter().map(|point| point.1).reduce(Interval::least);
    let ([(first, _), .., (last, most)], Some(least)) = (points, least) else {
        return Err(Untestable("a knee needs at least two measured numbers of streams".to_owned()));
    };
    let rise =
        at_least("the largest number of streams over the cheapest", ratio(*most, least), 2.0)?;
    match rise.verdict {
        Verdict::Holds => {}
        Verdict::DoesNotHold => {
            return Ok(untestable(rise, "the cost rises by less than a factor of 2: no knee"));
        }
        // The number of a judgement is a number of streams, which this ratio is not.
        verdict => return Ok(Judgement::in_words(verdict, rise.numbers)),
    }
    let mean = Interval::new((least.lo * most.lo).sqrt(), (least.hi * most.hi).sqrt());
    let below = points.iter().rfind(|point| point.1.hi < mean.lo);
    let not_above = points.iter().rposition(|point| point.1.lo <= mean.hi);
    let lo = below.map_or(*first, |point| point.0);
    let hi = not_above.map_or(*first, |index| points.get(index + 1).map_or(*last, |point| point.0));
    let judged = between("streams at the knee", Interval::new(lo, hi), 8.0, 16.0);
    noted(judged, format!("{least} core cycles per line at least, {most} with the most streams"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_streams_start_an_odd_number_of_lines_apart() {
        for streams in [4, 16, 128] {
            let all = 1 << 21;
            let each = staggered(all / streams);
            assert_eq!(each % 2, 1, "{streams}");
            assert!(all - streams * each < streams * 2048, "{streams}");
        }
        assert_eq!([0, 1, 20].map(staggered), [1, 1, 20]);
    }
}
