//! Beyond Drepper's Figure 3.18: what a line's way from core to core takes.

use crate::experiment::prelude::*;
use crate::experiment::shared::remote::{Held, RemoteSetup, Want};
use crate::experiment::shared::roundtrip::RoundTripSetup;
use crate::kernel::RoundTripWay;
use crate::os::sysfs::Nearness;
use crate::stats::Interval;

/// The rows of this family.
pub(crate) static ALL: &[Experiment] = &[ROUND_TRIPS, QUAD_CORE, STATES, MATRIX];

const WAYS: [(&str, RoundTripWay); 2] = [
    ("loads and stores", RoundTripWay::Store),
    ("lock cmpxchg", RoundTripWay::CompareExchange),
];

/// The place of a nearness on the axis.
fn place(near: Nearness) -> f64 {
    let index = Nearness::ALL.iter().position(|other| *other == near);
    index.unwrap_or(Nearness::ALL.len()) as f64
}

/// What the measuring CPU shares with any other, the nearest first.
fn nearnesses(machine: &Machine) -> impl Iterator<Item = (Nearness, [usize; 2])> {
    let pair = |near: Nearness| machine.cpu_order.pair(near).ok().map(|cpus| (near, cpus));
    Nearness::ALL.into_iter().filter_map(pair)
}

/// The nearest pair on different cores.
///
/// # Errors
/// If there is one core.
fn nearest(e: &Evidence<'_>) -> Result<Nearness, Untestable> {
    let near = e.machine.cpu_order.nearest();
    near.ok_or_else(|| Untestable("it takes two cores, and there is one".to_owned()))
}

const ROUND_TRIPS: Experiment = Experiment {
    id: "X12",
    name: "line-round-trip",
    title: "A line to another core and back",
    question: "How long does a line take to another core and back, by what the two share?",
    source: "Beyond Drepper 3.3.4 and Figure 3.18: one word, handed back and forth",
    seen: &[seen(
        "Zen 4",
        "In a guest the same two CPUs took 52 ns, and 205 ns a few minutes before: the host \
             had moved one of them.",
    )],
    about: "Each thread waits until the word has its value and writes the next: a round trip is \
            two transfers of the line, each a read that finds it modified elsewhere and a \
            request for ownership. Waiting by `lock cmpxchg` saves the shared step in between, \
            and asks for the line all the time. The line lies on a new page that the first CPU \
            of the pair has touched first, so that its home is near that CPU. Hyper-threads of \
            one core share its L1d and move no line, but they pass each other by the store \
            buffer. Cores of one last-level cache meet there; others meet on the interconnect, \
            at several times the price. In a guest the host may move both to other cores at any \
            time.",
    plot: Some(Plot::bars(
        Axis::linear(
            "same core (0), same L2 (1), same last level (2), same package (3), other package (4)",
        ),
        Axis::linear("round trip"),
        Unit::Nanoseconds,
    )),
    events: &[],
    cases: |machine| {
        let mut cases = vec![own_hit(), own_miss()];
        for (near, cpus) in nearnesses(machine) {
            cases.extend(WAYS.map(|way| trip(way, near, cpus)));
        }
        cases
    },
    curves: |e| {
        let mut curves = plain_curves(e);
        curves.retain(|curve| WAYS.iter().any(|(name, _)| *name == curve.label));
        curves
    },
    claims: &[
        measured(
            "X12.1",
            ours("whether a line on its way between cores is far beyond what a hit costs"),
            "a round trip to the nearest core takes more than 10 times a hit in L1d",
            trip_over_hit,
        ),
        measured(
            "X12.2",
            ours("whether another core's cache is nearer than memory"),
            "a line's way to the nearest core and back takes less time than two loads from \
             memory",
            |e| {
                let trip = e.at(WAYS[0].0, place(nearest(e)?))?;
                let memory = e.at(OWN_MISS, 0.0)?.scaled(2.0);
                at_most("round trip over two misses", ratio(trip, memory), 1.0)
            },
        ),
        measured(
            "X12.3",
            ours("whether what CPUs share, as the system tells it, shows in their round trips"),
            "round trips are the longer the less two CPUs share",
            |e| {
                let near: Vec<Nearness> = nearnesses(e.machine).map(|(near, _)| near).collect();
                if near.len() < 2 {
                    return Err(Untestable(
                        "the CPUs here share all the same with each other".to_owned(),
                    ));
                }
                let mut parts = Vec::new();
                for pair in near.windows(2) {
                    let at = |near| e.at(WAYS[0].0, place(near));
                    let longer = ratio(at(pair[1]), at(pair[0]))?;
                    let what = format!("{} over {}", pair[1].name(), pair[0].name());
                    parts.push(at_least(&what, longer, 1.0));
                }
                all_of(parts)
            },
        ),
    ],
};

