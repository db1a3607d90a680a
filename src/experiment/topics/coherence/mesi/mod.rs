//! Drepper 3.2 and 3.3.4, Sestoft 4: what coherence asks of caches, counted in a model of several
//! cores.

use crate::experiment::claim::counted::{self, Counted};
use crate::experiment::prelude::*;
use crate::experiment::topics::coherence::transfer;
use crate::pattern::Rng;
use crate::sim::mesi::{Event, Mesi, Messages, Protocol, State};

mod sharing;

/// The rows of this family.
pub(crate) static ALL: &[Experiment] = &[RULES, FIGURE, sharing::EXPLANATION];

/// The protocol that is put to the test.
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
    question: "Does the protocol keep a changed line out of all other caches, and let clean copies \
               be anywhere?",
    source: "Drepper 3.2: a dirty cache line is not present in any other processor's cache; clean \
             copies of the same cache line can reside in arbitrarily many caches",
    seen: &[],
    about: "Counted in a model of MESI: 100,000 reads, writes and evictions of 8 lines by 4 \
            cores at random. What came after MESI bends the first rule: with AMD's fifth state, \
            O, a changed line may be in other caches too, and one of them answers for it; \
            Intel's fifth, F, names the one of several clean copies that answers.",
    plot: None,
    cases: |_| counted::cases(&RULES_COUNTED).collect(),
    curves: plain_curves,
    events: &[],
    claims: &[
        // First rule of the section: a line that one cache holds dirty is in no other.
        simulated(
            "D6.1",
            drepper("3.2"),
            "a changed line is in no other cache, after 100,000 reads, writes and evictions at \
             random",
            |e| counted::all(e, &RULES_COUNTED[..1]),
        ),
        // Second rule: clean copies may lie in any number of caches; a write makes the others
        // invalid.
        simulated(
            "D6.2",
            drepper("3.2"),
            "clean copies are in as many caches as read the line, until one of them writes",
            |e| counted::all(e, &RULES_COUNTED[1..3]),
        ),
        // All processors must see the same content of memory at all times, dirty lines or not.
        simulated(
            "D6.3",
            drepper("3.3.3"),
            "every read finds what was written last, after 100,000 reads, writes and evictions \
             at random",
            |e| counted::all(e, &RULES_COUNTED[3..]),
        ),
    ],
};

/// What went wrong on a walk at random.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Wrong {
    /// Steps after which a changed line was in another cache.
    not_alone: u64,
    /// Reads that found an old value.
    stale: u64,
}

/// Lets 4 cores read, write and evict 8 lines at random.
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

/// In how many caches a line is that all cores read, and one wrote then if `written`.
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
        Ok(astray(PROTOCOL))
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
        "RFOs of 1,000 lines of one's own, read and then written",
        0.0,
        || Ok(of_ones_own(PROTOCOL)),
    ),
    Counted::exactly("the same without the state E", 1000.0, || {
        Ok(of_ones_own(Protocol::MSI))
    }),
];

const FIGURE: Experiment = Experiment {
    id: "D23",
    name: "drepper-fig-3.18",
    title: "The transitions of MESI",
    question: "Where does each read and write lead, of one's own and of others, and which are \
               announced?",
    source: "Drepper 3.3.4, Figure 3.18 and the text beside it",
    seen: &[],
    about: "Counted in a model whose table is the figure's. Caches of today have these four \
            states, and a fifth that says who answers (F, O). In place of a bus to listen on \
            there is a directory beside the last level, which knows who has a line and asks \
            nobody else. A line's way to another core and back is drawn beside a hit in L1d; X12 \
            has it by what the cores share, and B8 and F1 what increments cost that share a \
            line. `linefill simulate --mesi` prints the figure as a table.",
    plot: Some(Plot::bars(
        Axis::linear(
            "a hit (0); a round trip to a core of the same L2 (1), last level (2), package (3), \
             other package (4)",
        ),
        Axis::log("time"),
        Unit::Nanoseconds,
    )),
    cases: |machine| {
        let mut cases: Vec<Case> = counted::cases(&ARROWS).collect();
        cases.extend(transfer::hit_and_trip(machine));
        cases
    },
    curves: |e| {
        let mut curves = plain_curves(e);
        curves.retain(|curve| ARROWS.iter().all(|row| row.series != curve.label));
        curves
    },
    events: &[],
    claims: &[
        // The figure and the description of its transitions.
        simulated(
            "D23.1",
            drepper("3.3.4, Figure 3.18"),
            "from each of the four states, local and remote reads and writes lead where Figure \
             3.18 says",
            |e| counted::all(e, &ARROWS[..1]),
        ),
        // A write to an Exclusive line does not have to be announced.
        simulated(
            "D23.2",
            drepper("3.3.4"),
            "a write to a line in state E sends no message",
            |e| counted::all(e, &ARROWS[1..2]),
        ),
        // A write to a Shared line has to be announced by an RFO message.
        simulated(
            "D23.3",
            drepper("3.3.4"),
            "a write to a line in state S sends one RFO",
            |e| counted::all(e, &ARROWS[2..3]),
        ),
        // When another processor reads a Modified line, it gets the content, and the memory
        // controller stores it.
        simulated(
            "D23.4",
            drepper("3.3.4"),
            "a modified line that another core reads goes to the reader and to memory",
            |e| counted::all(e, &ARROWS[3..5]),
        ),
        // When another processor writes a Modified line, it gets the content, and the line is
        // invalid where it was.
        simulated(
            "D23.5",
            drepper("3.3.4"),
            "a modified line that another core writes goes to the writer",
            |e| counted::all(e, &ARROWS[5..6]),
        ),
        // Exclusive can be left out; then performance suffers, because from Exclusive to
        // Modified is quicker than from Shared.
        simulated(
            "D23.6",
            drepper("3.3.4"),
            "without the state E each first write to data of one's own takes an RFO; with it \
             none does",
            |e| counted::all(e, &ARROWS[6..]),
        ),
        // Messages make an operation slow. Ten hits are our measure of slow: the document has no
        // number.
        measured(
            "D23.7",
            drepper("3.3.4"),
            "a line that two cores pass back and forth takes more than 10 times as long as a hit \
             in L1d",
            transfer::trip_over_hit,
        ),
    ],
};

