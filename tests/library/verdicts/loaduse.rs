//! Load-to-use latency.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::planted::{Planted, Row, Value, by_level, noisy, row, time};

const PUBLISHED: &str = ".1";
const DISPLACEMENT: &str = ".2";
const INDEX: &str = ".3";
const SCALED: &str = ".4";
const NARROW: &str = ".5";
const SIGN: &str = ".6";
const VECTOR: &str = ".7";
const WIDE: &str = ".8";
const WIDEST: &str = ".9";
const MEMORY: &str = ".10";

/// The core cycles in addition to those of the simplest load, for modes whose names contain a word.
type More = &'static [(&'static str, f64)];

/// A CPU whose modes differ by an index, a scale, a sign extension and a vector register.
const DIFFERENT: More = &[("rax*8", 1.0), ("[rdx+rax]", 1.0), ("zmm0", 6.0), ("xmm0", 5.0)];

/// Loads on a machine: the simplest load takes the published time in L1d, the others take `more`.
fn loads(machine: &Machine, more: More) -> Planted {
    let published = f64::from(machine.load_to_use.unwrap_or(4));
    Planted::new("X2", machine, |series, x| {
        let base = by_level(machine, x, [published, 14.0, 60.0, 400.0]);
        let found = more.iter().find(|(words, _)| series.contains(words));
        time(base + found.map_or(0.0, |(_, cycles)| *cycles))
    })
}

/// The same, with `value` for the series whose names contain `words`.
fn but(machine: &Machine, words: &'static str, value: Value) -> Planted {
    let published = f64::from(machine.load_to_use.unwrap_or(4));
    Planted::new(
        "X2",
        machine,
        |series, _| {
            if series.contains(words) { value } else { time(published) }
        },
    )
}

/// In memory, loads with scaled addresses take `factor` times as long as simple ones.
fn far(machine: &Machine, factor: f64) -> Planted {
    Planted::new("X2", machine, |series, x| {
        let slower = match series.contains("rax*8") {
            true => by_level(machine, x, [1.25, 1.07, 1.02, factor]),
            false => 1.0,
        };
        time(by_level(machine, x, [4.0, 14.0, 60.0, 400.0]) * slower)
    })
}

fn different(machine: &Machine) -> Planted {
    loads(machine, DIFFERENT)
}

/// Every mode takes the same time.
fn alike(machine: &Machine) -> Planted {
    loads(machine, &[])
}

pub fn rows() -> Vec<Row> {
    let mut rows = addresses();
    rows.extend(registers());
    rows
}

fn addresses() -> Vec<Row> {
    vec![
        row("X2", PUBLISHED, Holds, different),
        row("X2", PUBLISHED, DoesNotHold, |m| but(m, "mov rax,[rax]", time(7.0))),
        row("X2", PUBLISHED, Inconclusive, |m| {
            let edge = f64::from(m.load_to_use.unwrap_or(4)) + 0.5;
            but(m, "mov rax,[rax]", time(edge))
        }),
        row("X2", PUBLISHED, Untestable, |m| {
            different(m).on(Machine { load_to_use: None, ..m.clone() })
        })
        .says("no published load-to-use latency for this CPU; measured"),
        row("X2", DISPLACEMENT, Holds, different),
        row("X2", DISPLACEMENT, DoesNotHold, |m| loads(m, &[("+4096", 1.0)]))
            .says("[rax+4096]: 1.00"),
        row("X2", DISPLACEMENT, Inconclusive, |m| loads(m, &[("+64]", 0.25)])),
        row("X2", DISPLACEMENT, Untestable, |m| {
            different(m).without(|series, _| series == "mov rax,[rax+64]")
        })
        .says("no point of `mov rax,[rax+64]`"),
        row("X2", INDEX, Holds, different),
        row("X2", INDEX, DoesNotHold, alike),
        row("X2", INDEX, Inconclusive, |m| loads(m, &[("rdx+rax]", 0.9)])),
        row("X2", INDEX, Untestable, |m| {
            but(m, "mov rax,[rax]", Value::WithoutCoreClock(linefill::stats::Interval::exact(4.0)))
        })
        .says("has no value in cycles"),
        row("X2", SCALED, Holds, different),
        row("X2", SCALED, DoesNotHold, alike),
        row("X2", SCALED, Inconclusive, |m| loads(m, &[("rax*8", 0.9)])),
        row("X2", SCALED, Untestable, |m| {
            different(m).without(|series, _| series.contains("rax*8"))
        }),
        row("X2", MEMORY, Holds, |m| far(m, 1.01)),
        row("X2", MEMORY, DoesNotHold, |m| far(m, 1.3)),
        row("X2", MEMORY, DoesNotHold, |m| far(m, 0.8)),
        row("X2", MEMORY, Inconclusive, |m| far(m, 1.1)),
        row("X2", MEMORY, Untestable, |m| {
            let memory = m.ranges.memory;
            different(m).without(|_, x| memory.holds(x))
        }),
    ]
}

fn registers() -> Vec<Row> {
    vec![
        row("X2", NARROW, Holds, different),
        row("X2", NARROW, DoesNotHold, |m| loads(m, &[("movzx", 1.0)]))
            .says("movzx eax,word [rdx+rax]: 1.00"),
        // A narrow load that is faster than a wide one is also wrong.
        row("X2", NARROW, DoesNotHold, |m| loads(m, &[("mov rax,[rdx+rax]", 1.0)]))
            .says("mov eax,[rdx+rax]: -1.0"),
        row("X2", NARROW, Inconclusive, |m| loads(m, &[("mov eax", 0.25)])),
        row("X2", NARROW, Untestable, |m| but(m, "movzx", Value::Untestable("no memory")))
            .says("no memory"),
        row("X2", SIGN, Holds, different),
        row("X2", SIGN, DoesNotHold, |m| loads(m, &[("movsxd", 1.0)])),
        row("X2", SIGN, DoesNotHold, |m| loads(m, &[("movsx rax", 1.0)])),
        row("X2", SIGN, Inconclusive, |m| loads(m, &[("movsx", 0.25)])),
        row("X2", SIGN, Untestable, |m| but(m, "movsxd", Value::Missing)),
        row("X2", VECTOR, Holds, different),
        row("X2", VECTOR, DoesNotHold, alike),
        row("X2", VECTOR, Inconclusive, |m| but(m, "movq xmm0", noisy(6.0, 0.3))),
        row("X2", VECTOR, Untestable, |m| but(m, "movq xmm0", Value::Missing)),
        row("X2", WIDE, Holds, different),
        row("X2", WIDE, DoesNotHold, |m| loads(m, &[("ymm0", 1.0)])),
        row("X2", WIDE, DoesNotHold, |m| loads(m, &[("movdqa xmm0", 1.0)])),
        row("X2", WIDE, Inconclusive, |m| loads(m, &[("ymm0", 0.25)])),
        row("X2", WIDE, Untestable, |m| but(m, "ymm0", Value::Untestable("the load needs AVX2")))
            .says("the load needs AVX2"),
        row("X2", WIDEST, Holds, alike),
        row("X2", WIDEST, DoesNotHold, different),
        row("X2", WIDEST, Inconclusive, |m| loads(m, &[("zmm0", 0.25)])),
        row("X2", WIDEST, Untestable, |m| {
            but(m, "zmm0", Value::Untestable("the load needs AVX-512"))
        })
        .says("the load needs AVX-512"),
    ]
}