fn trip((name, way): (&str, RoundTripWay), near: Nearness, cpus: [usize; 2]) -> Case {
    let cpus = cpus.to_vec();
    Case::new(name, place(near), RoundTripSetup { way, cpus }).in_its_own_pages()
}

/// What D23 measures of this: a hit, and the way to the nearest core and back.
pub(crate) fn hit_and_trip(machine: &Machine) -> Vec<Case> {
    let mut cases = vec![own_hit()];
    let near = machine.cpu_order.nearest();
    if let Some((near, Ok(cpus))) = near.map(|near| (near, machine.cpu_order.pair(near))) {
        cases.push(trip(WAYS[0], near, cpus));
    }
    cases
}

/// Claims that a line's way to the nearest core and back takes more than ten times a hit in L1d.
pub(crate) fn trip_over_hit(e: &Evidence<'_>) -> Judged {
    let trip = e.at(WAYS[0].0, place(nearest(e)?))?;
    at_least("round trip over hit", ratio(trip, e.at(OWN_HIT, 0.0)), 10.0)
}

const OWN_HIT: &str = "a load that hits in L1d";
const OWN_MISS: &str = "a load from memory";

fn own_hit() -> Case {
    Case::new(OWN_HIT, 0.0, remote(Held::Own, Want::Read, Vec::new()))
}

fn own_miss() -> Case {
    Case::new(OWN_MISS, 0.0, remote(Held::Nowhere, Want::Read, Vec::new()))
}

pub(crate) fn remote(held: Held, want: Want, others: Vec<usize>) -> RemoteSetup {
    RemoteSetup {
        held,
        want,
        others,
        seed: 1,
    }
}

const QUAD_CORE: Experiment = Experiment {
    id: "D46",
    name: "drepper-quad-core",
    title: "Between the caches of one processor",
    question: "What does a line cost on its way from one last-level cache to another?",
    source: "Drepper, on the quad-core Core 2 behind Figure 3.31: its two L2 caches can talk to each \
             other by way of the front-side bus alone",
    seen: &[],
    about: "The paper has no number for it. Its two L2s are today's core complexes, dies or \
            clusters on a die with a last level each, and its bus is their fabric: a line that \
            goes from one to the other leaves the caches behind, as one from memory does, but \
            need not wait for memory. The round trips are those of X12. A machine, or a guest, \
            whose CPUs share one last level has no such way.",
    plot: Some(Plot::bars(
        Axis::linear(
            "same core (0), same L2 (1), same last level (2), same package (3), other package (4)",
        ),
        Axis::linear("round trip"),
        Unit::Nanoseconds,
    )),
    events: &[],
    cases: |machine| {
        let mut cases = vec![own_miss()];
        let pairs = nearnesses(machine).filter(|(near, _)| *near != Nearness::Core);
        for (near, cpus) in pairs {
            cases.push(trip(WAYS[0], near, cpus));
        }
        cases
    },
    curves: |e| {
        let mut curves = plain_curves(e);
        curves.retain(|curve| curve.label == WAYS[0].0);
        curves
    },
    claims: &[
        // The two cores of different L2s communicate by the bus that leads out of the package;
        // there is no fast way between them. Twice as long is our measure.
        measured(
            "D46.1",
            drepper("3.5.3, Figure 3.31"),
            "a round trip to a core of another last level takes more than twice as long as one to \
             a core of the same",
            |e| {
                let (near, far) = across(e)?;
                let at = |near| e.at(WAYS[0].0, place(near));
                let longer = ratio(at(far), at(near))?;
                at_least(&format!("{} over {}", far.name(), near.name()), longer, 2.0)
            },
        ),
        // There is no special exchange of data inside: a line takes the bus, as one from memory
        // does. 0.8 is our measure.
        measured(
            "D46.2",
            drepper("3.5.3, Figure 3.31"),
            "half a round trip to a core of another last level takes 0.8 times as long as a load \
             from memory, or longer: they take the same bus",
            |e| {
                let (_, far) = across(e)?;
                let way = e.at(WAYS[0].0, place(far))?.scaled(0.5);
                let longer = ratio(way, e.at(OWN_MISS, 0.0))?;
                at_least(
                    &format!("half a round trip, {}, over a miss", far.name()),
                    longer,
                    0.8,
                )
            },
        ),
    ],
};

