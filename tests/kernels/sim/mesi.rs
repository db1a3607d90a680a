//! The coherence protocol: each arrow of Figure 3.18, and the rules of section 3.2 on any sequence.

use linefill::sim::mesi::{Broken, Event, Mesi, Messages, Protocol, Request, State, Transition};
use proptest::prelude::*;

const LINE: u64 = 5;

/// The messages of one event among two cores, and the state of core 0 after it.
fn one(state: State, event: Event) -> (State, Messages) {
    let mut caches = Mesi::in_state(Protocol::MESI, 2, LINE, state);
    assert_eq!(caches.state(0, LINE), state);
    caches.happen(event, LINE)
}

#[test]
fn every_arrow_of_figure_3_18() {
    let none = Messages::default();
    let local = |state| (one(state, Event::LocalRead), one(state, Event::LocalWrite));
    // Local reads and writes of a line in the cache send nothing, except writes to a shared line.
    assert_eq!(local(State::Modified), ((State::Modified, none), (State::Modified, none)));
    assert_eq!(local(State::Exclusive), ((State::Exclusive, none), (State::Modified, none)));
    let announced = Messages { announcements: 1, invalidations: 1, ..none };
    assert_eq!(local(State::Shared), ((State::Shared, none), (State::Modified, announced)));
    let read = Messages { reads: 1, from_memory: 1, ..none };
    let owned = Messages { owns: 1, from_memory: 1, ..none };
    assert_eq!(local(State::Invalid), ((State::Exclusive, read), (State::Modified, owned)));
    // Another core reads: a modified line goes to that core and to memory.
    let sent = Messages { reads: 1, transfers: 1, write_backs: 1, ..none };
    assert_eq!(one(State::Modified, Event::RemoteRead), (State::Shared, sent));
    assert_eq!(one(State::Exclusive, Event::RemoteRead), (State::Shared, read));
    assert_eq!(one(State::Shared, Event::RemoteRead), (State::Shared, none));
    // Another core writes: a modified line goes only to that core.
    let given = Messages { owns: 1, transfers: 1, invalidations: 1, ..none };
    assert_eq!(one(State::Modified, Event::RemoteWrite), (State::Invalid, given));
    let given_up = Messages { invalidations: 1, ..owned };
    assert_eq!(one(State::Exclusive, Event::RemoteWrite), (State::Invalid, given_up));
    assert_eq!(one(State::Shared, Event::RemoteWrite), (State::Invalid, announced));
    assert_eq!(one(State::Invalid, Event::RemoteWrite), (State::Invalid, owned));
}

#[test]
fn the_table_prints_as_one_reads_it() {
    let table = Protocol::MESI.to_string();
    let rows: Vec<Vec<&str>> = table
        .lines()
        .map(|row| row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect())
        .collect();
    assert_eq!(rows[0], ["local read", "local write", "remote read", "remote write"]);
    assert_eq!(rows[1], ["M M", "M", "S data, memory", "I data"]);
    assert_eq!(rows[2], ["E E", "M", "S", "I"]);
    assert_eq!(rows[3], ["S S", "M RFO, no data", "S", "I"]);
    assert_eq!(rows[4], ["I S/E read", "M RFO", "I", "I"]);
}

#[derive(Clone, Copy, Debug)]
enum Do {
    Read,
    Write,
    Evict,
}

/// An action of a core on one of a few lines.
type Step = (usize, u64, Do);

fn steps(cores: usize) -> impl Strategy<Value = Vec<Step>> {
    let what = prop_oneof![4 => Just(Do::Read), 3 => Just(Do::Write), 1 => Just(Do::Evict)];
    prop::collection::vec((0..cores, 0..4_u64, what), 1..200)
}

/// Executes the steps; returns the first error.
fn follow(protocol: Protocol, cores: usize, steps: &[Step]) -> Result<Mesi, String> {
    let mut caches = Mesi::new(protocol, cores);
    let mut written = [0; 4];
    for (number, &(core, line, what)) in steps.iter().enumerate() {
        let last = &mut written[line as usize];
        let value = number as u64 + 1;
        let (held, expected) = match what {
            Do::Read => (caches.read(core, line), *last),
            Do::Write => (caches.write(core, line, value), std::mem::replace(last, value)),
            Do::Evict => {
                caches.evict(core, line);
                continue;
            }
        };
        if held != expected {
            return Err(format!("step {number} found {held}, {expected} was written last"));
        }
        if let Some(broken) = caches.broken(line) {
            return Err(format!("step {number}: {broken:?}"));
        }
    }
    Ok(caches)
}

