//! The victim of a full set: every policy is planted, and must be found.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};
use linefill::experiment::topics::hierarchy::replacement::replaced;
use linefill::pattern::Rng;
use linefill::sim::{Cache, Design, Geometry, Reference, Replacement};
use linefill::stats::Interval;

use super::machines;
use super::planted::{Planted, Row, Value, row};

const LRU: &str = ".2";

/// The policy that serves a sequence: one of the simulator, or another one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Truth {
    Known(&'static str),
    /// Two misses per round for any sequence.
    Two,
}

fn policy(name: &str) -> Replacement {
    match name {
        "LRU" => Replacement::Lru,
        "round robin" => Replacement::RoundRobin,
        "tree-PLRU" => Replacement::TreePlru,
        "bit-PLRU" => Replacement::BitPlru,
        "random" => Replacement::Random { seed: 99 },
        "SRRIP" => Replacement::Qlru("QLRU_H00_M2_R0_U0_UMO".parse().unwrap()),
        qlru => Replacement::Qlru(qlru.parse().unwrap()),
    }
}

/// A function that tells whether each access of a sequence hits.
fn server(truth: Truth, ways: usize, letters: usize) -> Box<dyn FnMut(u64) -> bool> {
    match truth {
        Truth::Known(name) => {
            let geometry = Geometry::new(64 * ways as u64, ways as u64, 64).unwrap();
            let mut cache = Cache::new(Design::lru(geometry).replacing(policy(name)));
            Box::new(move |line| cache.reference(Reference::load(64 * line, 8)))
        }
        Truth::Two => {
            let mut seen = 0;
            Box::new(move |_| {
                seen += 1;
                seen % letters > 1
            })
        }
    }
}

/// The share of misses in the steady state.
fn missing(letters: &str, truth: Truth, ways: usize) -> f64 {
    let mut hits = server(truth, ways, letters.len());
    let mut misses = |rounds: usize| {
        let mut misses = 0;
        for _ in 0..rounds {
            let missed = letters.bytes().filter(|line| !hits((line - b'a').into()));
            misses += missed.count();
        }
        misses
    };
    // Every policy but the random one comes back to an earlier state after few rounds.
    let rounds = match truth {
        Truth::Known("random") => 360,
        _ => 72,
    };
    misses(50);
    misses(rounds) as f64 / (rounds * letters.len()) as f64
}

/// Core cycles of a load that hits, and the additional cycles of a miss.
const HIT: f64 = 4.0;
const MISS: f64 = 10.0;

/// Times of every sequence under a policy; `noise` converts a time to a measured interval.
fn served(machine: &Machine, truth: Truth, noise: impl Fn(&str, f64) -> Interval) -> Planted {
    let ways = machine.data_cache(1).unwrap().ways.unwrap() as usize;
    Planted::new("D32", machine, |series, _| {
        let time = match series.strip_prefix("a set, in turn: ") {
            Some(letters) => HIT + MISS * missing(letters, truth, ways),
            None if series.starts_with("four loads") => HIT + MISS / 4.0,
            None => HIT,
        };
        Value::Timed(noise(series, time))
    })
}

fn exactly(machine: &Machine, truth: Truth) -> Planted {
    served(machine, truth, |_, time| Interval::exact(time).widened(0.002))
}

/// The policies that can be distinguished from all others.
const USUAL: [&str; 5] = ["LRU", "round robin", "tree-PLRU", "bit-PLRU", "random"];
const OTHERS: [&str; 3] = ["QLRU_H11_M1_R0_U0", "QLRU_H21_M2_R0_U0_UMO", "SRRIP"];

#[test]
fn every_policy_is_found_again() {
    for machine in [machines::zen().machine(), machines::server().machine()] {
        for name in USUAL.into_iter().chain(OTHERS) {
            let planted = exactly(&machine, Truth::Known(name));
            let found = replaced(&planted.evidence()).unwrap();
            assert_eq!(found.value, [name]);
            assert!(found.confidence > 0.9, "{name}: {found:?}");
        }
        let none = exactly(&machine, Truth::Two);
        assert!(replaced(&none.evidence()).unwrap().value.is_empty());
    }
}

/// With 2 % of noise on every time, in intervals of the same width, one answer in twenty may be wrong. With
/// half a percent none may be.
#[test]
fn noise_seldom_leads_to_another_policy() {
    const RUNS: u64 = 20;
    for machine in [machines::zen().machine(), machines::server().machine()] {
        for name in USUAL {
            let clean = exactly(&machine, Truth::Known(name));
            for (share, allowed) in [(0.005, 0.0), (0.02, 0.05)] {
                let wrong = (0..RUNS).filter(|&seed| {
                    let noisy = with_noise(&clean, seed, share);
                    replaced(&noisy.evidence()).unwrap().value != [name]
                });
                let wrong = wrong.count() as f64 / RUNS as f64;
                assert!(wrong <= allowed, "{name} at {share}: {wrong} wrong");
            }
        }
    }
}

/// The same points with noise of triangular distribution within `share`.
fn with_noise(clean: &Planted, seed: u64, share: f64) -> Planted {
    let times: Vec<(String, Interval)> = clean
        .points
        .iter()
        .map(|point| {
            let value = clean.evidence().at(&point.series, point.x).unwrap();
            (point.series.clone(), *value)
        })
        .collect();
    let mut rng = Rng::new(seed);
    let mut uniform = || rng.below(1 << 20) as f64 / f64::from(1 << 20);
    let noisy: Vec<(String, Interval)> = times
        .into_iter()
        .map(|(series, time)| {
            let off = 1.0 + (uniform() + uniform() - 1.0) * share;
            (series, Interval::exact(time.middle() * off).widened(share))
        })
        .collect();
    Planted::new("D32", &clean.machine, |series, _| {
        let (_, time) = noisy.iter().find(|(other, _)| other == series).unwrap();
        Value::Timed(*time)
    })
}

/// Six ways, as in the L1d of an Atom: there are no sequences for this number.
#[test]
fn what_has_no_sequences_is_not_judged() {
    let mut machine = machines::server().machine();
    machine.caches[0].ways = Some(6);
    let planted = exactly(&machine, Truth::Known("LRU"));
    let reason = replaced(&planted.evidence()).unwrap_err();
    assert!(reason.0.contains("sets of 6 ways"), "{reason}");
}

pub fn rows() -> Vec<Row> {
    vec![
        row("D32", LRU, Holds, |m| exactly(m, Truth::Known("LRU"))).says("explained by LRU; 100 %"),
        row("D32", LRU, DoesNotHold, |m| exactly(m, Truth::Known("tree-PLRU")))
            .says("explained by tree-PLRU; 100 %"),
        row("D32", LRU, Inconclusive, |m| exactly(m, Truth::Two))
            .says("none of the known policies"),
        row("D32", LRU, Inconclusive, |m| {
            served(m, Truth::Known("LRU"), |series, time| {
                let share = if series.contains("in turn") { 0.4 } else { 0.002 };
                Interval::exact(time).widened(share)
            })
        }),
        row("D32", LRU, Untestable, |m| {
            Planted::new("D32", m, |_, _| Value::Untestable("no memory"))
        }),
    ]
}