/// The nearest cores that share a cache, and the nearest whose last levels are two.
fn across(e: &Evidence<'_>) -> Result<(Nearness, Nearness), Untestable> {
    let there = |near: &Nearness| e.machine.cpu_order.pair(*near).is_ok();
    let within = [Nearness::Level2, Nearness::LastLevel];
    let beyond = [Nearness::Package, Nearness::System];
    let far = beyond.into_iter().find(there).ok_or_else(|| {
        let one = "the CPUs here show one last-level cache, and it takes two";
        Untestable(one.to_owned())
    })?;
    let near = within.into_iter().find(there).ok_or_else(|| {
        let none = "no two cores here share a cache beside which to see it";
        Untestable(none.to_owned())
    })?;
    Ok((near, far))
}

const LOADS: &str = "load";
const ADDITIONS: &str = "locked addition";
const FENCED: &str = "locked addition, a fence behind it";

/// The places of the states on the axis.
const HELD: [Held; 5] = [
    Held::Own,
    Held::Exclusive,
    Held::Modified,
    Held::Shared,
    Held::Nowhere,
];

fn held_at(held: Held) -> f64 {
    let index = HELD.iter().position(|other| *other == held);
    index.unwrap_or(HELD.len()) as f64
}

/// Of so many readers, as far as there are CPUs, a line is taken away from.
const MOST_READERS: usize = 15;

const READERS: &str = "locked addition, a fence behind it, all others read the line";

const STATES: Experiment = Experiment {
    id: "X13",
    name: "line-states",
    title: "The first access to a line that another core holds",
    question: "What does a line's state in another cache cost the one who wants it?",
    source: "Drepper 3.3.4, Figure 3.18: the states of a line and who must be told",
    seen: &[
        seen(
            "Zen 5",
            "Locked additions overlap: to shared lines they took 15.8 ticks in sequence beside \
             14.2 to own ones, and with a fence behind each 111 beside 56.",
        ),
        seen(
            "Zen 4",
            "Locked additions to modified lines overlap if their addresses are known beforehand; \
             those to shared lines do not.",
        ),
    ],
    about: "A load finds the line where the directory or the snoop says; a modified line comes \
            from the core that modified it. A locked addition must own the line: from another \
            core it takes it away, and copies that others share must be invalidated first, \
            though the data are at hand. 64 lines are accessed one after the other, each by the \
            number that the one before it held; the other core has brought them into their state \
            before. Two costs are told apart. In sequence an addition may begin before the line \
            of the one before is owned: that is what a program sees. With a fence behind it, \
            nothing begins before: that is the latency of the transfer or of the upgrade, and of \
            the fence, which additions to own lines pay as well.",
    plot: Some(Plot::bars(
        Axis::linear(
            "modified here (0), exclusive there (1), modified there (2), shared (3), in memory (4)",
        ),
        Axis::linear("time of an access"),
        Unit::Nanoseconds,
    )),
    events: &[],
    cases: state_cases,
    curves: |e| {
        let mut curves = plain_curves(e);
        curves.retain(|curve| curve.label != READERS);
        curves
    },
    claims: &[
        measured(
            "X13.1",
            ours(
                "whether a modified line comes from its core more quickly than a clean one from \
                 memory",
            ),
            "a line that a near core has modified is loaded in less time than one from memory",
            |e| {
                nearest(e)?;
                let there = e.at(LOADS, held_at(Held::Modified))?;
                let memory = e.at(LOADS, held_at(Held::Nowhere))?;
                at_most("modified there over memory", ratio(there, memory), 1.0)
            },
        ),
        measured(
            "X13.2",
            ours("whether the reader pays for the write-back that Figure 3.18 shows"),
            "a line that a core has modified costs its reader as much as a clean one of the same \
             core, to a third",
            |e| {
                nearest(e)?;
                let at = |held| e.at(LOADS, held_at(held));
                let dearer = ratio(at(Held::Modified), at(Held::Exclusive));
                between("modified over exclusive", dearer, 0.75, 1.33)
            },
        ),
        measured(
            "X13.3",
            ours("what a program sees of upgrades: the throughput of locked additions"),
            "in sequence, without fences, locked additions to lines that another core has read \
             take more than 3 times as long as to lines of one's own",
            |e| {
                nearest(e)?;
                let at = |held| e.at(ADDITIONS, held_at(held));
                at_least(
                    "shared over own",
                    ratio(at(Held::Shared), at(Held::Own)),
                    3.0,
                )
            },
        )
        .holding("The core waits for each line before it begins the next addition.")
        .failing(
            "The core begins an addition before it owns the line of the one before: a sequence \
             shows its throughput, and not how long an upgrade takes.",
        ),
        measured(
            "X13.4",
            ours("whether copies are invalidated one after the other or all at once"),
            "behind a fence each, locked additions to lines that all other cores have read take \
             less than 1.5 times as long as to lines that one has read",
            readers,
        ),
        measured(
            "X13.5",
            ours("the latency of an upgrade, which a sequence without fences may hide"),
            "until a line that another core has read is owned, more than twice the time of a locked \
             addition to a line of one's own passes: a fence behind each shows it",
            |e| {
                nearest(e)?;
                let at = |series, held| e.at(series, held_at(held));
                let upgrade = upgrade(
                    at(FENCED, Held::Shared)?,
                    at(FENCED, Held::Own)?,
                    at(ADDITIONS, Held::Own)?,
                );
                at_least("upgrade over addition", upgrade, 2.0)
            },
        ),
        measured(
            "X13.6",
            ours("whether an upgrade, for which the data are at hand, takes as long as a transfer"),
            "until a line that another core has read is owned, 0.5 to 2 times as much time passes \
             as until one that it modified is",
            |e| {
                nearest(e)?;
                let at = |held| e.at(FENCED, held_at(held));
                let own = at(Held::Own)?;
                let [upgrade, transfer] =
                    [at(Held::Shared)?, at(Held::Modified)?].map(|there| longer(there, own));
                between("upgrade over transfer", ratio(upgrade, transfer), 0.5, 2.0)
            },
        ),
    ],
};