proptest! {
    #[test]
    fn at_most_one_has_a_line_for_itself_and_reads_return_the_last_write(
        (cores, steps) in (1..6_usize).prop_flat_map(|cores| (Just(cores), steps(cores))),
    ) {
        for protocol in [Protocol::MESI, Protocol::MSI] {
            let caches = follow(protocol, cores, &steps);
            prop_assert!(caches.is_ok(), "{}", caches.unwrap_err());
            let messages = caches.unwrap().messages();
            // Every requested line came from exactly one source.
            let asked = messages.reads + messages.owns;
            prop_assert_eq!(asked, messages.transfers + messages.from_memory);
            // A core loses a line only because of a write, and each write invalidates all other copies.
            prop_assert!(messages.invalidations <= messages.rfos() * (cores as u64 - 1));
            let writes = steps.iter().filter(|step| matches!(step.2, Do::Write)).count() as u64;
            prop_assert!(messages.rfos() <= writes);
            let evictions = steps.iter().filter(|step| matches!(step.2, Do::Evict)).count() as u64;
            prop_assert!(messages.write_backs <= messages.transfers + evictions);
        }
    }

    /// A single core never gets a message from another core.
    #[test]
    fn one_core_has_each_line_for_itself(steps in steps(1)) {
        let messages = follow(Protocol::MESI, 1, &steps).unwrap().messages();
        prop_assert_eq!(messages.transfers + messages.invalidations + messages.announcements, 0);
    }
}

/// Whether some sequence of a fixed set shows that a protocol is wrong.
fn is_found_out(protocol: Protocol) -> bool {
    let mut rng = linefill::pattern::Rng::new(3);
    (0..200).any(|_| {
        let steps: Vec<Step> = (0..60)
            .map(|_| {
                let what = [Do::Read, Do::Read, Do::Write, Do::Write, Do::Evict][rng.below(5)];
                (rng.below(3), rng.below(2) as u64, what)
            })
            .collect();
        follow(protocol, 3, &steps).is_err()
    })
}

#[test]
fn a_wrong_table_is_found_out() {
    assert!(!is_found_out(Protocol::MESI) && !is_found_out(Protocol::MSI));
    use Event::{LocalRead, LocalWrite, RemoteRead, RemoteWrite};
    use State::{Exclusive, Invalid, Modified, Shared};
    for (state, event, wrong) in [
        // The other cores do not learn of the write.
        (Shared, LocalWrite, Transition::to(Modified)),
        // An old copy remains.
        (Shared, RemoteWrite, Transition::to(Shared)),
        (Exclusive, RemoteWrite, Transition::to(Exclusive)),
        (Exclusive, RemoteRead, Transition::to(Exclusive)),
        // The change is lost, or memory does not get it.
        (Modified, RemoteRead, Transition::to(Shared)),
        (Modified, RemoteWrite, Transition::to(Invalid)),
        (Modified, RemoteRead, Transition::to(Shared).sending()),
        // The line becomes exclusive without a check for other copies.
        (Invalid, LocalRead, Transition::to(Exclusive).asking(Request::Read)),
    ] {
        let broken = Protocol::MESI.with(state, event, wrong);
        assert!(is_found_out(broken), "{state:?} {event:?} {wrong:?}\n{broken}");
    }
}

#[test]
fn what_is_broken_is_named() {
    let silent = Transition::to(State::Modified);
    let broken = Protocol::MESI.with(State::Shared, Event::LocalWrite, silent);
    let mut caches = Mesi::new(broken, 2);
    caches.read(0, LINE);
    caches.read(1, LINE);
    assert_eq!(caches.broken(LINE), None);
    caches.write(0, LINE, 1);
    assert_eq!(caches.broken(LINE), Some(Broken::NotAlone));
}
