//! Drepper 3.3.5 mentions that sets replace by LRU. This module infers which line a full set of L1d
//! evicts.

use crate::experiment::prelude::*;
use crate::experiment::sync::{Mutex, lock};
use crate::infer::{self, Found, Known};
use crate::kernel::Revisit;
use crate::pattern::{Rng, Visits};
use crate::sim::{Cache, Design, Geometry, Reference, Replacement};
use alloc::collections::BTreeMap;

/// The place of every case on the axis.
const HERE: f64 = 1.0;

const HELD: &str = "lines that fill a set";
const LOST: &str = "four loads of each of many lines of a set";

/// The start of the name of a sequence's series. The sequence's lines follow as letters.
const SEQUENCE: &str = "a set, in turn: ";

/// Loads of each line in a row, in the series where every line misses. As in the sequences, each
/// miss is then seen alone.
const ROW: usize = 4;

/// Returns the ways of L1d, and the bytes after which sets repeat, as CPUID reports them.
fn shape(machine: &Machine) -> Option<(u32, usize)> {
    let cache = machine.data_cache(1)?;
    let ways = cache.ways.filter(|ways| *ways > 0)?;
    Some((ways, (cache.size / u64::from(ways)) as usize))
}

/// Returns the cases: lines that fill a set, lines that surely miss, and the sequences. Returns no
/// cases if the ways of L1d are unknown.
pub(crate) fn cases(machine: &Machine) -> Vec<Case> {
    let Some((ways, apart)) = shape(machine) else { return Vec::new() };
    let case = |series: &str, lines: Vec<u8>| {
        Case::new(series, HERE, RevisitSetup { lines, apart }).in_large_pages()
    };
    // Four times the ways: no known policy keeps any of these lines.
    let held = ways.min(MOST_LINES) as u8;
    let many = (4 * ways).min(MOST_LINES) as u8;
    let row = |line| core::iter::repeat_n(line, ROW);
    let mut cases =
        vec![case(HELD, (0..held).collect()), case(LOST, (0..many).flat_map(row).collect())];
    cases.extend(sequences(ways).iter().map(|sequence| {
        case(&format!("{SEQUENCE}{}", sequence.letters()), sequence.lines.clone())
    }));
    cases
}

/// The most lines of one set that the first two series visit.
const MOST_LINES: u32 = 64;

/// Returns whether a series belongs to this test.
pub fn is_of(series: &str) -> bool {
    [HELD, LOST].contains(&series) || series.starts_with(SEQUENCE)
}

/// The policies that explain the measured times.
pub type Replaced = Found<Vec<&'static str>>;

/// Infers which of the simulator's policies explain the measured sequences.
///
/// # Errors
/// If the ways of L1d are unknown, or too little was measured.
pub fn replaced(e: &Evidence<'_>) -> Testable<Replaced> {
    let (ways, _) = shape(e.machine)
        .ok_or_else(|| Untestable("CPUID does not report the ways of L1d".to_owned()))?;
    let (held, lost) = (*e.at(HELD, HERE)?, *e.at(LOST, HERE)?);
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
        let Some(sequence) = letters.and_then(Sequence::parse) else { continue };
        let more = beyond(*e.at(&point.series, point.x)?, held, sequence.lines.len());
        missed.push(Interval::new(more.lo / miss.hi, more.hi / miss.lo));
        measured.push(sequence);
    }
    if measured.is_empty() {
        return Err(Untestable(format!("no sequence was measured in a set of {ways} ways")));
    }
    infer::replacement(&missed, &known(&measured, ways))
        .ok_or_else(|| Untestable("no sequence of loads was measured".to_owned()))
}

/// Returns how much longer a round of `loads` loads takes than as many loads of lines that are held.
fn beyond(load: Interval, held: Interval, loads: usize) -> Interval {
    *minus(load, held).scaled(loads as f64)
}

/// The least confidence that decides the claim.
const SURE: f64 = 0.9;

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
    let verdict = match (found.value.contains(&LRU_NAME), found.value.len()) {
        (true, 1) if found.confidence >= SURE => Verdict::Holds,
        // If no policy explains the times, the cause may be noise or an unknown policy.
        (false, 1..) if found.confidence >= SURE => Verdict::DoesNotHold,
        _ => Verdict::Inconclusive,
    };
    let numbers = format!(
        "explained by {}; {:.0} % of random times within the measured intervals give the same \
         answer",
        named(&found.value),
        found.confidence * 100.0
    );
    Ok(Judgement::in_words(verdict, numbers))
}

/// Returns the names of policies, as words in a sentence.
pub fn named(policies: &[&str]) -> String {
    match policies {
        [] => "none of the known policies".to_owned(),
        _ => policies.join(" or "),
    }
}