/// What `there` takes longer than `own`.
fn longer(there: Interval, own: Interval) -> Interval {
    Interval::new(there.lo - own.hi, there.hi - own.lo)
}

/// How many times the `addition` to a line of one's own passes until a shared line is owned: what
/// a fenced addition to it takes longer than one to an `own` line, for which the fence is paid as
/// well.
///
/// # Errors
/// If the addition took no time.
pub(crate) fn upgrade(
    shared: Interval,
    own: Interval,
    addition: Interval,
) -> Result<Interval, Untestable> {
    let longer = longer(shared, own);
    if addition.lo <= 0.0 {
        return Err(Untestable(format!("a locked addition took {addition}")));
    }
    // The end of the addition that makes the quotient least, or most, depends on the sign.
    let quotient = |end: f64, least: bool| {
        let by = if (end > 0.0) == least {
            addition.hi
        } else {
            addition.lo
        };
        end / by
    };
    Ok(Interval::new(
        quotient(longer.lo, true),
        quotient(longer.hi, false),
    ))
}

fn readers(e: &Evidence<'_>) -> Judged {
    let one = e.at(FENCED, held_at(Held::Shared))?;
    let (readers, all) = e.last(READERS)?;
    at_most(&format!("{readers} readers over one"), ratio(all, one), 1.5)
}

fn state_cases(machine: &Machine) -> Vec<Case> {
    let near = machine.cpu_order.nearest();
    let Some(Ok([_, other])) = near.map(|near| machine.cpu_order.pair(near)) else {
        return Vec::new();
    };
    let mut cases = Vec::new();
    for held in HELD {
        let others = match held {
            Held::Own | Held::Nowhere => Vec::new(),
            _ => vec![other],
        };
        let x = held_at(held);
        if held != Held::Shared {
            let setup = remote(held, Want::Read, others.clone());
            cases.push(Case::new(LOADS, x, setup));
        }
        for (series, want) in [(ADDITIONS, Want::Own), (FENCED, Want::OwnFenced)] {
            cases.push(Case::new(series, x, remote(held, want, others.clone())));
        }
    }
    // One thread a core, the measuring one's left out.
    let cores = machine
        .cpu_order
        .cores()
        .saturating_sub(1)
        .min(MOST_READERS);
    if cores > 1 {
        let others: Vec<usize> = machine.cpu_order.seats()[1..=cores]
            .iter()
            .map(|seat| seat.cpu)
            .collect();
        let setup = remote(Held::Shared, Want::OwnFenced, others);
        cases.push(Case::new(READERS, cores as f64, setup));
    }
    cases
}

