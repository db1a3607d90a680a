//! Evidence that no run should produce: no claim may panic on it, and none may hold because points are
//! missing.

use std::sync::LazyLock;

use linefill::cpu::Ports;
use linefill::experiment::{Experiment, Kind, Machine, Verdict, topics};
use linefill::stats::Interval;
use proptest::prelude::*;
use proptest::sample::Index;

use super::machines::{KIB, Level, MIB, Model, known, server};
use super::other_hardware::UNTESTABLE;
use super::planted::{Planted, Value, time};

/// Judges every claim on these points. Each judgement must have numbers or a reason.
fn judged(planted: &Planted) -> Vec<(&'static str, Verdict, String)> {
    let claims = planted.experiment.claims.iter();
    claims
        .map(|claim| {
            let judgement = claim.decide(&planted.evidence());
            assert!(!judgement.numbers.is_empty(), "{}", claim.text);
            (claim.id, judgement.verdict, judgement.numbers)
        })
        .collect()
}

fn everywhere(check: impl Fn(&'static Experiment, &Machine)) {
    for machine in known() {
        for experiment in topics::built() {
            check(experiment, &machine);
        }
    }
}

/// The same check for all experiments that measure something.
fn where_there_are_points(check: impl Fn(&'static Experiment, &Machine)) {
    everywhere(|experiment, machine| {
        if !UNTESTABLE.contains(&experiment.id) {
            check(experiment, machine);
        }
    });
}

#[test]
fn without_points_nothing_is_testable() {
    everywhere(|experiment, machine| {
        let planted = Planted::new(experiment.id, machine, |_, _| Value::Missing);
        for (claim, verdict, _) in judged(&planted) {
            assert_eq!(verdict, Verdict::Untestable, "{}: {claim}", experiment.id);
        }
    });
}

/// Sizes of caches as a ladder measures them are no powers of two, and a guest may get any part of the last
/// level.
#[test]
fn claims_are_judged_at_working_sets_that_are_measured() {
    let odd = |llc: f64, full: bool| {
        let mut model = server();
        let sizes = [46_341.0, 1_933_777.0, llc];
        for (level, bytes) in model.levels.iter_mut().zip(sizes) {
            level.bytes = bytes;
        }
        let machine = model.machine();
        Machine { full, ..machine }
    };
    let machines =
        [9.51, 17.3, 31.7, 163.0].map(|mib| [odd(mib * MIB, false), odd(mib * MIB, true)]);
    let mut missing = Vec::new();
    for machine in machines.as_flattened() {
        for experiment in topics::built() {
            let planted = Planted::new(experiment.id, machine, |_, x| time(10.0 + x.sqrt()));
            let claims = experiment.claims.iter().zip(judged(&planted));
            // Counts and simulations are not planted: they need no working set of this machine.
            let measured = claims.filter(|(claim, _)| claim.kind == Kind::Measured);
            for (_, (claim, _, numbers)) in measured {
                if numbers.contains("was not measured at") {
                    let llc = machine.ranges.llc.hi / MIB;
                    missing.push(format!("{claim}, {llc} MiB, {}: {numbers}", machine.full));
                }
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn the_reason_why_points_are_untestable_reaches_the_reader() {
    where_there_are_points(|experiment, machine| {
        let refused = |_: &str, _: f64| Value::Untestable("the system refused it");
        let planted = Planted::new(experiment.id, machine, refused);
        for (claim, verdict, numbers) in judged(&planted) {
            let what = format!("{}: {claim}: {numbers}", experiment.id);
            assert_eq!(verdict, Verdict::Untestable, "{what}");
            assert!(numbers.contains("the system refused it"), "{what}");
        }
    });
}

/// Claims that need only one number.
const SINGLE: [&str; 16] = [
    "B1.1", "D43.1", "D43.2", "D43.3", "E43.1", "C5.1", "D4.1", "D6.1", "D23.1", "B16.1", "D11.1",
    "D14.1", "D35.1", "X2.1", "E25.2", "B13.1",
];

#[test]
fn one_point_proves_nothing_that_takes_several() {
    where_there_are_points(|experiment, machine| {
        let cases = (experiment.cases)(machine);
        let (series, x) = (&cases[0].series, cases[0].x);
        let planted = Planted::new(experiment.id, machine, |of, at| {
            if of == series && at == x {
                Value::Timed(Interval::exact(5.0))
            } else {
                Value::Missing
            }
        });
        for (claim, verdict, numbers) in judged(&planted) {
            let enough = SINGLE.contains(&claim);
            assert!(
                enough || verdict == Verdict::Untestable,
                "{}: {claim}: {numbers}",
                experiment.id
            );
        }
    });
}

/// Claims that hold if a count is zero: caches that disagree, misses, differences.
const NONE: [&str; 20] = [
    "B1.1", "B1.3", "B6.2", "E43.1", "B10.5", "B10.6", "B15.1", "B15.7", "B15.6", "B15.3", "D4.1",
    "D4.2", "D6.1", "D6.3", "D23.1", "D23.2", "D11.1", "D45.2", "C4.2", "E6.1",
];

#[test]
fn times_that_are_not_positive_are_no_panic_and_no_proof_of_a_ratio() {
    for value in [0.0, -1.0, -1e300] {
        everywhere(|experiment, machine| {
            let timed = |_: &str, _: f64| Value::Timed(Interval::exact(value));
            for (claim, verdict, numbers) in judged(&Planted::new(experiment.id, machine, timed)) {
                let hoped_for = value == 0.0 && NONE.contains(&claim);
                assert!(
                    hoped_for || verdict != Verdict::Holds,
                    "{}: {claim}: {numbers}",
                    experiment.id
                );
            }
        });
    }
}

#[test]
fn the_smallest_memory_limits_give_cases_and_no_panic() {
    for shift in 16..32 {
        // The curves of a full run in much memory take long.
        let lengths = if shift < 20 { &[false, true][..] } else { &[false] };
        for &full in lengths {
            let machine = Machine { largest: 1 << shift, full, ..server().machine() };
            for experiment in topics::built() {
                let timed = |_: &str, _: f64| Value::Timed(Interval::exact(5.0));
                judged(&Planted::new(experiment.id, &machine, timed));
            }
        }
    }
}

#[test]
fn the_greatest_seed_gives_cases() {
    for (known, full) in known().into_iter().zip([false, true, true]) {
        let machine = Machine { seed: u64::MAX, full, ..known.machine };
        for experiment in topics::built() {
            let _ = (experiment.cases)(&machine);
        }
    }
}

/// Any interval: mostly plausible times, and sometimes values that no clock produces.
fn intervals() -> impl Strategy<Value = Interval> {
    let end = || {
        prop_oneof![
            4 => 0.1..1000.0_f64,
            1 => -10.0..10.0_f64,
            1 => prop_oneof![Just(0.0), Just(-0.0), Just(1e300), Just(-1e300), Just(1e-300)],
        ]
    };
    prop_oneof![
        end().prop_map(Interval::exact),
        (end(), end()).prop_map(|(a, b)| Interval::new(a, b)),
    ]
}

fn values() -> impl Strategy<Value = Value> {
    prop_oneof![
        6 => intervals().prop_map(Value::Timed),
        1 => intervals().prop_map(Value::WithoutCoreClock),
        1 => (0..5000_u32).prop_map(|count| Value::Counted(count.into())),
        1 => Just(Value::Untestable("hostile")),
        2 => Just(Value::Missing),
    ]
}

/// Machines of one to three levels with any sizes, costs, latency and limit.
fn machines() -> impl Strategy<Value = Machine> {
    let level = |from: f64, to: f64| {
        (from..to, 1..40_u32, 1.0..500.0_f64).prop_map(|(bytes, ways, cost)| Level {
            bytes: bytes.floor(),
            ways,
            cost,
        })
    };
    let levels = (
        level(4.0 * KIB, 128.0 * KIB),
        level(64.0 * KIB, 8.0 * MIB),
        level(MIB, 600.0 * MIB),
        0..=3_usize,
    );
    let rest = (1.0..1000.0_f64, 16..32_u32, any::<bool>(), any::<bool>());
    (levels, rest).prop_map(|((l1, l2, l3, count), (memory, shift, silent, known))| {
        let model = Model {
            levels: [l1, l2, l3][..count].to_vec(),
            memory,
            load_to_use: known.then_some(4),
            ports: known.then_some(Ports { loads: [32, 64, 64], stores: [16, 32, 32] }),
            locations: Vec::new(),
        };
        let mut machine = model.machine();
        machine.largest = 1 << shift;
        if silent {
            machine.caches.clear();
        }
        machine
    })
}

/// All places of every experiment on two machines.
static PLACES: LazyLock<Vec<Planted>> = LazyLock::new(|| {
    let machines = known().into_iter().filter(|machine| !machine.full);
    let places = machines.flat_map(|machine| {
        topics::built().map(move |of| Planted::new(of.id, &machine, |_, _| time(1.0)))
    });
    places.collect()
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_claim_panics_on_random_points(
        machine in machines(),
        pool in proptest::collection::vec(values(), 1..40),
        picks in proptest::collection::vec(any::<Index>(), 97),
    ) {
        for experiment in topics::built() {
            let next = std::cell::Cell::new(0);
            let planted = Planted::new(experiment.id, &machine, |_, _| {
                next.set(next.get() + 1);
                pool[picks[next.get() % picks.len()].index(pool.len())]
            });
            judged(&planted);
            (experiment.curves)(&planted.evidence());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Points similar to a machine's, some of them missing. They more often reach the code that runs after
    /// the check for missing points.
    #[test]
    fn no_claim_panics_where_few_points_are_missing(
        base in 0.5..500.0_f64,
        noise in 0.0..2.0_f64,
        missing in proptest::collection::vec(any::<Index>(), 0..4),
    ) {
        for places in PLACES.iter().filter(|places| !places.points.is_empty()) {
            let count = places.points.len();
            let missing: Vec<usize> = missing.iter().map(|index| index.index(count)).collect();
            let planted = places.with_values(|at, x| {
                if missing.contains(&at) {
                    return Value::Missing;
                }
                Value::Timed(Interval::exact(base * x.max(1.0).ln_1p()).widened(noise))
            });
            judged(&planted);
        }
    }
}
