//! Sequences of accesses to one set that tell policies apart, and the misses of each policy.

use crate::experiment::sync::{Mutex, PoisonError};
use crate::infer::Known;
use crate::mem::LINE;
use crate::pattern::Rng;
use crate::prelude::*;
use crate::sim::{Cache, Design, Geometry, Reference, Replacement};
use alloc::collections::BTreeMap;

/// The name of the policy that is claimed.
pub(crate) const LRU: &str = "LRU";

/// The policies that are told apart. The QLRU are those that Abel and Reineke name for Intel's
/// caches, and SRRIP, which is one of them, too.
const POLICIES: [(&str, &str); 8] = [
    (LRU, "lru"),
    ("round robin", "rr"),
    ("tree-PLRU", "plru"),
    ("bit-PLRU", "mru"),
    ("random", "random"),
    ("QLRU_H11_M1_R0_U0", "QLRU_H11_M1_R0_U0"),
    ("QLRU_H21_M2_R0_U0_UMO", "QLRU_H21_M2_R0_U0_UMO"),
    ("SRRIP", "QLRU_H00_M2_R0_U0_UMO"),
];

/// Accesses to lines of one set, again and again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Sequence {
    /// The lines, numbered from 0.
    pub(crate) lines: Vec<u8>,
}

impl Sequence {
    /// The lines as letters.
    pub(crate) fn letters(&self) -> String {
        self.lines
            .iter()
            .map(|line| char::from(b'a' + line))
            .collect()
    }

    /// Reads letters. None if one is not of the alphabet, or there is none.
    pub(crate) fn parse(letters: &str) -> Option<Self> {
        let line = |letter: u8| letter.is_ascii_lowercase().then(|| letter - b'a');
        let lines: Vec<u8> = letters.bytes().map(line).collect::<Option<_>>()?;
        (!lines.is_empty()).then_some(Sequence { lines })
    }
}

/// Rounds until a policy has settled, and those that are counted: enough for the longest that a
/// round-robin pointer takes to come round, and for chance to even out.
const SETTLING: usize = 24;
const COUNTED: usize = 36;
const COUNTED_BY_CHANCE: usize = 400;

/// Starting states; each may lead to another settled state.
const BEGINNINGS: u64 = 12;

/// Misses of a round under a policy, by the state that it settles in. None if there is no such set.
fn settled(sequence: &Sequence, replacement: Replacement, ways: u32) -> Option<Vec<f64>> {
    // One set: every line falls into it.
    let line = LINE as u64;
    let geometry = Geometry::new(u64::from(ways) * line, ways.into(), line).ok()?;
    let chance = matches!(replacement, Replacement::Random { .. });
    let (beginnings, rounds) = if chance {
        (1, COUNTED_BY_CHANCE)
    } else {
        (BEGINNINGS, COUNTED)
    };
    let mut states: Vec<f64> = Vec::new();
    for seed in 0..beginnings {
        let mut set = Cache::new(Design::lru(geometry).replacing(replacement));
        // Whether it misses, as a number.
        let mut access = |number: u8| {
            let load = Reference::load(u64::from(number) * line, 8);
            u64::from(!set.reference(load))
        };
        let mut rng = Rng::new(seed);
        for _ in 0..17 * seed {
            access(sequence.lines[rng.below(sequence.lines.len())]);
        }
        let mut take = |rounds: usize| -> u64 {
            let numbers = sequence.lines.repeat(rounds);
            numbers.into_iter().map(&mut access).sum()
        };
        take(SETTLING);
        let misses = take(rounds) as f64 / rounds as f64;
        if !states.iter().any(|known| (known - misses).abs() < 0.1) {
            states.push(misses);
        }
    }
    Some(states)
}

/// The misses of every known policy for some sequences, in a set of `ways` ways.
pub(crate) fn known(sequences: &[Sequence], ways: u32) -> Vec<Known<'static>> {
    let each: Vec<Vec<Vec<f64>>> = sequences
        .iter()
        .map(|sequence| by_policy(sequence, ways))
        .collect();
    let names = policies().map(|(name, _)| name).enumerate();
    names
        .map(|(index, name)| Known {
            name,
            misses: each.iter().map(|misses| misses[index].clone()).collect(),
        })
        .collect()
}

/// The result of [`settled`] for each policy, kept because every verdict asks for it.
fn by_policy(sequence: &Sequence, ways: u32) -> Vec<Vec<f64>> {
    type Settled = BTreeMap<(Sequence, u32), Vec<Vec<f64>>>;
    static SETTLED: Mutex<Option<Settled>> = Mutex::new(None);
    let mut all = SETTLED.lock().unwrap_or_else(PoisonError::into_inner);
    let of = |(_, policy)| settled(sequence, policy, ways).unwrap_or_default();
    all.get_or_insert_with(BTreeMap::new)
        .entry((sequence.clone(), ways))
        .or_insert_with(|| policies().map(of).collect())
        .clone()
}

fn policies() -> impl Iterator<Item = (&'static str, Replacement)> {
    POLICIES
        .iter()
        .filter_map(|&(name, text)| Some((name, replacement(text)?)))
}

/// A policy by the name that `simulate` has for it.
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

/// The sequences for a set of 8 or 12 ways, as in the L1d of most CPUs; none for other numbers.
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
    letters
        .iter()
        .copied()
        .filter_map(Sequence::parse)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::replacement;
    use crate::stats::Interval;

    #[test]
    fn letters_are_read_back() {
        let sequence = Sequence {
            lines: vec![0, 8, 2, 25],
        };
        assert_eq!(sequence.letters(), "aicz");
        assert_eq!(Sequence::parse("aicz"), Some(sequence));
        assert_eq!(Sequence::parse(""), None);
        assert_eq!(Sequence::parse("aB"), None);
    }

    /// What a walk in turn over one line more than there are ways comes to is known without a
    /// simulator.
    #[test]
    fn outcomes_of_a_plain_round() {
        let round = Sequence {
            lines: (0..9).collect(),
        };
        assert_eq!(settled(&round, Replacement::Lru, 8).unwrap(), [9.0]);
        let held = Sequence {
            lines: (0..8).collect(),
        };
        for (_, policy) in policies() {
            assert_eq!(settled(&held, policy, 8).unwrap(), [0.0]);
        }
    }

    /// What any policy makes of the sequences is explained by it alone, whatever states it settled in.
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
