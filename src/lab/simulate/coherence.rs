//! The protocol between the caches of several cores: Figure 3.18 as a table, and what each of its
//! arrows sends.

use serde_json::{Value, json};

use crate::lab::table::table;
use crate::sim::mesi::{Event, Mesi, Messages, Protocol, State};

/// The line that things happen to.
const LINE: u64 = 0;

/// What one event does to a line, and what it sends.
struct Arrow {
    from: State,
    event: Event,
    to: State,
    sent: Messages,
}

/// Every state and event among `cores` caches, of which the first has the line in the state and,
/// where that is S, all others share it. The second one's reads and writes are the remote ones.
fn arrows(cores: usize) -> Vec<Arrow> {
    let mut arrows = Vec::new();
    for from in State::ALL {
        for event in Event::ALL {
            let mut caches = Mesi::new(Protocol::MESI, cores);
            match from {
                State::Modified => drop(caches.write(0, LINE, 1)),
                State::Exclusive => drop(caches.read(0, LINE)),
                State::Shared => {
                    for core in 0..cores {
                        caches.read(core, LINE);
                    }
                }
                State::Invalid => {}
            }
            let before = caches.messages();
            match event {
                Event::LocalRead => drop(caches.read(0, LINE)),
                Event::LocalWrite => drop(caches.write(0, LINE, 2)),
                Event::RemoteRead => drop(caches.read(1, LINE)),
                Event::RemoteWrite => drop(caches.write(1, LINE, 2)),
            }
            arrows.push(Arrow {
                from,
                event,
                to: caches.state(0, LINE),
                sent: caches.messages() - before,
            });
        }
    }
    arrows
}

/// The table of the protocol, and the messages of each of its arrows among `cores` cores, two or
/// more.
pub fn coherence_table(cores: usize, width: u16) -> String {
    let mut table = table(
        &[
            "from",
            "event",
            "to",
            "requests",
            "RFOs",
            "invalidated",
            "between caches",
            "from memory",
            "to memory",
        ],
        width,
    );
    for arrow in arrows(cores) {
        let sent = arrow.sent;
        let mut row = vec![
            arrow.from.letter().to_string(),
            arrow.event.name().to_owned(),
            arrow.to.letter().to_string(),
        ];
        let counts = [
            sent.requests(),
            sent.rfos(),
            sent.invalidations,
            sent.transfers,
            sent.from_memory,
            sent.write_backs,
        ];
        row.extend(counts.map(|count| count.to_string()));
        table.add_row(row);
    }
    format!(
        "{}\n\nmessages among {cores} cores, a shared line being in all of their caches\n{}\n",
        Protocol::MESI,
        table.trim_fmt()
    )
}

/// The same as JSON.
pub fn coherence_json(cores: usize) -> Value {
    let rows: Vec<Value> = arrows(cores)
        .iter()
        .map(|arrow| {
            json!({
                "from": arrow.from.letter(),
                "event": arrow.event.name(),
                "to": arrow.to.letter(),
                "reads": arrow.sent.reads,
                "owns": arrow.sent.owns,
                "announcements": arrow.sent.announcements,
                "invalidations": arrow.sent.invalidations,
                "transfers": arrow.sent.transfers,
                "from_memory": arrow.sent.from_memory,
                "write_backs": arrow.sent.write_backs,
            })
        })
        .collect();
    json!({ "protocol": "MESI", "cores": cores, "transitions": rows })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(cores: usize, from: State, event: Event) -> Arrow {
        let found = arrows(cores)
            .into_iter()
            .find(|arrow| arrow.from == from && arrow.event == event);
        found.expect("every state and event is there")
    }

    #[test]
    fn who_writes_a_shared_line_takes_it_from_all_others() {
        let arrow = of(8, State::Shared, Event::LocalWrite);
        assert_eq!(arrow.to, State::Modified);
        assert_eq!((arrow.sent.rfos(), arrow.sent.invalidations), (1, 7));
        let silent = of(8, State::Exclusive, Event::LocalWrite);
        assert_eq!((silent.to, silent.sent.requests()), (State::Modified, 0));
    }

    #[test]
    fn text_and_json_have_all_sixteen_arrows() {
        let text = coherence_table(2, 100);
        assert!(
            text.contains("local read") && text.contains("RFO, no data"),
            "{text}"
        );
        let rows = text.lines().filter(|line| line.contains("remote write"));
        // One in the protocol's heading, and one a state.
        assert_eq!(rows.count(), 5, "{text}");
        let value = coherence_json(2);
        assert_eq!(value["transitions"].as_array().map(Vec::len), Some(16));
    }
}
