//! Row X17: bandwidth over the number of cores.

use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};
use linefill::experiment::{CpuOrder, Machine, Placement, Range, Ranges, Verdict};
use linefill::os::sysfs::CpuLocation;

use super::machines::{first_cpu_only, guest, of_two_kinds, server, with_locations, with_memory};
use super::planted::{Planted, Row, noisy, row, time};

const PRIVATE: &str = ".1";
const SATURATED: &str = ".2";
const FAIR: &str = ".3";
const LAST_LEVEL: &str = ".4";
const BYPASSING: &str = ".5";

/// Bandwidths in GB/s.
#[derive(Clone, Copy)]
struct Scaling {
    /// The share of its bandwidth that each of several cores keeps in L2 and in the last level.
    private: f64,
    shared: f64,
    /// The maximum bandwidth of the memory channels for reads.
    channels: f64,
    /// The time of the slowest core relative to the fastest.
    spread: f64,
    /// The ratio of non-temporal to ordinary writes.
    bypassing: f64,
}

const USUAL: Scaling =
    Scaling { private: 0.98, shared: 0.95, channels: 25.0, spread: 1.1, bypassing: 1.8 };

/// The same with memory that two cores saturate.
const SLOW: Scaling = Scaling { channels: 20.0, ..USUAL };

fn scaling(machine: &Machine, of: Scaling) -> Planted {
    let planted = Planted::new("X17", machine, |series, threads| {
        let kept = |share| if threads > 1.0 { share } else { 1.0 };
        let (what, place) = series.split_once(", ").unwrap();
        time(match (what, place) {
            (_, "L1d") => 200.0,
            (_, "L2") => 100.0 * kept(of.private),
            (_, "the last level") => 50.0 * kept(of.shared),
            ("read", _) => (of.channels / threads).min(10.0),
            ("non-temporal write", _) => 4.0 * of.bypassing,
            _ => 4.0,
        })
    });
    planted.with_spread(|_| Some(of.spread))
}

/// The same machine with so little room in the last level that no power of two lies in it.
fn with_little_room(machine: &Machine) -> Machine {
    let llc = Range { lo: 1.6e6, hi: 2e6 };
    let ranges = Ranges { llc, ..machine.ranges.clone() };
    Machine { ranges, ..machine.clone() }
}

/// A machine with `cores` cores of two threads each. Eight cores share a last level, and all cores share the
/// memory.
fn of_cores(cores: usize) -> Machine {
    let location = |cpu: usize| CpuLocation {
        cpu,
        core: cpu % cores,
        l2: cpu % cores,
        last_level: cpu % cores / 8 * 8,
        package: cpu % cores / 64 * 64,
    };
    Machine {
        largest: 1 << 36,
        nodes: Vec::new(),
        ..with_locations(&server().machine(), (0..2 * cores).map(location))
    }
}

pub fn rows() -> Vec<Row> {
    vec![
        row("X17", PRIVATE, Holds, |m| scaling(m, USUAL)).says("8 cores"),
        row("X17", PRIVATE, DoesNotHold, |m| {
            let private = 0.6;
            scaling(m, Scaling { private, ..USUAL })
        }),
        row("X17", PRIVATE, Inconclusive, |m| {
            let private = 0.9;
            scaling(m, Scaling { private, ..USUAL })
        }),
        row("X17", PRIVATE, Untestable, |m| {
            let pairs = m
                .cpu_order
                .locations()
                .iter()
                .map(|location| CpuLocation { l2: location.core / 2, ..*location });
            scaling(&with_locations(m, pairs), USUAL)
        })
        .says("share an L2"),
        row("X17", PRIVATE, Untestable, |m| scaling(&first_cpu_only(m), USUAL))
            .says("needs 2 cores"),
        row("X17", PRIVATE, Untestable, |m| scaling(&of_two_kinds(m), USUAL))
            .says("cores of two kinds"),
        row("X17", SATURATED, Holds, |m| scaling(m, SLOW)).says("2 of "),
        row("X17", SATURATED, DoesNotHold, |m| {
            let channels = 1000.0;
            scaling(m, Scaling { channels, ..USUAL })
        }),
        row("X17", SATURATED, Inconclusive, |m| {
            Planted::new("X17", m, |_, threads| noisy(if threads > 2.0 { 5.0 } else { 7.5 }, 0.2))
        }),
        row("X17", SATURATED, Untestable, |m| {
            scaling(m, USUAL).without(|_, threads| threads > 1.0)
        })
        .says("two threads"),
        // The second thread has another memory node than the first.
        row("X17", SATURATED, Untestable, |m| {
            let apart = m
                .cpu_order
                .locations()
                .iter()
                .map(|location| CpuLocation { package: location.core % 2, ..*location });
            scaling(&with_locations(m, apart), USUAL)
        })
        .says("not all are on cores of one package and memory node"),
        row("X17", FAIR, Holds, |m| scaling(m, USUAL)),
        row("X17", FAIR, DoesNotHold, |m| {
            let spread = 3.0;
            scaling(m, Scaling { spread, ..USUAL })
        }),
        row("X17", FAIR, Inconclusive, |m| {
            let spread = 1.5;
            scaling(m, Scaling { spread, ..USUAL })
        }),
        row("X17", FAIR, Untestable, |m| scaling(m, USUAL).with_spread(|_| None))
            .says("no two threads"),
        row("X17", LAST_LEVEL, Holds, |m| scaling(m, USUAL)),
        row("X17", LAST_LEVEL, DoesNotHold, |m| {
            let shared = 0.4;
            scaling(m, Scaling { shared, ..USUAL })
        }),
        row("X17", LAST_LEVEL, Inconclusive, |m| {
            let shared = 0.8;
            scaling(m, Scaling { shared, ..USUAL })
        }),
        row("X17", LAST_LEVEL, Untestable, |m| {
            let shared = 0.4;
            scaling(m, Scaling { shared, ..USUAL }).on(guest(m))
        })
        .says("other guests"),
        row("X17", LAST_LEVEL, Untestable, |m| {
            scaling(m, USUAL).without(|series, _| series.contains("last level"))
        })
        .says("was measured"),
        row("X17", LAST_LEVEL, Untestable, |m| scaling(&with_little_room(m), USUAL))
            .says("too little room"),
        row("X17", BYPASSING, Holds, |m| scaling(m, USUAL)),
        row("X17", BYPASSING, DoesNotHold, |m| {
            let bypassing = 1.0;
            scaling(m, Scaling { bypassing, ..USUAL })
        }),
        row("X17", BYPASSING, Inconclusive, |m| {
            let bypassing = 1.25;
            scaling(m, Scaling { bypassing, ..USUAL })
        }),
        row("X17", BYPASSING, Untestable, |m| {
            scaling(m, USUAL).without(|series, _| series.starts_with("write, memory"))
        })
        .says("was not measured"),
    ]
}

