//! X13: the first access to a line, by its state in another core's cache.

use crate::experiment::prelude::*;
use crate::experiment::topics::coherence::remote::{Held, Want};
use crate::experiment::topics::coherence::transfer::{TRIP, WALK, remote, round_trip, two_cores};
use crate::order;

const LOADS: &str = WALK;
const ADDITIONS: &str = "locked addition";
const FENCED: &str = "locked addition, a fence behind it";

/// The states of the lines, in the order of the horizontal axis.
const HELD: [Held; 5] = [Held::Own, Held::Exclusive, Held::Modified, Held::Shared, Held::Nowhere];

fn held_at(held: Held) -> f64 {
    let index = HELD.iter().position(|other| *other == held);
    index.unwrap_or(HELD.len()) as f64
}

/// The largest number of readers whose copies are invalidated, if there are enough CPUs.
const MOST_READERS: usize = 15;

const READERS: &str = "locked addition, a fence behind it, all others read the line";

pub(super) const STATES: Experiment = Experiment {
    id: "X13",
    name: "line-states",
    title: "The first access to a line that another core holds",
    question: "How long does an access to a line take, by the state of the line in another core's \
               cache?",
    source: "Drepper 3.3.4, Figure 3.18: the states of a line and who must be informed",
    seen: &[
        seen(
            "Zen 5",
            "Locked additions overlap: in sequence, they take little longer on shared lines than \
             on lines that the core owns; with a fence after each, at least twice as long.",
        ),
        seen(
            "Zen 4",
            "Locked additions to modified lines overlap if their addresses are known in advance; \
             locked additions to shared lines do not.",
        ),
    ],
    about: "A core accesses 64 lines; each line contains the address of the next, so that a \
            load must finish before the next begins. Before that, the other core has brought the \
            lines into the state on the horizontal axis. A modified line comes from the core that \
            modified it; the directory or a snoop says where a line is. A locked addition must own \
            its line. It takes the line away from another core, and it must first invalidate the \
            copies of other cores, even if the core has the data already. The chart shows \
            additions in two ways. In sequence, an addition may begin before the core owns the \
            line of the previous addition; this is what a program sees. With a fence after each \
            addition, nothing overlaps; this is the latency of the transfer or upgrade plus that \
            of the fence, which additions to owned lines pay as well. The claims need two cores; \
            loads that depend on each other and a round trip of one word show whether the two CPUs \
            are threads of one core.",
    plot: Some(Plot::bars(
        Axis::linear(
            "modified here (0), exclusive there (1), modified there (2), shared (3), in memory (4)",
        ),
        Axis::linear("time per access"),
        Unit::Nanoseconds,
    )),
    cases: state_cases,
    curves: |e| e.curves_of(|label| label != READERS && label != TRIP),
    claims: &[
        measured(
            "X13.1",
            ours(
                "whether a modified line comes from its core faster than a clean line comes from \
                 memory",
            ),
            "a load of a line that the nearest core has modified takes less time than a load from \
             memory",
            |e| {
                on_two_cores(e)?;
                let there = e.at(LOADS, held_at(Held::Modified))?;
                let memory = e.at(LOADS, held_at(Held::Nowhere))?;
                at_most("modified there over memory", ratio(there, memory), 1.0)
            },
        ),
        measured(
            "X13.2",
            ours("whether the reader pays for the write-back that Figure 3.18 shows"),
            "a load of a line that another core has modified takes 0.75 to 1.33 times as long as a \
             load of a clean line of the same core",
            |e| {
                on_two_cores(e)?;
                let at = |held| e.at(LOADS, held_at(held));
                let dearer = ratio(at(Held::Modified), at(Held::Exclusive));
                between("modified over exclusive", dearer, 0.75, 1.33)
            },
        ),
        measured(
            "X13.3",
            ours("what a program sees of upgrades: the throughput of locked additions"),
            "in sequence, without fences, locked additions to lines that another core has read \
             take more than 3 times as long as locked additions to lines that the core owns",
            |e| {
                on_two_cores(e)?;
                let at = |held| e.at(ADDITIONS, held_at(held));
                at_least("shared over own", ratio(at(Held::Shared), at(Held::Own)), 3.0)
            },
        )
        .holding("The core waits for each line before it begins the next addition.")
        .failing(
            "The core begins an addition before it owns the line of the previous addition: a \
             sequence shows the throughput of upgrades, not their latency.",
        ),
        measured(
            "X13.4",
            ours("whether copies are invalidated one after the other or all at once"),
            "with a fence after each, locked additions to lines that up to 15 other cores have \
             read, all as near as the nearest, take less than 1.5 times as long as locked \
             additions to lines that one other core has read",
            readers,
        ),
        measured(
            "X13.5",
            ours("the latency of an upgrade, which a sequence without fences may hide"),
            "the upgrade of a line that another core has read takes more than twice as long as a \
             locked addition to a line that the core owns, timed with a fence after each addition",
            |e| {
                on_two_cores(e)?;
                at_least("upgrade over addition", cost_of_upgrade(e), 2.0)
            },
        ),
        measured(
            "X13.6",
            ours("whether an upgrade, which moves no data, takes as long as a transfer"),
            "the upgrade of a line that another core has read takes 0.5 to 2 times as long as the \
             transfer of a line that another core has modified",
            |e| {
                on_two_cores(e)?;
                let at = |held| e.at(FENCED, held_at(held));
                let own = at(Held::Own)?;
                let [upgrade, transfer] =
                    [at(Held::Shared)?, at(Held::Modified)?].map(|there| minus(there, &own));
                between("upgrade over transfer", ratio(upgrade, transfer), 0.5, 2.0)
            },
        ),
    ],
    ..Experiment::PLAIN
};

