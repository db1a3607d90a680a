//! Figure 3.16 and Table 3.2.

use linefill::counters::Quantity;
use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};
use linefill::stats::Interval;

use super::Exact;
use super::planted::{Planted, Row, Value, but, row, time};

const SIMULATED: &str = ".1";
const IN_ORDER: &str = ".2";
const GROWS: &str = ".3";
const DOUBLES: &str = ".4";

pub const EXACT: &[Exact] = &[("D20", SIMULATED)];

/// Percentages of misses: in order, and at random in one, two and four times the size of L2.
fn simulated(machine: &Machine, in_order: f64, at_random: [f64; 3]) -> Planted {
    let l2 = machine.data_cache(2).map_or(1.0, |cache| cache.size as f64);
    Planted::new("D20", machine, |series, x| match series {
        "sequential, simulated" => Value::Counted(in_order),
        "random, simulated" => Value::Counted(at_random[(x / l2).log2() as usize]),
        _ => time(5.0),
    })
}

/// Counts per element: reads of L2 in order and at random, and the share of these that misses. Each pair has
/// the value at twice the size of L2, and the growth per doubling.
#[derive(Clone, Copy)]
struct Counts {
    reads: [(f64, f64); 2],
    shares: [(f64, f64); 2],
    /// The relative half width of the counts' intervals.
    doubt: f64,
}

const SOUND: Counts =
    Counts { reads: [(0.125, 1.0), (0.98, 1.02)], shares: [(0.02, 1.0), (0.5, 1.05)], doubt: 0.0 };

fn counted(machine: &Machine, counts: Counts) -> Planted {
    let twice = 2.0 * machine.data_cache(2).map_or(1.0, |cache| cache.size as f64);
    simulated(machine, 3.0, [0.0, 50.0, 75.0]).counting(move |series, x, quantity| {
        let order = usize::from(series == "random");
        let doublings = (x / twice).log2();
        let grown = |(at_twice, growth): (f64, f64)| at_twice * growth.powf(doublings);
        let reads = grown(counts.reads[order]);
        let value = match quantity {
            Quantity::L2Accesses => reads,
            Quantity::L2Misses => reads * grown(counts.shares[order]),
            _ => 1.0,
        };
        Some(Interval::exact(value).widened(counts.doubt))
    })
}

fn no_pmu(machine: &Machine) -> Planted {
    simulated(machine, 3.0, [0.0, 50.0, 75.0])
        .counting_nothing("the kernel sees no PMU on this CPU")
}

pub fn rows() -> Vec<Row> {
    vec![
        row("D20", SIMULATED, Holds, |m| simulated(m, 3.1, [13.0, 41.0, 58.0])),
        row("D20", SIMULATED, DoesNotHold, |m| simulated(m, 12.5, [13.0, 41.0, 58.0]))
            .says("sequential reads that miss: 12.5"),
        row("D20", SIMULATED, DoesNotHold, |m| simulated(m, 3.1, [13.0, 41.0, 41.0]))
            .says("more at random: 0"),
        row("D20", SIMULATED, Untestable, |m| {
            simulated(m, 3.1, [0.0; 3]).without(|series, _| series.ends_with("simulated"))
        }),
        row("D20", SIMULATED, Untestable, |m| {
            let caches = Vec::new();
            let hidden = Machine { caches, ..m.clone() };
            simulated(&hidden, 3.1, [13.0, 41.0, 58.0])
        })
        .says("CPUID does not describe L1d and L2"),
        row("D20", IN_ORDER, Holds, |m| counted(m, SOUND)),
        row("D20", IN_ORDER, DoesNotHold, |m| {
            let shares = [(0.3, 1.0), (0.5, 1.05)];
            counted(m, Counts { shares, ..SOUND })
        }),
        row("D20", IN_ORDER, Inconclusive, |m| {
            let shares = [(0.0495, 1.0), (0.5, 1.05)];
            counted(m, Counts { shares, ..SOUND })
        }),
        row("D20", IN_ORDER, Untestable, no_pmu)
            .says("L2 misses: the kernel sees no PMU on this CPU"),
        row("D20", GROWS, Holds, |m| counted(m, SOUND)),
        row("D20", GROWS, DoesNotHold, |m| {
            let shares = [(0.02, 1.0), (0.5, 1.0)];
            counted(m, Counts { shares, ..SOUND })
        }),
        row("D20", GROWS, Inconclusive, |m| counted(m, but(SOUND, |of| of.doubt = 0.2))),
        row("D20", GROWS, Untestable, no_pmu).says("no PMU"),
        row("D20", GROWS, Untestable, |m| {
            // Nothing reads L2, so nothing can miss it.
            let reads = [(0.0, 1.0); 2];
            counted(m, Counts { reads, ..SOUND })
        })
        .says("no read of L2 was counted"),
        row("D20", DOUBLES, Holds, |m| {
            counted(m, but(SOUND, |of| of.reads = [(0.125, 1.0), (0.5, 1.2)]))
        }),
        row("D20", DOUBLES, DoesNotHold, |m| {
            let reads = [(0.125, 0.8), (0.5, 1.2)];
            counted(m, Counts { reads, ..SOUND })
        })
        .says("sequential: 1.6"),
        row("D20", DOUBLES, DoesNotHold, |m| {
            let reads = [(0.125, 1.0), (0.9, 0.9)];
            counted(m, Counts { reads, ..SOUND })
        }),
        // Without page walks, the reads double: L1d serves 6 % of them at first.
        row("D20", DOUBLES, DoesNotHold, |m| {
            let reads = [(0.125, 1.0), (0.94, 1.01)];
            counted(m, Counts { reads, ..SOUND })
        })
        .says("least growth per doubling, random: 2.02"),
        // They grow at first alone.
        row("D20", DOUBLES, DoesNotHold, |m| {
            let twice = 2.0 * m.data_cache(2).map_or(1.0, |cache| cache.size as f64);
            counted(m, SOUND).counting(move |series, x, _| {
                let more = series == "random" && x > 2.0 * twice;
                Some(Interval::exact(if more { 2.0 } else { 0.9 }))
            })
        })
        .says("least growth per doubling, random: 2.00"),
        row("D20", DOUBLES, Inconclusive, |m| {
            let reads = [(0.125, 1.0), (0.9, 1.05)];
            counted(m, Counts { reads, ..SOUND })
        }),
        row("D20", DOUBLES, Untestable, no_pmu).says("L2 accesses: the kernel sees no PMU"),
        row("D20", DOUBLES, Untestable, |m| {
            let mut small = m.clone();
            small.largest = 1 << 20;
            counted(&small, SOUND)
        })
        .says("two working sets beyond L2"),
    ]
}
