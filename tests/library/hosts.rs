//! Experiments on a host that provides nothing but an allocator.
#![cfg(feature = "std")]

use std::sync::atomic::AtomicBool;

use linefill::cpu::Features;
use linefill::experiment::{
    Case, Claim, Context, Effort, Evidence, Experiment, Kind, Machine, Point, Rig, State,
    Untestable, Verdict, all,
};
use linefill::host::NoHost;

use crate::verdicts::machines::small;

/// The start of a reason that comes from the host.
const LACKS: &str = "an allocator alone has no ";

/// Claims that arithmetic or the simulator decides on other hosts: a quick run does not trace a compiler, and
/// F3 has no points in 1 MiB. B14.3, C2.3 and C5.4 lack what [`LONG`] leaves out.
const UNDECIDED: [&str; 10] =
    ["B14.3", "C2.3", "C5.4", "D10.6", "D10.7", "F3.1", "F3.2", "F3.3", "F3.4", "F3.5"];

/// No time for measurements, because no case may get that far.
const NO_EFFORT: Effort = Effort { warm_up: 0.0, sampling: 0.0, passes: 1 };

/// Cases that are computed for seconds, and by functions that other cases have, too: the experiment, the series, and x if
/// not all are meant. Golden traces and `tests/kernels/sim/vectors.rs` test their values.
const LONG: [(&str, &str, Option<f64>); 3] = [
    ("B14", "4: share of cycles", None),
    ("C2", "nested boxes", Some(4.0)),
    ("C5", "nested, 64 KiB", None),
];

/// Every case of an experiment that does not take long, as far as it gets without a host.
fn run(experiment: &Experiment, machine: &Machine) -> Vec<Point> {
    let stop = AtomicBool::new(false);
    let context = Context { features: Features::detect(), host: &NoHost };
    let mut rig = Rig::new(machine.rate, context, NO_EFFORT, &stop);
    let mut cases = (experiment.cases)(machine);
    let is_long = |case: &Case| {
        LONG.iter().any(|(id, series, x)| {
            *id == experiment.id && case.series.starts_with(series) && x.is_none_or(|x| x == case.x)
        })
    };
    cases.retain(|case| !is_long(case));
    let points = cases.iter().filter_map(|case| rig.measure(case));
    points.collect()
}

/// Whether a claim needs nothing of the machine. It is then decided on any host, unless threads or programs
/// do the computation.
fn is_decided_anywhere(claim: &Claim) -> bool {
    matches!(claim.kind, Kind::Simulated | Kind::Computed)
}

#[test]
fn without_a_host_nothing_is_timed_and_every_reason_is_named() {
    let machine = small();
    let (mut absent, mut decided) = (0, 0);
    let [mut undecided, mut without_pages] = [Vec::new(), Vec::new()];
    for experiment in all() {
        let points = run(experiment, &machine);
        for point in &points {
            match &point.state {
                State::Counted(_) => {}
                State::Untestable(Untestable(reason)) => {
                    assert!(!reason.is_empty(), "{} {}", experiment.id, point.series);
                    absent += usize::from(reason.starts_with(LACKS));
                }
                State::Measured(_) => panic!("{} timed `{}`", experiment.id, point.series),
            }
        }
        let evidence = Evidence::new(&machine, &points, experiment.unit());
        for claim in experiment.claims {
            let judgement = claim.decide(&evidence);
            match (judgement.verdict, claim.kind) {
                (Verdict::Untestable, _) => {
                    let reason = judgement.numbers;
                    assert!(!reason.is_empty(), "{}", claim.id);
                    if is_decided_anywhere(claim) && !reason.starts_with(LACKS) {
                        undecided.push(claim.id);
                    } else if is_decided_anywhere(claim) && reason.contains("pages") {
                        without_pages.push(claim.id);
                    }
                }
                (_, Kind::Measured) => panic!("{} was decided without a host", claim.id),
                _ => decided += 1,
            }
        }
    }
    assert_eq!(undecided, UNDECIDED);
    // Numbers need no pages.
    assert_eq!(without_pages, [""; 0]);
    println!("{absent} cases say what the host has not; {decided} claims are decided");
    assert!(absent > 1000 && decided > 50, "{absent} {decided}");
}
