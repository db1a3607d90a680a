//! What the threads of a program touch, from valgrind's trace of its accesses or from samples.
//!
//! `--tool=lackey --trace-mem=yes` prints the accesses without their threads, and `--trace-sched=yes`
//! every change of the thread between them: valgrind runs one thread at a time. A number of valgrind's
//! is given to another thread once its thread has ended; here each has a number of its own.

use std::collections::HashMap;

use anyhow::{Result, bail};

use super::model::{Order, Turns, in_turns};
use crate::order;
use crate::sim::Op;
use crate::sim::trace::lackey;

/// The bytes of a line, a bit each.
pub type Bytes = u128;

/// The most lines that are kept: some gigabytes, and a bit per access.
const MOST_LINES: usize = 1 << 25;

/// What a thread did to a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The thread, from 1 in the order in which they began.
    pub thread: usize,
    /// The bytes that it read.
    pub reads: Bytes,
    /// The bytes that it wrote.
    pub writes: Bytes,
    /// How often it accessed the line.
    pub accesses: u64,
    /// The first of its accesses, in their order.
    pub order: Order,
    /// How often it wrote it.
    pub stores: u64,
    /// How often it found the line modified by another core, where samples tell.
    pub modified: u64,
}

/// A line that threads share without need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedLine {
    /// Its first byte.
    pub address: u64,
    /// The threads that touch it often.
    pub parts: Vec<Part>,
    /// Whether threads also touch the same bytes of it.
    pub truly: bool,
    /// Whether two of the threads that share it falsely were there at the same time in the trace.
    pub at_once: bool,
    /// Accesses of the lesser one of two that share it falsely.
    pub weight: u64,
    /// What its threads send each other if they take turns.
    pub in_turns: Turns,
}

/// A thread's first access and its last, counted over all of them; no last one if it never ended.
#[derive(Clone, Copy, Debug, Default)]
struct Life {
    first: u64,
    last: Option<u64>,
    /// The number that it was given in the trace.
    number: u64,
}

/// All that was read so far.
#[derive(Debug)]
pub struct Trace {
    line: u64,
    lines: HashMap<u64, Vec<Part>>,
    lives: Vec<Life>,
    /// Which thread has a number of valgrind's, or of the kernel's.
    named: HashMap<u64, usize>,
    /// The thread that runs.
    current: usize,
    /// Accesses so far.
    pub accesses: u64,
}

impl Trace {
    /// An empty one, of lines of `line` bytes: at most 128.
    pub fn new(line: u64) -> Self {
        Trace {
            line,
            lines: HashMap::new(),
            lives: Vec::new(),
            named: HashMap::new(),
            current: 0,
            accesses: 0,
        }
    }

    /// How many threads there were.
    pub fn threads(&self) -> usize {
        self.lives.len()
    }

    /// The kernel's number of a thread that was sampled.
    pub fn number(&self, thread: usize) -> u64 {
        self.lives[thread - 1].number
    }

    /// Takes a sample of the thread that has this number. How many bytes it accessed is not known: the first
    /// stands for all.
    ///
    /// # Errors
    /// If the program touches more lines than are kept.
    pub fn sample(&mut self, number: u64, address: u64, op: Op, modified: bool) -> Result<()> {
        self.enter(number);
        self.touch(address, 1, op, modified)
    }

    /// The thread with this number runs from now on.
    fn enter(&mut self, number: u64) {
        let (lives, first) = (&mut self.lives, self.accesses);
        self.current = *self.named.entry(number).or_insert_with(|| {
            lives.push(Life {
                first,
                last: None,
                number,
            });
            lives.len()
        });
    }

    /// The thread with this number has ended; another may be given the number.
    pub fn end(&mut self, number: u64) {
        if let Some(thread) = self.named.remove(&number) {
            self.lives[thread - 1].last = Some(self.accesses);
        }
    }

    /// Reads a line of the trace. `false` if it is neither an access nor a change of the thread.
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
        let Some((number, what)) = scheduled(text) else {
            return Ok(false);
        };
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
                    "the program touches more than {MOST_LINES} lines; trace a shorter run, or one of less \
                     memory"
                );
            }
            let parts = self.lines.entry(base).or_default();
            let thread = self.current;
            let place = match parts.iter().position(|part| part.thread == thread) {
                Some(place) => place,
                None => {
                    let part = Part {
                        thread,
                        ..Part::default()
                    };
                    // Most lines have one thread.
                    parts.reserve_exact(1);
                    parts.push(part);
                    parts.len() - 1
                }
            };
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

    /// Whether two threads were there at the same time.
    fn at_once(&self, a: usize, b: usize) -> bool {
        let [a, b] = [a, b].map(|thread| self.lives[thread - 1]);
        let before = |one: Life, other: Life| one.last.is_some_and(|last| last <= other.first);
        !before(a, b) && !before(b, a)
    }

    /// The lines that two threads or more access `least` times each, at least one of them writing, and
    /// some of them at bytes that the others leave alone. First come those that most loads found modified by
    /// another core, then those that most accesses may fight over. And how many lines threads share at the
    /// same bytes alone.
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

/// The bits of `count` bytes from `first` on.
fn bits(first: u64, count: u64) -> Bytes {
    let all = if count >= 128 {
        Bytes::MAX
    } else {
        (1 << count) - 1
    };
    all << first
}

/// The stretches of bytes that a mask has: the first byte of each, and how many.
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

/// Reads `--4711--   SCHED[2]:  acquired lock (...)`: valgrind's number of the thread, and what it does.
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
        let [line] = &lines[..] else {
            panic!("one line is shared: {lines:?}");
        };
        let parts = line
            .parts
            .iter()
            .map(|part| (part.thread, part.reads, part.writes, part.accesses));
        assert_eq!(
            parts.collect::<Vec<_>>(),
            [
                (1, 0, 0xFF, 4),
                (2, 0xFF00, 0xFF00, 5),
                (3, 0xFF_0000, 0, 7)
            ]
        );
        assert_eq!(
            (line.truly, line.at_once, line.weight, truly),
            (false, true, 5, 0)
        );
        assert_eq!(
            trace.shared(5).0[0].parts.len(),
            2,
            "the first writes it four times only"
        );
        assert!(
            !trace.shared(5).0[0].at_once,
            "one of these ended before the other began"
        );
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
        // Across two lines.
        assert_eq!(of(" S ffc,4\n S 103c,8\n"), (1, 0));
    }

    #[test]
    fn threads_take_turns_although_valgrind_ran_them_one_after_the_other() {
        let other = [scheduled(2, BEGIN), " M 1008,8\n".repeat(3)].concat();
        let text = [scheduled(1, BEGIN), " S 1000,8\n".repeat(3), other].concat();
        let turns = read(&text).shared(1).0[0].in_turns;
        // Six writes in turn: the first has the line from memory, five from the other thread. In the order
        // of the trace it moved once.
        let messages = turns.messages;
        assert_eq!((turns.accesses, messages.transfers), (6, 5));
        assert_eq!((messages.invalidations, messages.owns), (5, 6));
        // A thread that is not named takes no turn.
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