/// Bytes of a word.
const WORD: usize = 8;

/// Number of lines that a setup lays out, all of one set.
const LINES: usize = 64;

/// A round over lines of one set. An operation is a load.
#[derive(Clone, Debug)]
struct RevisitSetup {
    /// The lines in the order of their visits, numbered from 0 to 63. A line can be visited up to
    /// eight times per round.
    lines: Vec<u8>,
    /// Bytes after which addresses fall into the same set again.
    apart: usize,
}

impl RevisitSetup {
    /// Returns the byte offset of each visit's load; `None` if a line has too high a number or too
    /// many visits.
    ///
    /// Places are triangular numbers, which reach all 64 places. The distance between successive
    /// lines therefore keeps changing, and no prefetcher takes the lines for a stream.
    fn places(&self) -> Option<Vec<usize>> {
        // Any set but the first, which the start of each page uses most.
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

/// The name of the claimed policy.
const LRU_NAME: &str = "LRU";

/// The known policies and their names in the simulator. Abel and Reineke found the QLRU policies in Intel's
/// caches. SRRIP is a QLRU policy as well.
const POLICIES: [(&str, &str); 8] = [
    (LRU_NAME, "lru"),
    ("round robin", "rr"),
    ("tree-PLRU", "plru"),
    ("bit-PLRU", "mru"),
    ("random", "random"),
    ("QLRU_H11_M1_R0_U0", "QLRU_H11_M1_R0_U0"),
    ("QLRU_H21_M2_R0_U0_UMO", "QLRU_H21_M2_R0_U0_UMO"),
    ("SRRIP", "QLRU_H00_M2_R0_U0_UMO"),
];

/// Accesses to lines of one set, repeated again and again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Sequence {
    /// The lines, numbered from 0.
    pub(crate) lines: Vec<u8>,
}

impl Sequence {
    /// Returns the lines as letters.
    pub(crate) fn letters(&self) -> String {
        self.lines.iter().map(|line| char::from(b'a' + line)).collect()
    }

    /// Parses letters. `None` if one is not a lower-case ASCII letter, or if there are none.
    pub(crate) fn parse(letters: &str) -> Option<Self> {
        let line = |letter: u8| letter.is_ascii_lowercase().then(|| letter - b'a');
        let lines: Vec<u8> = letters.bytes().map(line).collect::<Option<_>>()?;
        (!lines.is_empty()).then_some(Sequence { lines })
    }
}

/// Rounds until a policy has settled, and rounds that are counted: enough for a round-robin pointer
/// to come round or, for the random policy, for chance to even out.
const SETTLING: usize = 24;
const COUNTED: usize = 36;
const COUNTED_BY_CHANCE: usize = 400;

/// Starting states; each may lead to another settled state.
const BEGINNINGS: u64 = 12;

/// Returns the misses per round under a policy, once for each state in which the policy settles.
/// `None` if no set has this number of ways.
fn settled(sequence: &Sequence, replacement: Replacement, ways: u32) -> Option<Vec<f64>> {
    // One set: every line falls into it.
    let line = LINE as u64;
    let geometry = Geometry::new(u64::from(ways) * line, ways.into(), line).ok()?;
    let chance = matches!(replacement, Replacement::Random { .. });
    let (beginnings, rounds) = if chance { (1, COUNTED_BY_CHANCE) } else { (BEGINNINGS, COUNTED) };
    let mut states: Vec<f64> = Vec::new();
    for seed in 0..beginnings {
        let mut set = Cache::new(Design::lru(geometry).replacing(replacement));
        // Returns 1 for a miss and 0 for a hit.
        let mut access =
            |number: u8| u64::from(!set.reference(Reference::load(u64::from(number) * line, 8)));
        let mut rng = Rng::new(seed);
        for _ in 0..17 * seed {
            access(sequence.lines[rng.below(sequence.lines.len())]);
        }
        let mut take = |rounds: usize| -> u64 {
            sequence.lines.repeat(rounds).into_iter().map(&mut access).sum()
        };
        take(SETTLING);
        let misses = take(rounds) as f64 / rounds as f64;
        if !states.iter().any(|known| (known - misses).abs() < 0.1) {
            states.push(misses);
        }
    }
    Some(states)
}

/// Returns the misses of every known policy for some sequences, in a set of `ways` ways.
pub(crate) fn known(sequences: &[Sequence], ways: u32) -> Vec<Known<'static>> {
    let each: Vec<_> = sequences.iter().map(|sequence| by_policy(sequence, ways)).collect();
    let of = |index: usize| each.iter().map(|misses| misses[index].clone()).collect();
    let names = policies().map(|(name, _)| name).enumerate();
    names.map(|(index, name)| Known { name, misses: of(index) }).collect()
}

