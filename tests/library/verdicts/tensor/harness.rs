//! The overhead of a harness.

use linefill::counters::Quantity;
use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};
use linefill::stats::Interval;

use crate::verdicts::planted::{Planted, Row, Value, noisy, row};

const HARNESS: &str = ".1";
const DIFFERENCE: &str = ".2";
const COUNTED: &str = ".3";

/// Core cycles per read, and for runs of 0, 448 and 4480 reads.
fn stretches(machine: &Machine, read: f64, stretches: [Value; 3]) -> Planted {
    Planted::new("C9", machine, |series, reads| match series {
        "a read, by N against 2N" => noisy(read, 0.0),
        _ if reads == 0.0 => stretches[0],
        _ if reads == 448.0 => stretches[1],
        _ => stretches[2],
    })
}

/// A read of 5 cycles, and a harness of 100 cycles.
fn with_harness(machine: &Machine) -> Planted {
    stretches(machine, 5.0, [100.0, 2340.0, 22_500.0].map(|time| noisy(time, 0.0)))
}

/// Instructions per read, and for runs of 0, 448 and 4480 reads. NaN means that the run was not counted.
fn counted(machine: &Machine, read: Interval, stretches: [f64; 3]) -> Planted {
    with_harness(machine).counting(move |series, reads, quantity| {
        assert_eq!(quantity, Quantity::Instructions);
        let stretch = match reads {
            _ if series == "a read, by N against 2N" => return Some(read),
            0.0 => stretches[0],
            448.0 => stretches[1],
            _ => stretches[2],
        };
        (!stretch.is_nan()).then(|| Interval::exact(stretch))
    })
}

pub fn harness() -> Vec<Row> {
    vec![
        row("C9", HARNESS, Holds, |m| {
            stretches(m, 5.0, [200.0, 2440.0, 22_600.0].map(|time| noisy(time, 0.0)))
        }),
        row("C9", HARNESS, DoesNotHold, |m| {
            stretches(m, 5.0, [0.0, 2200.0, 22_400.0].map(|time| noisy(time, 0.0)))
        }),
        row("C9", HARNESS, Inconclusive, |m| {
            stretches(m, 5.0, [40.0, 2280.0, 22_440.0].map(|time| noisy(time, 0.0)))
        }),
        row("C9", HARNESS, Untestable, |m| with_harness(m).without(|_, reads| reads == 448.0)),
        row("C9", DIFFERENCE, Holds, with_harness),
        row("C9", DIFFERENCE, DoesNotHold, |m| {
            stretches(m, 5.0, [100.0, 2340.0, 25_000.0].map(|time| noisy(time, 0.0)))
        }),
        row("C9", DIFFERENCE, Inconclusive, |m| {
            stretches(m, 5.0, [100.0, 2340.0, 22_500.0].map(|time| noisy(time, 0.05)))
        }),
        row("C9", DIFFERENCE, Untestable, |m| with_harness(m).without(|_, reads| reads == 4480.0)),
        row("C9", COUNTED, Holds, |m| {
            counted(m, Interval::exact(40.0), [30.0, 17_950.0, 179_230.0])
        }),
        row("C9", COUNTED, DoesNotHold, |m| {
            counted(m, Interval::exact(44.0), [30.0, 17_950.0, 179_230.0])
        })
        .says("those by N and 2N: 0.9"),
        row("C9", COUNTED, DoesNotHold, |m| {
            counted(m, Interval::exact(40.0), [0.0, 17_920.0, 179_200.0])
        })
        .says("around no reads: 0"),
        row("C9", COUNTED, Inconclusive, |m| {
            counted(m, Interval::new(38.0, 42.0), [30.0, 17_950.0, 179_230.0])
        }),
        row("C9", COUNTED, Untestable, |m| {
            with_harness(m).counting_nothing("the kernel sees no PMU on this CPU")
        })
        .says("instructions: the kernel sees no PMU"),
        row("C9", COUNTED, Untestable, |m| {
            counted(m, Interval::exact(40.0), [30.0, f64::NAN, 179_230.0])
        })
        .says("not probed on this machine"),
    ]
}
