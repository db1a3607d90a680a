//! Drepper 3.2 and 3.3.4, Sestoft 4: the rules and messages of coherence, counted in a model of
//! several cores.

use crate::experiment::prelude::*;
use crate::experiment::shared::count::Counted;
use crate::experiment::topics::coherence::transfer;
use crate::pattern::Rng;
use crate::sim::mesi::{Event, Mesi, Messages, Protocol, State};

mod sharing;

pub(crate) static ALL: &[Experiment] = &[RULES, FIGURE, sharing::EXPLANATION];

/// The protocol under test.
const PROTOCOL: Protocol = Protocol::MESI;

static RULES_COUNTED: [Counted; 4] = [
    Counted::exactly("changed lines that another cache has too", 0.0, || {
        Ok(wander(PROTOCOL).not_alone as f64)
    }),
    Counted::exactly("copies of a line that 64 cores read", 64.0, || {
        Ok(copies(PROTOCOL, 64, false))
    }),
    Counted::exactly("copies of it after one of them wrote", 1.0, || {
        Ok(copies(PROTOCOL, 64, true))
    }),
    Counted::exactly("reads that did not find what was written last", 0.0, || {
        Ok(wander(PROTOCOL).stale as f64)
    }),
];

const RULES: Experiment = Experiment {
    id: "D6",
    name: "drepper-coherency-rules",
    title: "Two rules of coherency",
    question: "Does the protocol keep a modified line out of all other caches, and allow clean \
               copies in any number of caches?",
    source: "Drepper 3.2: a dirty cache line is not present in any other processor's cache; clean \
             copies of the same cache line can reside in arbitrarily many caches",
    about: "A model of the MESI protocol (modified, exclusive, shared, invalid) counts violations \
            of the rules: 4 cores make 100,000 reads, writes and evictions of 8 lines at random. \
            Protocols after MESI relax the first rule. With O, the fifth state of AMD, other \
            caches may hold copies of a modified line, and one cache answers requests for it. F, \
            the fifth state of Intel, marks the one clean copy that answers requests.",
    cases: |_| Counted::cases(&RULES_COUNTED).collect(),
    claims: &[
        // First rule of the section: a line that is dirty in one cache is in no other cache.
        simulated(
            "D6.1",
            drepper("3.2"),
            "in 100,000 random reads, writes and evictions, a modified line is never in a second \
             cache",
            |e| Counted::all(e, &RULES_COUNTED[..1]),
        ),
        // Second rule: any number of caches may hold clean copies; a write invalidates the other
        // copies.
        simulated(
            "D6.2",
            drepper("3.2"),
            "every cache that reads a line holds a clean copy of it, until one core writes the \
             line",
            |e| Counted::all(e, &RULES_COUNTED[1..3]),
        ),
        // All processors must see the same content of memory at all times, whether lines are dirty
        // or not.
        simulated(
            "D6.3",
            drepper("3.3.3"),
            "in 100,000 random reads, writes and evictions, every read finds the last value \
             written",
            |e| Counted::all(e, &RULES_COUNTED[3..]),
        ),
    ],
    ..Experiment::PLAIN
};

/// Violations during random accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Wrong {
    /// Steps after which a modified line was also in another cache.
    not_alone: u64,
    /// Reads that found an old value.
    stale: u64,
}

/// Makes 4 cores read, write and evict 8 lines at random.
fn wander(protocol: Protocol) -> Wrong {
    const CORES: usize = 4;
    const LINES: usize = 8;
    let mut rng = Rng::new(1);
    let mut caches = Mesi::new(protocol, CORES);
    let mut written = [0; LINES];
    let mut wrong = Wrong::default();
    for step in 1..=100_000 {
        let (core, index) = (rng.below(CORES), rng.below(LINES));
        let line = index as u64;
        match rng.below(8) {
            0 => caches.evict(core, line),
            1..=3 => {
                caches.write(core, line, step);
                written[index] = step;
            }
            _ => wrong.stale += u64::from(caches.read(core, line) != written[index]),
        }
        let states = (0..CORES).map(|core| caches.state(core, line));
        let present = states.clone().filter(|&state| state != State::Invalid);
        let changed = states.filter(|&state| state == State::Modified);
        wrong.not_alone += u64::from(changed.count() > 0 && present.count() > 1);
    }
    wrong
}

