//! Figure 6.5: surfaces of caches with known sets and ways.

use linefill::cpu::Cache;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};
use linefill::experiment::{Judgement, Machine, Verdict};
use linefill::pattern::Rng;

use super::machines::{server, zen};
use super::planted::{Planted, Row, Value, experiment, noisy, row, time};

const STEPS: &str = ".1";
const OTHERS: &str = ".2";

/// A cache, and the cost of a step in lists that fit into it and in longer ones.
#[derive(Clone, Copy)]
struct L1d {
    sets: u64,
    ways: u64,
    hit: f64,
    /// The additional cost per line beyond the ways; `miss` is the maximum of a step's cost. With strict LRU
    /// the first additional line makes all accesses miss; other policies keep some lines.
    step: f64,
    miss: f64,
}

impl L1d {
    const fn new(sets: u64, ways: u64) -> Self {
        L1d { sets, ways, hit: 5.0, step: 11.0, miss: 16.0 }
    }

    /// The L1d that `machine` reports.
    fn of(machine: &Machine) -> Self {
        let cache = machine.data_cache(1).expect("an L1d");
        let ways = cache.ways.expect("ways");
        L1d::new(cache.size / 64 / u64::from(ways), ways.into())
    }

    /// Core cycles per step of a list of `length` lines with stride `distance`.
    fn cost(&self, length: u64, distance: u64) -> f64 {
        let sets = self.sets / gcd(self.sets, distance);
        let beyond = length.div_ceil(sets).saturating_sub(self.ways);
        (self.hit + beyond as f64 * self.step).min(self.miss)
    }

    fn on(self, machine: &Machine) -> Planted {
        self.planted(machine, |_, _, cost| time(cost))
    }

    /// The surface; `value` converts each cost, given its length and distance.
    fn planted(self, machine: &Machine, value: impl Fn(u64, u64, f64) -> Value) -> Planted {
        Planted::new("E18", machine, |series, x| {
            let length = series.parse().expect("a length");
            let distance = x as u64;
            value(length, distance, self.cost(length, distance))
        })
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

pub fn rows() -> Vec<Row> {
    vec![
        row("E18", STEPS, Holds, |m| L1d::of(m).on(m)),
        row("E18", STEPS, DoesNotHold, |m| L1d::new(64, 10).on(m))
            .says("measured: 10 ways of 4096 bytes, 40 KiB; CPUID:"),
        row("E18", STEPS, DoesNotHold, |m| L1d::new(32, 12).on(m))
            .says("measured: 12 ways of 2048 bytes, 24 KiB"),
        row("E18", STEPS, Inconclusive, |m| {
            // The first list that is too long costs about 1.5 times the shortest.
            let soft = L1d { step: 2.5, ..L1d::of(m) };
            soft.on(m)
        })
        .says(", or "),
        row("E18", STEPS, Untestable, |m| {
            let mut silent = m.clone();
            silent.caches = Vec::new();
            L1d::new(64, 8).on(m).on(silent)
        })
        .says("measured: 8 ways of 4096 bytes, 32 KiB; CPUID does not report the ways"),
        row("E18", STEPS, Untestable, |m| {
            let mut old = m.clone();
            old.caches[0] = Cache { ways: None, ..old.caches[0] };
            L1d::new(64, 8).on(m).on(old)
        })
        .says("CPUID does not report the ways"),
        row("E18", STEPS, Untestable, |m| L1d::new(64, 40).on(m))
            .says("no list of up to 32 lines left L1d"),
        // A K8: 64 KiB with 2 ways, whose sets repeat every 32 KiB.
        row("E18", STEPS, Untestable, |m| L1d::new(512, 2).on(m))
            .says("the step first appears at the largest"),
        // The run stopped before the lists of 7 lines, so no list exceeded the ways of L1d.
        row("E18", STEPS, Untestable, |m| {
            L1d::of(m)
                .on(m)
                .without(|series, _| series.parse::<u64>().is_ok_and(|length| length >= 7))
        })
        .says("`7` was not measured at"),
        row("E18", OTHERS, Holds, |m| L1d::of(m).on(m)),
        row("E18", OTHERS, DoesNotHold, |m| {
            // Something else evicts lines with stride 80.
            let ways = L1d::of(m).ways;
            L1d::of(m).planted(m, |length, distance, cost| {
                time(if distance == 80 && length > ways { 20.0 } else { cost })
            })
        })
        .says("at the worst distance, 80 lines: 4.0"),
        row("E18", OTHERS, Inconclusive, |m| {
            let ways = L1d::of(m).ways;
            L1d::of(m).planted(m, |length, distance, cost| {
                if distance == 48 && length > ways { noisy(cost * 1.5, 0.4) } else { time(cost) }
            })
        })
        .says("at the worst distance, 48 lines"),
        row("E18", OTHERS, Untestable, |m| {
            L1d::of(m).planted(m, |length, distance, cost| match (length, distance) {
                (2, 64) => Value::Untestable("refused"),
                _ => time(cost),
            })
        })
        .says("refused"),
    ]
}

/// The judgement of the first claim on a cache with noise of up to 4 % per point.
fn inferred(l1d: L1d, machine: &Machine, seed: u64) -> Judgement {
    let rng = std::cell::RefCell::new(Rng::new(seed));
    let planted = l1d.planted(machine, |_, _, cost| {
        let noise = 0.96 + rng.borrow_mut().below(81) as f64 / 1000.0;
        noisy(cost * noise, 0.02)
    });
    experiment("E18").claims[0].decide(&planted.evidence())
}

#[test]
fn sets_and_ways_are_inferred_whatever_they_are() {
    // 32 KiB; 48 KiB; the 24 KiB of an Atom; 64 KiB; 16 KiB; a cache with half the sets.
    let shapes = [(64, 8), (64, 12), (64, 6), (64, 16), (64, 4), (32, 8), (16, 16), (128, 2)];
    for (sets, ways) in shapes {
        let machine = Machine { full: true, ..server().machine() };
        let found = inferred(L1d::new(sets, ways), &machine, sets + ways).numbers;
        let wanted = format!(
            "measured: {ways} ways of {} bytes, {} KiB; CPUID",
            sets * 64,
            sets * ways / 16
        );
        assert!(found.starts_with(&wanted), "{sets} x {ways}: {found}");
    }
}

/// In a quick run 4,096 bytes is not the largest stride, so an L1d with 64 sets can also be found.
#[test]
fn a_quick_run_infers_every_cache_of_64_sets() {
    for ways in [2, 4, 5, 6, 8, 10, 12, 16, 20, 31] {
        let found = inferred(L1d::new(64, ways), &zen().machine(), ways).numbers;
        let wanted = format!("measured: {ways} ways of 4096 bytes, {} KiB;", ways * 4);
        assert!(found.starts_with(&wanted), "{found}");
    }
}

/// If replacement is not LRU, lists slightly longer than the number of ways still hit in part.
#[test]
fn a_soft_step_is_found_where_it_exceeds_half_a_hit() {
    let machine = server().machine();
    let soft = |step| L1d { step, ..L1d::of(&machine) };
    for seed in 0..20 {
        // The first list that is too long costs two thirds more.
        let judgement = inferred(soft(3.4), &machine, seed);
        assert_eq!(judgement.verdict, Verdict::Holds, "{}", judgement.numbers);
        // With a fifth more, the step seems to come later. The verdict may be that the claim fails, but not
        // that it holds.
        let judgement = inferred(soft(1.0), &machine, seed);
        assert_ne!(judgement.verdict, Verdict::Holds, "{}", judgement.numbers);
    }
}
