//! The accesses of a program's threads to lines, from valgrind's trace or from samples.
//!
//! `--tool=lackey --trace-mem=yes` prints the accesses without their threads. `--trace-sched=yes` prints
//! every switch of the running thread between them, because valgrind runs one thread at a time. valgrind
//! reuses the number of a thread that has ended; here every thread has its own number.

use std::collections::HashMap;

use anyhow::{Result, bail};

use super::model::{Order, Turns, in_turns};
use crate::order;
use crate::sim::Op;
use crate::sim::trace::lackey;

/// A bit per byte of a line.
pub type Bytes = u128;

/// Maximum number of lines that are kept. They take several gigabytes, plus a bit per access.
const MOST_LINES: usize = 1 << 25;

/// The accesses of a thread to a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The thread, numbered from 1 in the order in which the threads began.
    pub thread: usize,
    pub reads: Bytes,
    pub writes: Bytes,
    pub accesses: u64,
    /// Whether each of the first accesses was a read or a write, in order.
    pub order: Order,
    /// Number of accesses that wrote.
    pub stores: u64,
    /// Number of accesses that found the line modified by another core, if samples report it.
    pub modified: u64,
}

/// A line that is shared falsely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedLine {
    /// Address of the first byte.
    pub address: u64,
    /// The threads that access the line often.
    pub parts: Vec<Part>,
    /// Whether threads also touch the same bytes of the line.
    pub truly: bool,
    /// Whether two of the threads that share the line falsely were alive at the same time in the trace.
    pub at_once: bool,
    /// The largest weight of the pairs of threads that share the line falsely. The weight of a pair is the
    /// number of accesses of its less active thread.
    pub weight: u64,
    /// The coherence messages of the threads if their accesses are interleaved.
    pub in_turns: Turns,
}

/// The life of a thread: the number of all threads' accesses before its start and, if it has ended, before
/// its end.
#[derive(Clone, Copy, Debug, Default)]
struct Lifetime {
    first: u64,
    last: Option<u64>,
    /// The number of the thread in the trace.
    number: u64,
}

/// The accesses that were read so far.
#[derive(Debug, Default)]
pub struct Trace {
    line: u64,
    lines: HashMap<u64, Vec<Part>>,
    lives: Vec<Lifetime>,
    /// The thread that currently has each of valgrind's or the kernel's numbers.
    named: HashMap<u64, usize>,
    /// The running thread.
    current: usize,
    pub accesses: u64,
}

impl Trace {
    /// Creates an empty trace with lines of `line` bytes, at most 128.
    pub fn new(line: u64) -> Self {
        Trace { line, ..Trace::default() }
    }

    pub fn threads(&self) -> usize {
        self.lives.len()
    }

    /// Returns the kernel's number of a sampled thread.
    pub fn number(&self, thread: usize) -> u64 {
        self.lives[thread - 1].number
    }

    /// Adds a sample of the thread with this number. The size of the access is unknown, so that only its
    /// first byte counts.
    ///
    /// # Errors
    /// If the program touches more lines than are kept.
    pub fn sample(&mut self, number: u64, address: u64, op: Op, modified: bool) -> Result<()> {
        self.enter(number);
        self.touch(address, 1, op, modified)
    }

    /// Makes the thread with this number the running thread.
    fn enter(&mut self, number: u64) {
        let (lives, first) = (&mut self.lives, self.accesses);
        self.current = *self.named.entry(number).or_insert_with(|| {
            lives.push(Lifetime { first, last: None, number });
            lives.len()
        });
    }

    /// Ends the thread with this number. Another thread may get the number afterwards.
    pub fn end(&mut self, number: u64) {
        if let Some(thread) = self.named.remove(&number) {
            self.lives[thread - 1].last = Some(self.accesses);
        }
    }

    /// Reads a line of the trace. Returns `false` if the line is neither an access nor a switch of the
    /// running thread.
    ///
    /// # Errors
    /// If the program touches more lines than are kept.
    pub fn read(&mut self, text: &[u8]) -> Result<bool> {
        if let Some(access) = lackey::parse(text) {
            if access.op != Op::Fetch && self.current > 0 {
                self.touch(access.address, u64::from(access.bytes), access.op, false)?;
            }
            return Ok(true);
        }
        let Some((number, what)) = scheduled(text) else { return Ok(false) };
        if what.starts_with(b"acquired lock") {
            self.enter(number);
        } else if what.starts_with(b"release lock in VG_(exit_thread)") {
            self.end(number);
        }
        Ok(true)
    }