/// Returns the number of caches with a copy of a line after all cores read it and, if `written`,
/// one core wrote it.
fn copies(protocol: Protocol, cores: usize, written: bool) -> f64 {
    let mut caches = Mesi::new(protocol, cores);
    for core in 0..cores {
        caches.read(core, 0);
    }
    if written {
        caches.write(cores / 2, 0, 1);
    }
    let states = (0..cores).map(|core| caches.state(core, 0));
    states.filter(|&state| state != State::Invalid).count() as f64
}

static ARROWS: [Counted; 8] = [
    Counted::exactly("arrows that lead elsewhere than in the figure", 0.0, || {
        Ok(wrong_transitions(PROTOCOL))
    }),
    Counted::exactly("requests on E to M", 0.0, || {
        Ok(sent(PROTOCOL, State::Exclusive, Event::LocalWrite).requests() as f64)
    }),
    Counted::exactly("requests on S to M", 1.0, || {
        Ok(sent(PROTOCOL, State::Shared, Event::LocalWrite).requests() as f64)
    }),
    Counted::exactly("lines to the reader on M to S", 1.0, || {
        Ok(sent(PROTOCOL, State::Modified, Event::RemoteRead).transfers as f64)
    }),
    Counted::exactly("lines to memory on M to S", 1.0, || {
        Ok(sent(PROTOCOL, State::Modified, Event::RemoteRead).write_backs as f64)
    }),
    Counted::exactly("lines to the writer on M to I", 1.0, || {
        Ok(sent(PROTOCOL, State::Modified, Event::RemoteWrite).transfers as f64)
    }),
    Counted::exactly(
        "RFOs of 1,000 lines that no other core holds, read and then written",
        0.0,
        || Ok(of_ones_own(PROTOCOL)),
    ),
    Counted::exactly("the same without the state E", 1000.0, || Ok(of_ones_own(Protocol::MSI))),
];

const FIGURE: Experiment = Experiment {
    id: "D23",
    name: "drepper-fig-3.18",
    title: "The transitions of MESI",
    question: "Which state follows each local or remote read and write, and which transitions send \
               a message?",
    source: "Drepper 3.3.4, Figure 3.18 and the text beside it",
    about: "A model applies each event to each state and counts its messages; its table is that of \
            the figure. Caches today have these four states and a fifth that names the cache that \
            answers (F or O). Instead of a bus on which every cache listens, a directory beside \
            the last level knows which caches hold a line, and asks only those. The chart shows \
            two costs on real hardware: a hit in L1d, which sends no message, and a round trip of \
            a line between two cores. X12 shows the round trip by what the cores share; B8 and F1 \
            show the cost of increments that share a line. `linefill simulate --mesi` prints the \
            figure as a table.",
    plot: Some(Plot::bars(
        Axis::linear(
            "hit (0); round trip to a core of the same L2 (1), last level (2), package (3), to \
             another package (4)",
        ),
        Axis::log("time"),
        Unit::Nanoseconds,
    )),
    cases: |machine| {
        let mut cases: Vec<Case> = Counted::cases(&ARROWS).collect();
        cases.extend(transfer::hit_and_trip(machine));
        cases
    },
    curves: |e| e.curves_of(|label| ARROWS.iter().all(|row| row.series != label)),
    claims: &[
        // The figure and the description of its transitions.
        simulated(
            "D23.1",
            drepper("3.3.4, Figure 3.18"),
            "from each of the four states, local and remote reads and writes lead to the state \
             that Figure 3.18 shows",
            |e| Counted::all(e, &ARROWS[..1]),
        ),
        // A write to an Exclusive line does not have to be announced.
        simulated(
            "D23.2",
            drepper("3.3.4"),
            "a write to a line in state E sends no message",
            |e| Counted::all(e, &ARROWS[1..2]),
        ),
        // A write to a Shared line has to be announced by an RFO message.
        simulated(
            "D23.3",
            drepper("3.3.4"),
            "a write to a line in state S sends one RFO (request for ownership)",
            |e| Counted::all(e, &ARROWS[2..3]),
        ),
        // When another processor reads a Modified line, it gets the content, and the memory
        // controller stores it.
        simulated(
            "D23.4",
            drepper("3.3.4"),
            "a modified line that another core reads is sent to the reader and to memory",
            |e| Counted::all(e, &ARROWS[3..5]),
        ),
        // When another processor writes a Modified line, it gets the content, and the line is
        // invalid where it was.
        simulated(
            "D23.5",
            drepper("3.3.4"),
            "a modified line that another core writes is sent to the writer",
            |e| Counted::all(e, &ARROWS[5..6]),
        ),
        // A protocol can omit Exclusive; performance then suffers, because the transition from
        // Exclusive to Modified is faster than the transition from Shared.
        simulated(
            "D23.6",
            drepper("3.3.4"),
            "without the state E, each first write to private data sends an RFO (request for \
             ownership); with E, no first write does",
            |e| Counted::all(e, &ARROWS[6..]),
        ),
        // Messages make an operation slow. Ten hits are our threshold for slow: the document has no
        // number.
        measured(
            "D23.7",
            drepper("3.3.4"),
            "a round trip of a line between two cores takes more than 10 times as long as a hit in \
             L1d",
            transfer::trip_over_hit,
        ),
    ],
    ..Experiment::PLAIN
};

