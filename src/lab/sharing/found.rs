//! Falsely shared lines of a watched program, as text and as JSON.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::MOST_THREADS;
use super::model::{MOST, Turns};
use super::program::{How, Sampling, Traced, Variable};
use super::trace::{Bytes, Part, SharedLine, stretches};
use crate::lab::layout::print::first_of;
use crate::lab::layout::{Binary, Contents, Places};
use crate::mem::LINE;
use crate::order;

/// The falsely shared lines of a watched program.
#[derive(Debug)]
pub struct FalselyShared<'t> {
    traced: &'t Traced,
    /// The lines to show, each with the variables on it.
    lines: Vec<(SharedLine, Vec<&'t Variable>)>,
    /// Number of lines that threads share at the same bytes only.
    truly: usize,
    line: u64,
    /// The least number of accesses of a thread that is reported.
    least: u64,
    /// The contents of the variables by their addresses in the file, or why they are unknown.
    contents: Result<HashMap<u64, Contents>, String>,
}

/// Maximum number of fields that are named per thread.
const NAMED: usize = 6;

impl<'t> FalselyShared<'t> {
    /// Finds the lines of `line` bytes that are shared falsely by threads that access them at least `least`
    /// times each. Threads that were not alive at the same time count as well under valgrind, which may run
    /// one thread to its end before it begins the next. Without a variable the memory may also have been
    /// reused, so these lines come last. Samples tell when threads lived. Fields are named if `places`
    /// has debug information.
    pub fn of(traced: &'t Traced, line: u64, least: u64, places: &Places<'_>) -> Self {
        let (lines, truly) = traced.trace.shared(least);
        let named = lines.into_iter().map(|shared| {
            let end = shared.address + line;
            let on = |of: &&Variable| of.address < end && shared.address < of.address + of.size;
            let mut on: Vec<&Variable> = traced.variables.iter().filter(on).collect();
            order::by_key(&mut on, |of| (of.address, &of.name));
            on.dedup_by_key(|of| of.address);
            (shared, on)
        });
        let (mut lines, reused): (Vec<_>, Vec<_>) =
            named.partition(|(line, on)| line.at_once || !on.is_empty());
        if let How::Valgrind { .. } = traced.how {
            lines.extend(reused);
        }
        let wanted: Vec<u64> =
            lines.iter().flat_map(|(_, on)| on.iter().map(|of| of.linked)).collect();
        let contents = match &traced.file {
            Some(file) if !wanted.is_empty() => {
                let binary = Binary::open(file, places);
                let contents = binary.and_then(|binary| binary.variables(&wanted));
                contents.map_err(|error| format!("{error:#}"))
            }
            _ => Ok(HashMap::new()),
        };
        FalselyShared { traced, contents, lines, truly, line, least }
    }

    /// Formats the lines, and how they were found.
    pub fn text(&self) -> String {
        let trace = &self.traced.trace;
        let (accesses, threads) = (trace.accesses, trace.threads());
        let s = if threads == 1 { "" } else { "s" };
        let mut text = match &self.traced.how {
            How::Valgrind { not_by_pmu } => {
                let reason = not_by_pmu.as_ref().map_or_else(String::new, |reason| {
                    format!("The PMU does not sample accesses here: {reason}.\n")
                });
                format!(
                    "{reason}{accesses} accesses by {threads} thread{s}. valgrind runs one at a \
                     time: the trace tells which bytes they touch and how often,\nbut not how \
                     often a line moves between cores. A MESI simulation estimates it: the named \
                     threads access the line\nin turn. Cores that keep a line \
                     for several accesses send fewer messages.\n"
                )
            }
            How::Pmu(sampling) => {
                format!("{accesses} samples of {threads} thread{s} in {}", sampling.words())
            }
        };
        if let Some(status) = &self.traced.status {
            text += &format!("The program ended with {status}.\n");
        }
        if let Err(reason) = &self.contents {
            text += &format!("Fields have no names: {reason}.\n");
        }
        for (shared, on) in &self.lines {
            let what = if shared.truly { "false and true sharing" } else { "false sharing" };
            text += &format!("\nLine {:#x}: {what}\n", shared.address);
            for part in &shared.parts {
                text += &format!("    {}\n", self.in_words(shared, part, on));
            }
            if !self.sampled() {
                text += &format!("    {}\n", turns_in_words(shared));
            }
            if !shared.at_once {
                text += match self.sampled() {
                    true => "    one after the other: the threads were not there at once\n",
                    false => {
                        "    one after the other in this trace; at once on several CPUs, perhaps\n"
                    }
                };
            }
            if let Some(command) = measured_by(shared, self.line) {
                text += &format!("    what it costs here: {command}\n");
            }
        }
        let lines = match self.lines.len() {
            0 => "No line is".to_owned(),
            1 => "1 line is".to_owned(),
            count => format!("{count} lines are"),
        };
        let what = if self.sampled() { "samples" } else { "accesses" };
        text += &format!(
            "\n{lines} shared falsely by threads with at least {} {what} each.",
            self.least
        );
        if self.truly > 0 {
            text += &format!(
                " {} more {} shared at the same bytes (locks, queues), which padding does not \
                 change.",
                self.truly,
                if self.truly == 1 { "is" } else { "are" }
            );
        }
        text
    }