    fn touch(&mut self, address: u64, bytes: u64, op: Op, modified: bool) -> Result<()> {
        self.accesses += 1;
        let (mut at, end) = (address, address.saturating_add(bytes));
        while at < end {
            let base = at - at % self.line;
            let part_end = end.min(base.saturating_add(self.line));
            let mask = bits(at - base, part_end - at);
            if self.lines.len() >= MOST_LINES && !self.lines.contains_key(&base) {
                bail!(
                    "the program touches more than {MOST_LINES} lines; trace a shorter run, or one \
                     of less memory"
                );
            }
            let parts = self.lines.entry(base).or_default();
            let thread = self.current;
            let known = parts.iter().position(|part| part.thread == thread);
            let place = known.unwrap_or_else(|| {
                // Reserves room for one part, because most lines are touched by one thread only.
                parts.reserve_exact(1);
                parts.push(Part { thread, ..Part::default() });
                parts.len() - 1
            });
            let part = &mut parts[place];
            part.accesses += 1;
            part.order.push(op != Op::Load);
            part.modified += u64::from(modified);
            if op != Op::Store {
                part.reads |= mask;
            }
            if op != Op::Load {
                part.writes |= mask;
                part.stores += 1;
            }
            at = part_end;
        }
        Ok(())
    }

    fn at_once(&self, a: usize, b: usize) -> bool {
        let [a, b] = [a, b].map(|thread| self.lives[thread - 1]);
        let before =
            |one: Lifetime, other: Lifetime| one.last.is_some_and(|last| last <= other.first);
        !before(a, b) && !before(b, a)
    }

    /// Returns the falsely shared lines, and the number of lines that are shared at the same bytes only.
    ///
    /// A line is shared falsely if two threads access it at least `least` times each, at least one of them
    /// writes, and they touch different bytes. Lines with the most accesses that found them modified by
    /// another core come first, then lines with the greatest weight.
    pub fn shared(&self, least: u64) -> (Vec<SharedLine>, usize) {
        let (mut falsely, mut truly_alone) = (Vec::new(), 0);
        for (&address, parts) in &self.lines {
            let often = parts.iter().filter(|part| part.accesses >= least);
            let parts: Vec<Part> = often.cloned().collect();
            let (mut truly, mut at_once, mut weight) = (false, false, 0);
            for (index, a) in parts.iter().enumerate() {
                for b in &parts[index + 1..] {
                    if a.writes == 0 && b.writes == 0 {
                        continue;
                    }
                    let touched = |part: &Part| part.reads | part.writes;
                    if a.writes & touched(b) != 0 || b.writes & touched(a) != 0 {
                        truly = true;
                        continue;
                    }
                    at_once |= self.at_once(a.thread, b.thread);
                    weight = weight.max(a.accesses.min(b.accesses));
                }
            }
            if weight > 0 {
                let orders: Vec<&Order> = parts.iter().map(|part| &part.order).collect();
                falsely.push(SharedLine {
                    address,
                    in_turns: in_turns(&orders),
                    parts,
                    truly,
                    at_once,
                    weight,
                });
            } else if truly {
                truly_alone += 1;
            }
        }
        order::by_key(&mut falsely, |line| {
            let modified: u64 = line.parts.iter().map(|part| part.modified).sum();
            (core::cmp::Reverse((modified, line.weight)), line.address)
        });
        (falsely, truly_alone)
    }
}

/// Returns the mask of `count` bytes from `first` on.
fn bits(first: u64, count: u64) -> Bytes {
    let all = if count >= 128 { Bytes::MAX } else { (1 << count) - 1 };
    all << first
}

/// Returns the stretches of a mask: the first byte and the number of bytes of each.
pub fn stretches(mask: Bytes) -> Vec<(u32, u32)> {
    let (mut left, mut at, mut found) = (mask, 0, Vec::new());
    while left != 0 {
        let gap = left.trailing_zeros();
        left >>= gap;
        let count = left.trailing_ones();
        found.push((at + gap, count));
        at += gap + count;
        left = left.checked_shr(count).unwrap_or(0);
    }
    found
}