/// Returns the result of [`settled`] for each policy. Results are kept, because every verdict needs
/// them.
fn by_policy(sequence: &Sequence, ways: u32) -> Vec<Vec<f64>> {
    type Settled = BTreeMap<(Sequence, u32), Vec<Vec<f64>>>;
    static SETTLED: Mutex<Option<Settled>> = Mutex::new(None);
    let mut all = lock(&SETTLED);
    let of = |(_, policy)| settled(sequence, policy, ways).unwrap_or_default();
    all.get_or_insert_with(BTreeMap::new)
        .entry((sequence.clone(), ways))
        .or_insert_with(|| policies().map(of).collect())
        .clone()
}

fn policies() -> impl Iterator<Item = (&'static str, Replacement)> {
    POLICIES.iter().filter_map(|&(name, text)| Some((name, replacement(text)?)))
}

/// Returns a policy by the name that `simulate` uses for it.
fn replacement(text: &str) -> Option<Replacement> {
    Some(match text {
        "lru" => Replacement::Lru,
        "rr" => Replacement::RoundRobin,
        "plru" => Replacement::TreePlru,
        "mru" => Replacement::BitPlru,
        "random" => Replacement::Random { seed: 1 },
        qlru => Replacement::Qlru(qlru.parse().ok()?),
    })
}

/// Returns the sequences for a set of 8 or 12 ways, as in the L1d of most CPUs. Returns none for
/// other numbers.
///
/// They were drawn at random, with each line at least once and some lines far more often, and
/// chosen from 200,000 for 8 ways and 700,000 for 12. Under LRU and tree-PLRU, few misses follow
/// one another or load lines that were evicted right before, because both take longer than a single
/// miss. Each policy differs clearly from every other policy in at least one sequence. With 12
/// ways, the tree of tree-PLRU is lopsided and settles in many states, so more sequences had to be
/// drawn.
pub(crate) fn sequences(ways: u32) -> Vec<Sequence> {
    let letters: &[&str] = match ways {
        8 => &[
            "badiafjcibcaedcfidgihajfbkfci",
            "eghahafdbiaiajcjcgibadjgfd",
            "ikgjejiadjihafcakdkgdgdbgfcb",
            "ladakdefbibkhbkfgfhcbjlcdjef",
            "kckjeiebjfhibhadbhidgachdbcedih",
            "cdidihcgecjdebedbajfjibedbif",
            "cjaidejgajkgejhihdjbdfhdgefigj",
            "bhdjfhdchibfhabchgeajegcajd",
        ],
        12 => &[
            "fjfgaimbnahcfnajlilekjbmhndka",
            "mgigaikjmdemdhmoklokoakipdmnkmifoabdcjiaj",
            "jklkhjiamhigelofjngmacbd",
            "jmafefbjdefhihdklcbfhgjcn",
            "fkmfadbknbabfigfacaeiajlicimagdhalj",
            "gheclcjkeaidfamhbmk",
            "fkgealejoghigdfangipcbfakfkgmikjfblcdgkidgjki",
            "digdaolfncmcolfdegjfbkomnickinhce",
        ],
        _ => &[],
    };
    letters.iter().copied().filter_map(Sequence::parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::replacement;

    #[test]
    fn letters_are_read_back() {
        let sequence = Sequence { lines: vec![0, 8, 2, 25] };
        assert_eq!(sequence.letters(), "aicz");
        assert_eq!(Sequence::parse("aicz"), Some(sequence));
        assert_eq!(Sequence::parse(""), None);
        assert_eq!(Sequence::parse("aB"), None);
    }

    /// The misses of plain rounds over one line more than the ways, and over as many lines as ways,
    /// are known without a simulator.
    #[test]
    fn outcomes_of_a_plain_round() {
        let round = Sequence { lines: (0..9).collect() };
        assert_eq!(settled(&round, Replacement::Lru, 8).unwrap(), [9.0]);
        let held = Sequence { lines: (0..8).collect() };
        for (_, policy) in policies() {
            assert_eq!(settled(&held, policy, 8).unwrap(), [0.0]);
        }
    }

    /// The misses of a policy are explained by this policy alone, in whatever state it settled.
    #[test]
    fn the_sequences_do_what_they_were_chosen_for() {
        for ways in [8, 12] {
            let sequences = sequences(ways);
            assert_eq!(sequences.len(), 8);
            let known = known(&sequences, ways);
            for truth in &known {
                for state in 0..3 {
                    let missed = |states: &Vec<f64>| Interval::exact(states[state % states.len()]);
                    let missed: Vec<Interval> = truth.misses.iter().map(missed).collect();
                    let found = replacement(&missed, &known).unwrap();
                    assert_eq!(found.value, [truth.name], "{ways} ways");
                }
            }
        }
    }
}