    /// Formats a thread's accesses to a line: `thread 2 writes pool+8 to pool+15, reads ...; 3000 accesses`.
    fn in_words(&self, shared: &SharedLine, part: &Part, on: &[&Variable]) -> String {
        let within = |byte: u32| {
            let address = shared.address + u64::from(byte);
            let of = on.iter().find(|of| (of.address..of.address + of.size).contains(&address))?;
            Some((*of, address - of.address))
        };
        let place = |byte: u32| match within(byte) {
            Some((of, offset)) => format!("{}+{offset}", of.name),
            None => format!("byte {byte}"),
        };
        let field = |byte: u32| {
            let (of, offset) = within(byte)?;
            let contents = self.contents.as_ref().ok()?.get(&of.linked)?;
            let name = contents.name.as_ref().unwrap_or(&of.name);
            Some(name.clone() + &contents.words(offset, of.size)?)
        };
        let all = |bytes: Bytes| {
            let mut names: Vec<String> = Vec::new();
            for (first, count) in stretches(bytes) {
                let fields: Option<Vec<String>> = (first..first + count).map(field).collect();
                let stretch = match count {
                    1 => place(first),
                    _ => format!("{} to {}", place(first), place(first + count - 1)),
                };
                for name in fields.unwrap_or_else(|| vec![stretch]) {
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
            }
            first_of(&names, NAMED)
        };
        let mut does = Vec::new();
        if part.writes != 0 {
            does.push(format!("writes {}", all(part.writes)));
        }
        // Leaves out reads of bytes that the thread also writes: a read-modify-write reads them first.
        let reads = part.reads & !part.writes;
        if reads != 0 {
            does.push(format!("reads {}", all(reads)));
        }
        let (does, accesses) = (does.join(", "), part.accesses);
        let thread = self.thread(part);
        match self.sampled() {
            true => format!(
                "thread {thread} {does}; {accesses} samples: {} loads found the line modified by \
                 another core, {} stores",
                part.modified, part.stores
            ),
            false => format!("thread {thread} {does}; {accesses} accesses"),
        }
    }

    /// Returns the number of a thread: the trace's number under valgrind, the kernel's for samples.
    fn thread(&self, part: &Part) -> u64 {
        if self.sampled() { self.traced.trace.number(part.thread) } else { part.thread as u64 }
    }

    fn sampled(&self) -> bool {
        matches!(self.traced.how, How::Pmu(_))
    }

    /// Returns the lines, and how they were found, as JSON.
    pub fn json(&self) -> Value {
        let bytes = |mask| json!(stretches(mask));
        let sampled = self.sampled();
        let by = match &self.traced.how {
            How::Valgrind { not_by_pmu } => json!({ "tool": "valgrind", "not_by_pmu": not_by_pmu }),
            How::Pmu(sampling) => sampling.json(),
        };
        let part = |shared: &SharedLine, on: &[&Variable], part: &Part| {
            json!({
                "thread": self.thread(part),
                "does": self.in_words(shared, part, on),
                "writes": bytes(part.writes),
                "reads": bytes(part.reads),
                "accesses": part.accesses,
                "stores": part.stores,
                "loads_of_modified": sampled.then_some(part.modified),
            })
        };
        let lines = self.lines.iter().map(|(shared, on)| {
            let threads = shared.parts.iter().map(|of| part(shared, on, of));
            let on = on.iter().map(|of| {
                let offset = of.address as i64 - shared.address as i64;
                json!({ "name": of.name, "first_byte": offset, "size": of.size })
            });
            let in_turns = json!({
                "accesses": shared.in_turns.accesses,
                "transfers": shared.in_turns.messages.transfers,
                "invalidations": shared.in_turns.messages.invalidations,
                "rfos": shared.in_turns.messages.rfos(),
                "upgrades": shared.in_turns.messages.announcements,
            });
            // Samples have no order that could be simulated.
            let in_turns = (!sampled).then_some(in_turns);
            json!({
                "address": shared.address,
                "true_sharing": shared.truly,
                "at_once": shared.at_once,
                "threads": threads.collect::<Vec<_>>(),
                "in_turns": in_turns,
                "variables": on.collect::<Vec<_>>(),
                "measured_by": measured_by(shared, self.line),
            })
        });
        json!({
            "by": by,
            "accesses": self.traced.trace.accesses,
            "threads": self.traced.trace.threads(),
            "line": self.line,
            "ended": self.traced.status,
            "lines": lines.collect::<Vec<_>>(),
            "truly_shared_lines": self.truly,
        })
    }
}

/// Formats a line's coherence messages if its threads' accesses are interleaved, and how many are included.
fn turns_in_words(shared: &SharedLine) -> String {
    let Turns { accesses, messages } = shared.in_turns;
    let all: u64 = shared.parts.iter().map(|part| part.accesses).sum();
    let part = match accesses == all {
        true => String::new(),
        false => format!(" (the first {MOST} accesses of each)"),
    };
    format!(
        "if they take turns{part}: {} transfers, {} invalidations, {} RFOs ({} of them upgrades)",
        messages.transfers,
        messages.invalidations,
        messages.rfos(),
        messages.announcements
    )
}

impl Sampling {
    /// Formats the text after the number of samples: time, events, and missing samples.
    fn words(&self) -> String {
        let event = |(name, period): &(String, u64)| format!("1 of {period} by {name}");
        let events: Vec<String> = self.events.iter().map(event).collect();
        let mut text = format!(
            "{:.1} s, {}. A sample names the first byte of an access, and not how many.\n",
            self.seconds,
            events.join(", ")
        );
        if self.lost > 0 {
            text +=
                &format!("{} more samples were lost, because the buffer was full.\n", self.lost);
        }
        if self.blank > 0 {
            text += &format!("{} more samples were not accesses of the program.\n", self.blank);
        }
        if let Some(reason) = &self.unwatched {
            text += &format!("Some threads were not watched: {reason}.\n");
        }
        text
    }

