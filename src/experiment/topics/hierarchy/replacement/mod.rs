//! Drepper 3.3.5, in passing: that sets replace by LRU. Which line a full set of L1d gives up.

use crate::experiment::prelude::*;
use crate::infer::{self, Found};
use crate::kernel::Revisit;
use crate::mem::{LINE, Region};
use crate::pattern::Visits;
use crate::stats::Interval;
use sequences::{Sequence, sequences};

mod sequences;

/// The place of every case on the axis.
const HERE: f64 = 1.0;

const HELD: &str = "lines that fill a set";
const LOST: &str = "four loads of each of many lines of a set";

/// The beginning of a sequence's series; the sequence's lines follow as letters.
const SEQUENCE: &str = "a set, in turn: ";

/// Loads of a line in a row where every line misses: a miss is seen alone, as in the sequences.
const ROW: usize = 4;

/// Ways of L1d, and bytes after which sets repeat, as CPUID has them.
fn shape(machine: &Machine) -> Option<(u32, usize)> {
    let cache = machine.data_cache(1)?;
    let ways = cache.ways.filter(|ways| *ways > 0)?;
    Some((ways, (cache.size / u64::from(ways)) as usize))
}

/// A set that is full, lines that surely miss, and the sequences. None without the ways of L1d.
pub(crate) fn cases(machine: &Machine) -> Vec<Case> {
    let Some((ways, apart)) = shape(machine) else {
        return Vec::new();
    };
    let case = |series: &str, lines: Vec<u8>| {
        Case::new(series, HERE, RevisitSetup { lines, apart }).in_large_pages()
    };
    // Four times the ways: no known policy keeps any of these lines.
    let held = ways.min(MOST_LINES) as u8;
    let many = (4 * ways).min(MOST_LINES) as u8;
    let row = |line| core::iter::repeat_n(line, ROW);
    let mut cases = vec![
        case(HELD, (0..held).collect()),
        case(LOST, (0..many).flat_map(row).collect()),
    ];
    cases.extend(sequences(ways).iter().map(|sequence| {
        let series = format!("{SEQUENCE}{}", sequence.letters());
        case(&series, sequence.lines.clone())
    }));
    cases
}

/// The most lines of one set that a setup lays out.
const MOST_LINES: u32 = 64;

/// Whether a series is one of these.
pub fn is_of(series: &str) -> bool {
    [HELD, LOST].contains(&series) || series.starts_with(SEQUENCE)
}

/// The policies that explain what was measured.
pub type Replaced = Found<Vec<&'static str>>;

/// Which policies explain the sequences that were measured, of those that the simulator knows.
///
/// # Errors
/// If the ways of L1d are unknown, or too little was measured.
pub fn replaced(e: &Evidence<'_>) -> Testable<Replaced> {
    let (ways, _) = shape(e.machine)
        .ok_or_else(|| Untestable("CPUID does not report the ways of L1d".to_owned()))?;
    let (held, lost) = (e.at(HELD, HERE)?, e.at(LOST, HERE)?);
    if sequences(ways).is_empty() {
        return Err(Untestable(format!(
            "no sequences are known that tell replacement policies apart in sets of {ways} ways"
        )));
    }
    let miss = beyond(lost, held, ROW);
    if miss.lo <= 0.0 {
        return Err(Untestable(format!(
            "lines that overfill a set take {lost} core cycles per load, and lines that fit take \
             {held}: the cost of a miss does not show"
        )));
    }
    let mut measured: Vec<Sequence> = Vec::new();
    let mut missed: Vec<Interval> = Vec::new();
    for point in e.points {
        let letters = point.series.strip_prefix(SEQUENCE);
        let Some(sequence) = letters.and_then(Sequence::parse) else {
            continue;
        };
        let more = beyond(e.at(&point.series, point.x)?, held, sequence.lines.len());
        missed.push(Interval::new(more.lo / miss.hi, more.hi / miss.lo));
        measured.push(sequence);
    }
    if measured.is_empty() {
        return Err(Untestable(format!(
            "no sequence was measured in a set of {ways} ways"
        )));
    }
    let known = sequences::known(&measured, ways);
    infer::replacement(&missed, &known)
        .ok_or_else(|| Untestable("no sequence of loads was measured".to_owned()))
}

/// How much longer a round of `loads` loads takes than a round of lines that are held.
fn beyond(load: Interval, held: Interval, loads: usize) -> Interval {
    minus(load, held).scaled(loads as f64)
}

/// How sure an answer has to be.
const SURE: f64 = 0.9;

/// The claim about the policy.
// Most caches evict the least recently used line first.
pub(crate) const LRU: Claim = measured(
    "D32.2",
    drepper("3.3.5"),
    "a full set of L1d evicts the line that was used longest ago: of the known policies, only LRU \
     explains the times of the test's sequences of loads",
    judge,
)
.failing("L1d uses an approximation of LRU, or another policy.");

fn judge(e: &Evidence<'_>) -> Judged {
    let found = replaced(e)?;
    let lru = found.value.contains(&sequences::LRU);
    let verdict = match (lru, found.value.len()) {
        (true, 1) if found.confidence >= SURE => Verdict::Holds,
        // If no policy explains the times, the cause may be noise or an unknown policy.
        (false, 1..) if found.confidence >= SURE => Verdict::DoesNotHold,
        _ => Verdict::Inconclusive,
    };
    Ok(Judgement {
        verdict,
        numbers: format!(
            "explained by {}; {:.0} % of random times within the measured intervals give the same \
             answer",
            named(&found.value),
            found.confidence * 100.0
        ),
        value: None,
    })
}

/// The names of policies, in a sentence.
pub fn named(policies: &[&str]) -> String {
    match policies {
        [] => "none of the known policies".to_owned(),
        _ => policies.join(" or "),
    }
}

/// Bytes of a word.
const WORD: usize = 8;

/// Lines that addresses can belong to, all of one set.
const LINES: usize = 64;

/// A round over lines of one set. An operation is a load.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RevisitSetup {
    /// The lines in the order of their visits, numbered from 0, 64 at most. A line has room for
    /// eight visits a round.
    pub lines: Vec<u8>,
    /// Bytes after which an address falls into the same set.
    pub apart: usize,
}

impl RevisitSetup {
    /// Where each visit loads. No two lines in a row have the same distance for long, lest a
    /// prefetcher take them for a stream: triangular numbers come by all of 64 places.
    fn places(&self) -> Option<Vec<usize>> {
        // Any set will do that is not the first, where much of a page begins.
        let set = self.apart / 3 / LINE * LINE;
        let mut visits = [0; LINES];
        let places = self.lines.iter().map(|&line| {
            let line = usize::from(line);
            let word = visits.get_mut(line)?;
            let at = line * (line + 1) / 2 % LINES * self.apart + set + *word * WORD;
            *word += 1;
            (*word <= LINE / WORD).then_some(at)
        });
        places.collect()
    }
}

impl Setup for RevisitSetup {
    fn bytes(&self) -> usize {
        LINES * self.apart
    }

    fn prepare<'m>(&self, region: Region<'m>, _: &Context) -> Testable<Workload<'m>> {
        let places = self.places().ok_or_else(|| {
            Untestable(format!(
                "the sequence visits a line more than {} times, or has a line number of {LINES} or \
                 more",
                LINE / WORD
            ))
        })?;
        let visits = Visits::new(region, &places)?;
        Ok(Workload::steady(Revisit::new(visits), places.len() as u64))
    }
}
