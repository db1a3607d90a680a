//! The coherence protocol between several caches: Figure 3.18 as a table, with each transition's messages.

use anyhow::Result;
use serde_json::{Value, json};

use super::{CaseRun, Choice, cases_json, chosen, laid_out};
use crate::experiment::{Arena, Case, Context, Experiment, Machine, Timing, Untestable, Workload};
use crate::kernel::Kind;
use crate::lab::terminal::{table, table_text};
use crate::mem::LINE as BYTES;
use crate::os::Worker;
use crate::sim::mesi::{Event, Mesi, Messages, Protocol, State};

/// The line on which the events occur.
const LINE: u64 = 0;

/// A transition: the effect of an event on a line, and the messages that it sends.
struct Arrow {
    from: State,
    event: Event,
    to: State,
    sent: Messages,
}

/// Returns the transitions for every state and event among `cores` caches. The first cache has the line in
/// the state; if the state is S, all other caches share it. Remote reads and writes come from the second
/// cache.
fn arrows(cores: usize) -> Vec<Arrow> {
    let all = State::ALL.into_iter().flat_map(|from| Event::ALL.map(|event| (from, event)));
    let arrows = all.map(|(from, event)| {
        let mut caches = Mesi::in_state(Protocol::MESI, cores, LINE, from);
        let (to, sent) = caches.happen(event, LINE);
        Arrow { from, event, to, sent }
    });
    arrows.collect()
}

/// The headings of the messages in a table.
const SENT: [&str; 6] =
    ["requests", "RFOs", "invalidated", "between caches", "from memory", "to memory"];

/// Returns the numbers below the headings [`SENT`].
fn counts(sent: Messages) -> [u64; 6] {
    [
        sent.requests(),
        sent.rfos(),
        sent.invalidations,
        sent.transfers,
        sent.from_memory,
        sent.write_backs,
    ]
}

/// Formats the protocol, and the messages of each transition among `cores` cores, at least two.
pub fn coherence_table(cores: usize, width: u16) -> String {
    let mut table = table(&[&["from", "event", "to"][..], &SENT].concat(), width);
    for arrow in arrows(cores) {
        let mut row = vec![
            arrow.from.letter().to_string(),
            arrow.event.name().to_owned(),
            arrow.to.letter().to_string(),
        ];
        row.extend(counts(arrow.sent).map(|count| count.to_string()));
        table.add_row(row);
    }
    format!(
        "{}\n\nmessages among {cores} cores, a shared line being in all of their caches\n{}\n",
        Protocol::MESI,
        table_text(&table)
    )
}

/// Returns the transitions and their messages as JSON.
pub fn coherence_json(cores: usize) -> Value {
    let row = |arrow: Arrow| {
        json!({
            "from": arrow.from.letter(),
            "event": arrow.event.name(),
            "to": arrow.to.letter(),
            "messages": messages(arrow.sent),
        })
    };
    let rows: Vec<Value> = arrows(cores).into_iter().map(row).collect();
    json!({ "protocol": "MESI", "cores": cores, "transitions": rows })
}

/// The messages between the caches of several cores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Traffic {
    /// Number of cores, one per thread.
    pub cores: usize,
    pub operations: u64,
    pub sent: Messages,
}

/// Operations per thread that are counted, and operations before them.
const COUNTED: u64 = 256;
const BEFORE: u64 = 4;

/// Runs the threads of an experiment's cases, one operation per thread in turn, each thread on its own core,
/// and counts the messages of their caches. An atomic operation is a load and a store.
pub fn count_traffic(
    experiment: &Experiment,
    machine: &Machine,
    context: &Context,
    choice: &Choice,
) -> Result<Vec<CaseRun<Traffic>>> {
    let mut arena = Arena::on(context.host);
    let cases = chosen(experiment, machine, choice)?.into_iter();
    let run = |case: Case| CaseRun {
        outcome: of_case(&case, &mut arena, context, choice),
        series: case.series,
        x: case.x,
    };
    Ok(cases.map(run).collect())
}

fn of_case(
    case: &Case,
    arena: &mut Arena,
    context: &Context,
    choice: &Choice,
) -> Result<Traffic, Untestable> {
    let Workload::Threads { mut workers, timing: Timing::AtOnce { .. } } =
        laid_out(case, arena, context, choice)?
    else {
        return Err(Untestable("it is not several threads'".to_owned()));
    };
    let mut caches = Mesi::new(Protocol::MESI, workers.len());
    in_turn(&mut workers, &mut caches, BEFORE);
    let before = caches.messages();
    let rounds = COUNTED * choice.laps;
    in_turn(&mut workers, &mut caches, rounds);
    Ok(Traffic {
        cores: workers.len(),
        operations: rounds * workers.len() as u64,
        sent: caches.messages() - before,
    })
}

fn in_turn(workers: &mut [Worker<'_>], caches: &mut Mesi, rounds: u64) {
    for _ in 0..rounds {
        for (core, worker) in workers.iter_mut().enumerate() {
            worker.kernel.trace(1, &mut |access| {
                let line = (access.offset / BYTES) as u64;
                match access.kind {
                    Kind::Load | Kind::Prefetch => caches.read(core, line),
                    Kind::Store | Kind::NonTemporalStore => caches.write(core, line, 0),
                };
            });
        }
    }
}

/// Formats the messages per operation of the threads' caches.
pub fn traffic_table(runs: &[CaseRun<Traffic>], width: u16) -> String {
    let mut table = table(&[&["series", "x", "cores"][..], &SENT].concat(), width);
    let mut notes = String::new();
    for run in runs {
        match &run.outcome {
            Ok(traffic) => {
                let mut row =
                    vec![run.series.clone(), run.x.to_string(), traffic.cores.to_string()];
                let each = |count| format!("{:.3}", count as f64 / traffic.operations as f64);
                row.extend(counts(traffic.sent).map(each));
                table.add_row(row);
            }
            Err(reason) => notes += &format!("{} at {}: {reason}\n", run.series, run.x),
        }
    }
    if table.is_empty() {
        return notes;
    }
    let what = "messages per operation, the threads doing one each in turn";
    format!("{}\n{what}\n{notes}", table_text(&table))
}

pub fn traffic_json(id: &str, runs: &[CaseRun<Traffic>]) -> Value {
    cases_json(id, runs, |traffic| {
        json!({
            "cores": traffic.cores,
            "operations": traffic.operations,
            "messages": messages(traffic.sent),
        })
    })
}

fn messages(sent: Messages) -> Value {
    json!({
        "reads": sent.reads,
        "owns": sent.owns,
        "announcements": sent.announcements,
        "invalidations": sent.invalidations,
        "transfers": sent.transfers,
        "from_memory": sent.from_memory,
        "write_backs": sent.write_backs,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(cores: usize, from: State, event: Event) -> Arrow {
        let found =
            arrows(cores).into_iter().find(|arrow| arrow.from == from && arrow.event == event);
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
        assert!(text.contains("local read") && text.contains("RFO, no data"), "{text}");
        let rows = text.lines().filter(|line| line.contains("remote write"));
        // One in the heading of the protocol, and one per state.
        assert_eq!(rows.count(), 5, "{text}");
        assert_eq!(coherence_json(2)["transitions"].as_array().map(Vec::len), Some(16));
    }
}
