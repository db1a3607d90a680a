//! Row X16: walks during streams of the other cores.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};
use linefill::stats::Interval;

use super::machines::{known, with_cores};
use super::planted::{Planted, Row, Value, row, time};

const FULL: &str = ".1";
const HALF: &str = ".2";
const STORES: &str = ".3";
const IN_ORDER: &str = ".4";

/// A walk takes 100 alone, and `full` and `stores` during streams without pauses. During slower streams it
/// takes `half`; these reach half of the bandwidth with 1000 additions per pause.
fn beside(machine: &Machine, full: f64, half: f64, stores: f64) -> Planted {
    Planted::new("X16", machine, |series, pause| {
        time(match (series, pause) {
            ("a random walk beside reads", 0.0) => full,
            ("a random walk beside non-temporal stores", 0.0) => stores,
            (series, _) if series.starts_with("a random walk beside") => half,
            (series, pause) if series.ends_with("beside a random walk") => 20.0 + pause / 50.0,
            _ => 100.0,
        })
    })
}

/// During reads without pauses a random walk takes 200, and a walk in order takes `loaded`.
fn in_order(machine: &Machine, loaded: f64) -> Planted {
    Planted::new("X16", machine, move |series, _| {
        time(match series {
            "a random walk beside reads" => 200.0,
            "a walk in order beside reads" => loaded,
            _ => 20.0,
        })
    })
}

pub fn rows() -> Vec<Row> {
    let mut rows = on_eight_cores();
    for claim in [FULL, HALF, STORES] {
        rows.extend([
            row("X16", claim, Holds, |m| beside(&with_cores(m, 12), 200.0, 110.0, 300.0))
                .says("beside 11 streams"),
            row("X16", claim, Untestable, |m| beside(&with_cores(m, 64), 200.0, 110.0, 300.0))
                .says("ran on 8 of 64 cores: the streams of all of them need more memory"),
            // Nor does a full run use more memory.
            row("X16", claim, Untestable, |m| {
                let full = Machine { full: true, ..with_cores(m, 64) };
                beside(&full, 200.0, 110.0, 300.0)
            })
            .says("the walk and the streams ran on 8 of 64 cores"),
        ]);
    }
    rows.extend([
        row("X16", IN_ORDER, Holds, |m| in_order(&with_cores(m, 12), 30.0))
            .says("beside 11 streams"),
        row("X16", IN_ORDER, Untestable, |m| in_order(&with_cores(m, 64), 30.0))
            .says("the walk and the streams ran on 8 of 64 cores"),
        // A record says how many threads it timed.
        row("X16", FULL, Untestable, |m| {
            beside(&with_cores(m, 12), 200.0, 110.0, 300.0).with_spread(|_| Some(1.0))
        })
        .says("the walk and the streams ran on 2 of 12 cores"),
    ]);
    rows
}

fn on_eight_cores() -> Vec<Row> {
    vec![
        row("X16", FULL, Holds, |m| beside(m, 200.0, 110.0, 300.0)),
        row("X16", FULL, DoesNotHold, |m| beside(m, 105.0, 100.0, 110.0)),
        row("X16", FULL, Inconclusive, |m| beside(m, 125.0, 100.0, 150.0)),
        row("X16", FULL, Untestable, |m| {
            beside(m, 200.0, 110.0, 300.0).without(|series, _| series == "a random walk alone")
        })
        .says("was not measured"),
        row("X16", HALF, Holds, |m| beside(m, 200.0, 110.0, 300.0)),
        row("X16", HALF, DoesNotHold, |m| beside(m, 200.0, 160.0, 300.0)),
        row("X16", HALF, Inconclusive, |m| beside(m, 200.0, 125.0, 300.0)),
        row("X16", HALF, Untestable, |m| {
            beside(m, 200.0, 110.0, 300.0)
                .without(|series, pause| series.starts_with("reads") && pause > 0.0)
        })
        .says("no pause gave the streams 40 to 60 %"),
        // 512 additions leave 66 % of the bandwidth, 2048 leave 33 %.
        row("X16", HALF, Untestable, |m| {
            beside(m, 200.0, 110.0, 300.0).without(|_, pause| pause == 1024.0)
        })
        .says("no pause gave the streams 40 to 60 %"),
        row("X16", STORES, Holds, |m| beside(m, 200.0, 110.0, 300.0)),
        row("X16", STORES, DoesNotHold, |m| beside(m, 200.0, 110.0, 180.0)),
        row("X16", STORES, Inconclusive, |m| beside(m, 200.0, 110.0, 210.0)),
        row("X16", STORES, Untestable, |m| {
            beside(m, 200.0, 110.0, 300.0).without(|series, _| series.starts_with("non-temporal"))
        })
        .says("was not measured"),
        row("X16", IN_ORDER, Holds, |m| in_order(m, 30.0)),
        row("X16", IN_ORDER, DoesNotHold, |m| in_order(m, 180.0)),
        row("X16", IN_ORDER, Inconclusive, |m| in_order(m, 100.0)),
        row("X16", IN_ORDER, Untestable, |m| {
            in_order(m, 30.0).without(|series, _| series == "a walk in order beside reads")
        })
        .says("was not measured"),
    ]
}

/// The difference of two noisy times may be zero or negative.
#[test]
fn streams_whose_time_may_be_zero_have_no_bandwidth() {
    for machine in known() {
        let planted = Planted::new("X16", &machine, |series, _| match series {
            _ if series.starts_with("reads") => Value::Timed(Interval::new(-10.0, 20.0)),
            _ => time(100.0),
        });
        let curves = (planted.experiment.curves)(&planted.evidence());
        let mut points = curves.iter().flat_map(|curve| &curve.points);
        assert!(points.all(|point| point.0 >= 0.0 && point.0.is_finite()));
    }
}