/// Where the figure's arrows lead: by state, then by event.
const LEADS_TO: [[State; 4]; 4] = {
    use State::{Exclusive as E, Invalid as I, Modified as M, Shared as S};
    [[M, M, S, I], [E, M, S, I], [S, M, S, I], [E, M, I, I]]
};

/// Arrows of a protocol that lead elsewhere than in the figure. A read of a line that another
/// cache has leads from I to S, and counts as a seventeenth.
fn astray(protocol: Protocol) -> f64 {
    let mut astray = 0;
    for (state, row) in State::ALL.into_iter().zip(LEADS_TO) {
        for (event, wanted) in Event::ALL.into_iter().zip(row) {
            let (mut caches, core) = in_state(protocol, state);
            happen(&mut caches, core, event);
            astray += u32::from(caches.state(core, LINE) != wanted);
        }
    }
    let mut caches = Mesi::new(protocol, 2);
    caches.read(1, LINE);
    caches.read(0, LINE);
    astray += u32::from(caches.state(0, LINE) != State::Shared);
    f64::from(astray)
}

/// What one event sends, the line being in `state`.
fn sent(protocol: Protocol, state: State, event: Event) -> Messages {
    let (mut caches, core) = in_state(protocol, state);
    let before = caches.messages();
    happen(&mut caches, core, event);
    caches.messages() - before
}

/// The line that things happen to.
const LINE: u64 = 0;

/// Two caches, and the one of them that has the line in `state`.
fn in_state(protocol: Protocol, state: State) -> (Mesi, usize) {
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
    (caches, 0)
}

fn happen(caches: &mut Mesi, core: usize, event: Event) {
    let other = 1 - core;
    match event {
        Event::LocalRead => drop(caches.read(core, LINE)),
        Event::LocalWrite => drop(caches.write(core, LINE, 2)),
        Event::RemoteRead => drop(caches.read(other, LINE)),
        Event::RemoteWrite => drop(caches.write(other, LINE, 2)),
    }
}

/// RFOs of 1,000 lines that one core of two reads and then writes.
fn of_ones_own(protocol: Protocol) -> f64 {
    let mut caches = Mesi::new(protocol, 2);
    for line in 0..1000 {
        caches.read(0, line);
        caches.write(0, line, 1);
    }
    caches.messages().rfos() as f64
}

/// Finds a number, or says why there is none.
type Found = Result<f64, Untestable>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::mesi::Transition;

    /// The counts can come out otherwise, and do for tables that are wrong.
    #[test]
    fn wrong_tables_are_counted() {
        assert_eq!(wander(Protocol::MESI), Wrong::default());
        assert_eq!(wander(Protocol::MSI), Wrong::default());
        let silent = Protocol::MESI.with(
            State::Shared,
            Event::LocalWrite,
            Transition::to(State::Modified),
        );
        assert!(wander(silent).not_alone > 1000 && wander(silent).stale > 1000);
        assert_eq!(copies(silent, 8, true), 8.0);
        assert_eq!(sent(silent, State::Shared, Event::LocalWrite).requests(), 0);
        let lost = Protocol::MESI.with(
            State::Modified,
            Event::RemoteRead,
            Transition::to(State::Shared),
        );
        assert!(wander(lost).stale > 1000);
        assert_eq!(sent(lost, State::Modified, Event::RemoteRead).transfers, 0);
    }

    #[test]
    fn arrows_that_lead_elsewhere_are_counted() {
        assert_eq!(astray(Protocol::MESI), 0.0);
        // Without E: a first read, and with it all that starts in E, leads elsewhere.
        assert!(astray(Protocol::MSI) >= 2.0);
        let stays = Protocol::MESI.with(
            State::Shared,
            Event::RemoteWrite,
            Transition::to(State::Shared),
        );
        assert_eq!(astray(stays), 1.0);
    }
}
