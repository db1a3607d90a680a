//! Row X21: mixed reads and writes by one core.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::planted::{Planted, Row, Value, by_level, row, time};

const BYPASSING: &str = ".1";
const BETWEEN: &str = ".2";
const LINES: &str = ".3";
const PORTS: &str = ".4";
const IN_L2: &str = ".5";
const STREAMS: &str = ".6";

const READ: f64 = 24.0;

/// Bandwidths in memory: only reads; three, two and one reads per write; only writes.
const OF_LINES: [f64; 5] = [READ, READ / 1.25, READ / 1.33, READ / 1.5, READ / 2.0];

fn mixes(machine: &Machine, memory: [f64; 5], triads: [f64; 2]) -> Planted {
    let [read, three, two, one, write] = memory;
    Planted::new("X21", machine, |series, _| {
        time(match series {
            "read" | "read two streams" | "read four streams" => read,
            "3 reads per write" => three,
            "2 reads per write" => two,
            "1 read per write" => one,
            "write" => write,
            "triad" => triads[0],
            _ => triads[1],
        })
    })
}

fn triads(machine: &Machine, gain: f64) -> Planted {
    mixes(machine, OF_LINES, [18.0, 18.0 * gain])
}

/// The triad in L1d, at this share of the ports' limit.
fn of_ports(machine: &Machine, share: f64) -> Planted {
    let ports = machine.ports.expect("is known");
    let [loads, stores] = [ports.read(16), ports.write(16)].map(|of| f64::from(of.unwrap()));
    let cycles = (2.0 / loads).max(1.0 / stores);
    // The planted unit is GB/s, and an operation reads as many bytes as it moves.
    let gigabytes = |bytes_per_cycle: f64| {
        bytes_per_cycle * machine.rate.hz() / 1e9 * super::planted::CORE_PER_TICK
    };
    Planted::new("X21", machine, |_, _| time(gigabytes(share * 2.0 / cycles)))
}

fn in_l2(machine: &Machine, gain: f64) -> Planted {
    Planted::new("X21", machine, |series, x| {
        time(match series {
            "non-temporal triad" => by_level(machine, x, [100.0, 100.0 * gain, 50.0, 20.0]),
            _ => 100.0,
        })
    })
}

/// Mixes of up to 1.25 times the bandwidth of one stream, where four streams are `gain` times as fast as one.
fn streams(machine: &Machine, gain: f64) -> Planted {
    Planted::new("X21", machine, move |series, _| {
        time(match series {
            "read four streams" => READ * gain,
            "3 reads per write" => 30.0,
            "2 reads per write" => 28.0,
            "1 read per write" => 26.0,
            "write" => 20.0,
            _ => READ,
        })
    })
}

pub fn rows() -> Vec<Row> {
    vec![
        row("X21", BYPASSING, Holds, |m| triads(m, 1.33)).says("triad: 1.33"),
        row("X21", BYPASSING, DoesNotHold, |m| triads(m, 1.0)),
        row("X21", BYPASSING, DoesNotHold, |m| triads(m, 1.9)),
        row("X21", BYPASSING, Inconclusive, |m| triads(m, 1.2)),
        row("X21", BYPASSING, Untestable, |m| {
            triads(m, 1.33).without(|series, _| series == "triad")
        })
        .says("no point of `triad`"),
        row("X21", BETWEEN, Holds, |m| triads(m, 1.33)),
        row("X21", BETWEEN, DoesNotHold, |m| mixes(m, [READ, 18.0, 16.0, 10.0, 12.0], [18.0; 2]))
            .says("1 read per write over writes: 0.83"),
        row("X21", BETWEEN, DoesNotHold, |m| mixes(m, [READ, 30.0, 18.0, 16.0, 12.0], [18.0; 2]))
            .says("3 reads per write over the fastest reads: 1.25"),
        row("X21", BETWEEN, Holds, |m| streams(m, 1.5)),
        row("X21", BETWEEN, DoesNotHold, |m| streams(m, 1.0)),
        row("X21", BETWEEN, Inconclusive, |m| mixes(m, [READ, 18.0, 16.0, 11.4, 12.0], [18.0; 2])),
        row("X21", BETWEEN, Untestable, |m| {
            Planted::new("X21", m, |_, _| Value::Untestable("no memory"))
        })
        .says("no memory"),
        row("X21", LINES, Holds, |m| triads(m, 1.33)),
        row("X21", LINES, DoesNotHold, |m| mixes(m, [READ, 12.0, 12.0, 12.0, 12.0], [18.0; 2]))
            .says("3 reads per write with RFO over the fastest reads: 0.62"),
        row("X21", LINES, Inconclusive, |m| mixes(m, [READ, 14.4, 18.0, 16.0, 12.0], [18.0; 2])),
        row("X21", LINES, Untestable, |m| triads(m, 1.33).without(|series, _| series == "read")),
        row("X21", PORTS, Holds, |m| of_ports(m, 0.9)).says("ports: 0.90"),
        row("X21", PORTS, DoesNotHold, |m| of_ports(m, 0.6)),
        row("X21", PORTS, Inconclusive, |m| of_ports(m, 0.8)),
        row("X21", PORTS, Untestable, |m| {
            let ports = None;
            triads(&Machine { ports, ..m.clone() }, 1.33)
        })
        .says("not in the table of cores"),
        row("X21", IN_L2, Holds, |m| in_l2(m, 0.2)),
        row("X21", IN_L2, DoesNotHold, |m| in_l2(m, 1.0)),
        row("X21", IN_L2, Inconclusive, |m| in_l2(m, 0.9)),
        row("X21", IN_L2, Untestable, |m| {
            in_l2(m, 0.2).without(|series, _| series == "non-temporal triad")
        }),
        row("X21", STREAMS, Holds, |m| streams(m, 1.5)).says("four streams over one: 1.50"),
        row("X21", STREAMS, DoesNotHold, |m| streams(m, 1.0)),
        row("X21", STREAMS, Inconclusive, |m| streams(m, 1.15)),
        row("X21", STREAMS, Untestable, |m| {
            streams(m, 1.5).without(|series, _| series == "read four streams")
        }),
    ]
}