/// Returns the time until a shared line is owned, in multiples of the `addition` to an owned line.
/// This time is the excess of a fenced addition to a `shared` line over a fenced addition to an
/// `own` line; both pay for the fence.
///
/// # Errors
/// If the time of the addition is not certainly above zero.
pub(crate) fn upgrade(shared: Reading, own: Reading, addition: Reading) -> Testable<Interval> {
    signed_ratio(minus(shared, own), addition)
}

/// Returns the latency of an upgrade, in locked additions.
pub(crate) fn cost_of_upgrade(e: &Evidence<'_>) -> Testable<Interval> {
    let at = |series, held| e.at(series, held_at(held));
    upgrade(at(FENCED, Held::Shared)?, at(FENCED, Held::Own)?, at(ADDITIONS, Held::Own)?)
}

/// Checks that the two CPUs are two cores.
fn on_two_cores(e: &Evidence<'_>) -> Testable<()> {
    two_cores(e, [Held::Modified, Held::Own].map(held_at))
}

/// Returns a CPU of each core, at most `MOST_READERS`, that is as near to the measuring CPU as the nearest.
fn equally_near(cpu_order: &CpuOrder) -> Vec<usize> {
    let (Some(nearest), [own, others @ ..]) = (cpu_order.nearest(), cpu_order.locations()) else {
        return Vec::new();
    };
    let mut near: Vec<_> = others.iter().filter(|location| own.to(location) == nearest).collect();
    order::by_key(&mut near, |location| (location.core, location.cpu));
    near.dedup_by_key(|location| location.core);
    near.into_iter().map(|location| location.cpu).take(MOST_READERS).collect()
}

/// Judges whether copies are invalidated at the same time. All readers are as near as the one, so that the
/// ratio does not show how far away they are.
fn readers(e: &Evidence<'_>) -> Judged {
    e.machine.cpu_order.at_least(3)?;
    on_two_cores(e)?;
    let near = equally_near(&e.machine.cpu_order).len();
    if near < 2 {
        return Err(Untestable::because(
            "the nearest other core is nearer than all others: the ratio would show their distance",
        ));
    }
    let one = e.at(FENCED, held_at(Held::Shared))?;
    let (readers, all) = e.last(READERS)?;
    if readers > near as f64 {
        return Err(Untestable(format!(
            "of {readers} cores that read the lines, {near} are as near as the nearest: the ratio \
             would show the distance of the others"
        )));
    }
    at_most(&format!("{readers} readers over one"), ratio(all, one), 1.5)
}

fn state_cases(machine: &Machine) -> Vec<Case> {
    let Ok(cpus) = machine.cpu_order.two_cores() else { return Vec::new() };
    let mut cases = vec![round_trip(cpus, held_at(Held::Modified))];
    for held in HELD {
        let alone = matches!(held, Held::Own | Held::Nowhere);
        let others = if alone { Vec::new() } else { vec![cpus[1]] };
        for (series, want) in
            [(LOADS, Want::Read), (ADDITIONS, Want::Own), (FENCED, Want::OwnFenced)]
        {
            // A load of a shared line hits here, as a load of an own line does.
            if held == Held::Shared && want == Want::Read {
                continue;
            }
            let case = Case::new(series, held_at(held), remote(held, want, others.clone()));
            // A host moves the other core nearer or farther away. Another experiment may have measured the same
            // case at another distance than this one measures the lines that it compares.
            cases.push(if alone { case } else { case.in_turn() });
        }
    }
    let readers = equally_near(&machine.cpu_order);
    if readers.len() > 1 {
        let x = readers.len() as f64;
        cases.push(Case::new(READERS, x, remote(Held::Shared, Want::OwnFenced, readers)));
    }
    cases
}