/// The CPUs among which every pair is measured in a quick run.
const FEW: usize = 8;

/// The same in a full run: 2,016 pairs.
const MANY: usize = 64;

const MATRIX: Experiment = Experiment {
    id: "X14",
    name: "core-to-core",
    title: "The round trip between every two CPUs",
    question: "Which CPUs are near to each other?",
    source: "Beyond Drepper 3.3.4: X12 for every pair",
    seen: &[],
    about: "The blocks of the map are the caches that cores share: pairs within a block are \
            near, pairs across blocks far. Each pair has a line on a page of its own, which its \
            first CPU has touched first. What the kernel says about it can be wrong, above all \
            in a guest whose host has not told it; a pair that is much nearer than its block may \
            be two hyper-threads of one core.",
    plot: Some(Plot {
        shape: Shape::Heat { depth: "CPU" },
        x: Axis::linear("CPU"),
        y: Axis::linear("round trip"),
        unit: Unit::Nanoseconds,
        reference: &[],
    }),
    events: &[],
    cases: |machine| {
        let cpus = matrix_cpus(machine);
        let mut cases = Vec::new();
        for (index, &first) in cpus.iter().enumerate() {
            for &second in &cpus[index + 1..] {
                let setup = RoundTripSetup {
                    way: RoundTripWay::CompareExchange,
                    cpus: vec![first, second],
                };
                let case = Case::new(first.to_string(), second as f64, setup);
                cases.push(case.in_its_own_pages());
            }
        }
        cases
    },
    curves: plain_curves,
    claims: &[
        measured(
            "X14.1",
            ours("how uneven the ways between the cores of this system are"),
            "no round trip between two cores takes more than 3 times the shortest",
            |e| {
                let [shortest, longest] = extremes(e, |near| near != Nearness::Core)?;
                at_most("longest over shortest", ratio(longest, shortest), 3.0)
            },
        ),
        measured(
            "X14.2",
            ours("whether what the system tells about shared caches is so"),
            "pairs of CPUs that share the same are alike: no round trip takes more than 1.5 \
             times another",
            |e| {
                let near = nearest(e)?;
                let [shortest, longest] = extremes(e, |other| other == near)?;
                let what = format!("longest over shortest of pairs with the {}", near.name());
                at_most(&what, ratio(longest, shortest), 1.5)
            },
        ),
    ],
};

fn matrix_cpus(machine: &Machine) -> Vec<usize> {
    let most = if machine.full { MANY } else { FEW };
    let seats = machine.cpu_order.seats();
    let mut cpus: Vec<usize> = seats.iter().take(most).map(|seat| seat.cpu).collect();
    cpus.sort_unstable();
    cpus
}

/// The shortest and the longest round trip of the pairs that are `near` as asked, of which there
/// must be two.
fn extremes(
    e: &Evidence<'_>,
    near: impl Fn(Nearness) -> bool,
) -> Result<[Interval; 2], Untestable> {
    let seats = e.machine.cpu_order.seats();
    let seat = |cpu: f64| seats.iter().find(|seat| seat.cpu as f64 == cpu);
    let mut trips = Vec::new();
    for curve in e.curves() {
        let first = curve.label.parse().ok().and_then(seat);
        for (second, _) in &curve.points {
            let (Some(first), Some(second)) = (first, seat(*second)) else {
                continue;
            };
            if near(first.to(second)) {
                trips.push(e.at(&curve.label, second.cpu as f64)?);
            }
        }
    }
    trips.sort_by(|a, b| a.middle().total_cmp(&b.middle()));
    let refused = e.points.iter().find_map(|point| match &point.state {
        State::Untestable(reason) => Some(reason.clone()),
        _ => None,
    });
    match (&trips[..], refused) {
        (&[shortest, .., longest], _) => Ok([shortest, longest]),
        (_, Some(reason)) => Err(reason),
        _ => Err(Untestable(format!(
            "it takes two pairs of CPUs, and there is {} here",
            trips.len()
        ))),
    }
}