/// The states that the figure's arrows lead to: by state, then by event.
const LEADS_TO: [[State; 4]; 4] = {
    use State::{Exclusive as E, Invalid as I, Modified as M, Shared as S};
    [[M, M, S, I], [E, M, S, I], [S, M, S, I], [E, M, I, I]]
};

/// Counts the arrows of a protocol that lead to another state than in the figure. A read of a line
/// that another cache holds leads from I to S, and is a seventeenth arrow.
fn wrong_transitions(protocol: Protocol) -> f64 {
    let mut wrong_transitions = 0;
    for (state, row) in State::ALL.into_iter().zip(LEADS_TO) {
        for (event, wanted) in Event::ALL.into_iter().zip(row) {
            let mut caches = in_state(protocol, state);
            happen(&mut caches, event);
            wrong_transitions += u32::from(caches.state(0, LINE) != wanted);
        }
    }
    let mut caches = Mesi::new(protocol, 2);
    caches.read(1, LINE);
    caches.read(0, LINE);
    wrong_transitions += u32::from(caches.state(0, LINE) != State::Shared);
    f64::from(wrong_transitions)
}

/// Returns the messages of one event, with the line in `state`.
fn sent(protocol: Protocol, state: State, event: Event) -> Messages {
    let mut caches = in_state(protocol, state);
    let before = caches.messages();
    happen(&mut caches, event);
    caches.messages() - before
}

const LINE: u64 = 0;

/// Returns two caches, the first of which has the line in `state`.
fn in_state(protocol: Protocol, state: State) -> Mesi {
    let mut caches = Mesi::new(protocol, 2);
    match state {
        State::Modified => drop(caches.write(0, LINE, 1)),
        State::Exclusive => drop(caches.read(0, LINE)),
        State::Shared => {
            caches.read(0, LINE);
            caches.read(1, LINE);
        }
        State::Invalid => {}
    }
    caches
}

/// Applies an event to the line of the first cache.
fn happen(caches: &mut Mesi, event: Event) {
    match event {
        Event::LocalRead => drop(caches.read(0, LINE)),
        Event::LocalWrite => drop(caches.write(0, LINE, 2)),
        Event::RemoteRead => drop(caches.read(1, LINE)),
        Event::RemoteWrite => drop(caches.write(1, LINE, 2)),
    }
}

/// Returns the RFOs of 1,000 lines that one of two cores reads and then writes.
fn of_ones_own(protocol: Protocol) -> f64 {
    let mut caches = Mesi::new(protocol, 2);
    for line in 0..1000 {
        caches.read(0, line);
        caches.write(0, line, 1);
    }
    caches.messages().rfos() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::mesi::Transition;

    #[test]
    fn wrong_tables_are_counted() {
        assert_eq!(wander(Protocol::MESI), Wrong::default());
        assert_eq!(wander(Protocol::MSI), Wrong::default());
        let silent =
            Protocol::MESI.with(State::Shared, Event::LocalWrite, Transition::to(State::Modified));
        assert!(wander(silent).not_alone > 1000 && wander(silent).stale > 1000);
        assert_eq!(copies(silent, 8, true), 8.0);
        assert_eq!(sent(silent, State::Shared, Event::LocalWrite).requests(), 0);
        let lost =
            Protocol::MESI.with(State::Modified, Event::RemoteRead, Transition::to(State::Shared));
        assert!(wander(lost).stale > 1000);
        assert_eq!(sent(lost, State::Modified, Event::RemoteRead).transfers, 0);
    }

    #[test]
    fn arrows_that_lead_elsewhere_are_counted() {
        assert_eq!(wrong_transitions(Protocol::MESI), 0.0);
        // Without E, a first read and all transitions from E lead elsewhere.
        assert!(wrong_transitions(Protocol::MSI) >= 2.0);
        let stays =
            Protocol::MESI.with(State::Shared, Event::RemoteWrite, Transition::to(State::Shared));
        assert_eq!(wrong_transitions(stays), 1.0);
    }
}