fn verdict(claim: &str, planted: &Planted) -> (Verdict, String) {
    let id = format!("X17{claim}");
    let mut claims = planted.experiment.claims.iter();
    let claim = claims.find(|of| of.id == id).unwrap();
    let judgement = claim.decide(&planted.evidence());
    (judgement.verdict, judgement.numbers)
}

/// Memory that all cores saturate together, or a few of them.
#[test]
fn machines_of_2_16_and_128_cores_are_told_apart_by_what_saturates_them() {
    for (cores, channels, wanted, says) in [
        (2, 10.0, Holds, "1 of 2 cores"),
        (2, 20.0, DoesNotHold, "2 of 2 cores"),
        (16, 40.0, Holds, "4 of 16 cores"),
        (16, 160.0, DoesNotHold, "15 of 16 cores"),
        (128, 300.0, Holds, "of 64 cores"),
        (128, 1280.0, DoesNotHold, "of 64 cores"),
    ] {
        let machine = of_cores(cores);
        let planted = scaling(&machine, Scaling { channels, ..USUAL });
        let (verdict, numbers) = verdict(SATURATED, &planted);
        assert_eq!(verdict, wanted, "{cores} cores: {numbers}");
        assert!(numbers.contains(says), "{cores} cores: {numbers}");
        let [(private, of_l2), (fair, _)] =
            [PRIVATE, FAIR].map(|claim| self::verdict(claim, &planted));
        assert_eq!((private, fair), (Holds, Holds), "{of_l2}");
        assert!(of_l2.contains(&format!("{cores} cores")), "{of_l2}");
    }
}

/// The bandwidth of two packages is a staircase: the second has memory of its own.
#[test]
fn cores_saturate_the_memory_of_their_own_package() {
    let planted = Planted::new("X17", &of_cores(128), |_, threads| {
        let [first, second] = [threads.min(64.0), (threads - 64.0).clamp(0.0, 64.0)];
        let total = (12.0 * first).min(200.0) + (12.0 * second).min(200.0);
        time(total / threads)
    });
    let (verdict, numbers) = verdict(SATURATED, &planted);
    assert_eq!(verdict, Holds, "{numbers}");
    assert!(numbers.contains("of 64 cores"), "{numbers}");
}

/// Threads that share a core do not count as cores.
#[test]
fn hyper_threads_do_not_count_as_cores() {
    let machine = of_cores(4);
    let locations = machine.cpu_order.locations().to_vec();
    let siblings =
        Machine { cpu_order: CpuOrder::placed(None, locations, Placement::Siblings), ..machine };
    let (verdict, numbers) = verdict(FAIR, &scaling(&siblings, USUAL));
    assert_eq!(verdict, Untestable, "{numbers}");
    assert!(numbers.contains("hyper-threads before cores"), "{numbers}");
}

/// Threads on some of the cores say nothing about all of them.
#[test]
fn claims_about_all_cores_need_the_memory_for_them() {
    let machine = with_memory(&of_cores(128), 1 << 29);
    let channels = 1280.0;
    let planted = scaling(&machine, Scaling { channels, ..USUAL });
    for (claim, cores) in
        [(SATURATED, "of 64 cores"), (FAIR, "of 128 cores"), (BYPASSING, "of 128 cores")]
    {
        let (verdict, numbers) = verdict(claim, &planted);
        assert_eq!(verdict, Untestable, "{claim}: {numbers}");
        assert!(numbers.contains(cores), "{claim}: {numbers}");
        assert!(numbers.contains("--memory"), "{claim}: {numbers}");
    }
}
