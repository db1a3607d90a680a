//! Streams.

use crate::experiment::prelude::*;
use crate::experiment::topics::prefetch::hwprefetch::{in_memory, lines, plot};
use crate::pattern::Order;
use crate::stats::Interval;

const INTERLEAVED: &str = "streams walked in turn";

pub(crate) const STREAMS: Experiment = Experiment {
    id: "E30",
    name: "hw-prefetch-streams",
    title: "Streams that the prefetcher follows at the same time",
    question: "How many sequential walks can be interleaved before a line costs more?",
    source: "Drepper 6.3.1: prefetchers follow 8 to 16 streams",
    seen: &[],
    about: "Memory is divided into equal parts, and one walk visits a line of each part in turn. \
            The axis is the number of parts (streams). While the prefetcher follows all streams, \
            a line costs little; with more streams than it can track, the cost rises. A few \
            streams can cost more than one or sixteen: with more streams, more time passes \
            between two steps of the same stream, and its prefetches arrive earlier. The Pentium \
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
    curves: plain_curves,
    events: events::WALK,
    claims: &[
        // CPUs today can keep track of eight to sixteen separate streams for the higher level
        // caches.
        measured(
            "E30.1",
            drepper("6.3.1"),
            "the prefetcher follows 8 to 16 streams walked in turn before the cost per line rises",
            |e| {
                in_memory(e)?;
                knee(&e.series(INTERLEAVED)?)
            },
        )
        .then_between(8.0, 16.0, "CPUs of 2007"),
    ],
};

/// Lines per stream, about `lines`. Neighbouring streams then start an odd number of lines apart:
/// they share no set of a cache of up to 2048 sets and do not leave their pages together.
fn staggered(lines: usize) -> usize {
    const SETS: usize = 2048;
    const ODD: usize = 33;
    (lines / SETS * SETS + ODD).min(lines.max(1))
}

/// Judges that the knee lies at 8 to 16 streams. The knee is the largest number of streams before
/// the cost of a line stays above the geometric mean of its least and greatest cost.
fn knee(points: &[(f64, Interval)]) -> Judged {
    let costs = || points.iter().map(|point| point.1);
    let ([(first, _), .., (last, _)], Some(least), Some(most)) = (
        points,
        costs().reduce(Interval::least),
        costs().reduce(Interval::most),
    ) else {
        return Err(Untestable(
            "a knee needs at least two measured numbers of streams".to_owned(),
        ));
    };
    let rise = at_least(
        "the dearest number over the cheapest",
        ratio(most, least),
        2.0,
    )?;
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
    let judged = between("streams at the knee", Interval::new(lo, hi), 8.0, 16.0);
    noted(
        judged,
        format!("{least} core cycles per line at least, {most} at most"),
    )
}