    fn json(&self) -> Value {
        let events = self.events.iter();
        let events = events.map(|(name, period)| json!({ "name": name, "period": period }));
        json!({
            "tool": "pmu",
            "events": events.collect::<Vec<_>>(),
            "seconds": self.seconds,
            "lost": self.lost,
            "blank": self.blank,
            "unwatched": self.unwatched,
        })
    }
}

/// Returns the command that measures the cost of sharing a line as these threads do. `None` if two of the
/// threads touch the same bytes, or there are more threads than the command accepts.
fn measured_by(shared: &SharedLine, line: u64) -> Option<String> {
    if shared.truly || shared.parts.len() > MOST_THREADS {
        return None;
    }
    // The longest stretch of each first byte: an offset is named once.
    let mut offsets: Vec<(u32, u32)> = Vec::new();
    let (mut writes, mut reads) = (Vec::new(), Vec::new());
    for (thread, part) in shared.parts.iter().enumerate() {
        let read = part.reads & !part.writes;
        for (mask, list) in [(part.writes, &mut writes), (read, &mut reads)] {
            for (first, count) in stretches(mask) {
                match offsets.iter_mut().find(|(of, _)| *of == first) {
                    Some((_, most)) => *most = count.max(*most),
                    None => offsets.push((first, count)),
                }
                list.push(format!("{thread}:{first}"));
            }
        }
    }
    let mut command = "linefill sharing".to_owned();
    for (first, count) in offsets {
        command += &format!(" --offset {first}:{count}");
    }
    command += " --start 0";
    if line != LINE as u64 {
        command += &format!(" --line {line}");
    }
    for (option, list) in [("--writes", writes), ("--reads", reads)] {
        if !list.is_empty() {
            command += &format!(" {option} {}", list.join(","));
        }
    }
    Some(command)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::sharing::model::Order;
    use crate::lab::sharing::trace::Trace;
    use crate::sim::mesi::Messages;

    #[test]
    fn a_line_on_the_heap_is_shown_last_if_its_threads_ran_one_after_the_other() {
        let mut trace = Trace::new(64);
        let life = |number: u64, accesses: &str| {
            format!(
                "--7--   SCHED[{number}]:  acquired lock (thread_wrapper(starting new \
                 thread))\n{accesses}\
                 --7--   SCHED[{number}]: release lock in VG_(exit_thread)\n"
            )
        };
        let both =
            "--7--   SCHED[3]:  acquired lock (thread_wrapper(starting new thread))\n S 2000,8\n";
        let lives = [
            life(2, &" S 1000,8\n".repeat(9)),
            life(2, &" M 1008,8\n".repeat(9)),
            life(
                2,
                &format!(
                    "{both}--7--   SCHED[2]:  acquired lock (VG_(scheduler):timeslice)\n S 2008,8\n"
                ),
            ),
        ];
        for line in lives.concat().lines() {
            trace.read(line.as_bytes()).unwrap();
        }
        let mut traced = Traced {
            trace,
            variables: Vec::new(),
            file: None,
            status: None,
            how: How::Valgrind { not_by_pmu: None },
        };
        let places = Places { named: None, tree: std::path::Path::new("/nonexistent") };
        let found = FalselyShared::of(&traced, 64, 1, &places);
        let lines = found.lines.iter();
        let lines: Vec<_> = lines.map(|(line, _)| (line.address, line.at_once)).collect();
        assert_eq!(lines, [(0x2000, true), (0x1000, false)]);
        assert!(found.text().contains("at once on several CPUs, perhaps"));
        assert_eq!(found.json()["lines"][1]["at_once"], false);
        // Samples tell when threads lived: the memory was reused.
        traced.how = How::Pmu(Sampling::default());
        let found = FalselyShared::of(&traced, 64, 1, &places);
        assert_eq!(found.lines.len(), 1);
    }

    #[test]
    fn the_command_names_each_offset_once_and_the_line() {
        let part = |thread, writes, reads| Part {
            thread,
            writes,
            reads,
            accesses: 9,
            order: Order::default(),
            stores: 0,
            modified: 0,
        };
        let shared = SharedLine {
            address: 0,
            parts: vec![part(1, 0, 0xF), part(2, 0, 0xFF), part(3, 0xFF00, 0)],
            truly: false,
            at_once: true,
            weight: 9,
            in_turns: Turns { accesses: 0, messages: Messages::default() },
        };
        let command = |line| measured_by(&shared, line).unwrap();
        let usual =
            "linefill sharing --offset 0:8 --offset 8:8 --start 0 --writes 2:8 --reads 0:0,1:0";
        assert_eq!(command(64), usual);
        let start = "--start 0 --line 128 --writes";
        assert_eq!(command(128), usual.replace("--start 0 --writes", start));
        let many =
            SharedLine { parts: (0..=MOST_THREADS).map(|of| part(of, 1, 0)).collect(), ..shared };
        assert_eq!(measured_by(&many, 64), None);
    }
}