/// Parses `--4711--   SCHED[2]:  acquired lock (...)`: valgrind's number of the thread, and the event.
fn scheduled(text: &[u8]) -> Option<(u64, &[u8])> {
    const MARK: &[u8] = b"SCHED[";
    let rest = text.strip_prefix(b"--")?;
    let at = rest.windows(MARK.len()).position(|part| part == MARK)?;
    let rest = &rest[at + MARK.len()..];
    let end = rest.iter().position(|byte| *byte == b']')?;
    let number = str::from_utf8(&rest[..end]).ok()?.parse().ok()?;
    let what = rest[end + 1..].strip_prefix(b":")?;
    Some((number, what.trim_ascii()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Trace {
        let mut trace = Trace::new(64);
        for line in text.lines() {
            trace.read(line.as_bytes()).unwrap();
        }
        trace
    }

    const BEGIN: &str = "  acquired lock (thread_wrapper(starting new thread))";
    const GO_ON: &str = "  acquired lock (VG_(scheduler):timeslice)";
    const END: &str = " release lock in VG_(exit_thread)";

    fn scheduled(number: u64, what: &str) -> String {
        format!("--7--   SCHED[{number}]:{what}\n")
    }

    #[test]
    fn threads_are_told_apart_also_where_a_number_comes_again() {
        let text = [
            scheduled(1, BEGIN),
            " S 1000,8\n".repeat(3),
            scheduled(2, BEGIN),
            " M 1008,8\nI  1010,4\n".repeat(5),
            scheduled(2, END),
            scheduled(2, BEGIN),
            " L 1010,8\n".repeat(7),
            scheduled(1, GO_ON),
            " S 1000,8\n".to_owned(),
        ]
        .concat();
        let trace = read(&text);
        assert_eq!((trace.threads(), trace.accesses), (3, 16));
        let (lines, truly) = trace.shared(1);
        let [line] = &lines[..] else { panic!("one line is shared: {lines:?}") };
        let parts =
            line.parts.iter().map(|part| (part.thread, part.reads, part.writes, part.accesses));
        assert_eq!(
            parts.collect::<Vec<_>>(),
            [(1, 0, 0xFF, 4), (2, 0xFF00, 0xFF00, 5), (3, 0xFF_0000, 0, 7)]
        );
        assert_eq!((line.truly, line.at_once, line.weight, truly), (false, true, 5, 0));
        assert_eq!(trace.shared(5).0[0].parts.len(), 2, "the first writes it four times only");
        assert!(!trace.shared(5).0[0].at_once, "one of these ended before the other began");
    }

    #[test]
    fn bytes_decide_between_true_and_false_sharing() {
        let of = |second: &str| {
            let first = [scheduled(1, BEGIN), " S 1000,8\n".repeat(9)].concat();
            let trace = read(&[first, scheduled(2, BEGIN), second.repeat(9)].concat());
            let (falsely, truly) = trace.shared(1);
            (falsely.len(), truly)
        };
        assert_eq!(of(" L 1008,8\n"), (1, 0));
        assert_eq!(of(" L 1004,8\n"), (0, 1));
        assert_eq!(of(" L 1040,8\n"), (0, 0), "another line");
        // Accesses to two lines.
        assert_eq!(of(" S ffc,4\n S 103c,8\n"), (1, 0));
    }

    #[test]
    fn threads_take_turns_although_valgrind_ran_them_one_after_the_other() {
        let other = [scheduled(2, BEGIN), " M 1008,8\n".repeat(3)].concat();
        let text = [scheduled(1, BEGIN), " S 1000,8\n".repeat(3), other].concat();
        let turns = read(&text).shared(1).0[0].in_turns;
        // Six interleaved writes: the first gets the line from memory, the other five from the other thread.
        // In the order of the trace the line moved once.
        let messages = turns.messages;
        assert_eq!((turns.accesses, messages.transfers), (6, 5));
        assert_eq!((messages.invalidations, messages.owns), (5, 6));
        // A thread with too few accesses is not part of the simulation.
        let third = [scheduled(3, BEGIN), " S 1010,8\n".repeat(2)].concat();
        assert_eq!(read(&[text, third].concat()).shared(3).0[0].in_turns, turns);
    }

    #[test]
    fn masks_are_stretches_of_bytes() {
        assert_eq!(stretches(0), []);
        assert_eq!(stretches(0b1_0110), [(1, 2), (4, 1)]);
        assert_eq!(stretches(Bytes::MAX), [(0, 128)]);
        assert_eq!(stretches(bits(120, 8)), [(120, 8)]);
    }
}
