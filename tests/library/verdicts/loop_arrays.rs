//! A compiler that inserts prefetches by itself: E39.

use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};
use linefill::experiment::{Machine, Origin};

use super::planted::{Planted, Row, Value, noisy, row, time};

const EMITTED: &str = ".1";
const IN_MEMORY: &str = ".2";
const SMALL: &str = ".3";
const ALONE: &str = ".4";
const ALONE_SMALL: &str = ".5";

/// Claims judged on counts alone.
pub const EXACT: &[super::Exact] = &[("E39", EMITTED)];

/// The numbers of prefetches without and with the option, and the times per line with it in the small array
/// and in memory. Without the option, and with the option but without its prefetches, a line takes 1 and 10
/// core cycles.
fn compiled(machine: &Machine, prefetches: [f64; 2], with: [Value; 2]) -> Planted {
    Planted::new("E39", machine, |series, x| match series {
        "prefetches in the code without the option" => Value::Counted(prefetches[0]),
        "prefetches in the code with -fprefetch-loop-arrays" => Value::Counted(prefetches[1]),
        "compiled without the option" | "with the option, its prefetches left out" => {
            time(if x == 1024.0 { 1.0 } else { 10.0 })
        }
        _ if x == 1024.0 => with[0],
        _ => with[1],
    })
}

/// The unrolling takes `factor` of the time. Beside that, prefetches cost 20 % in the small array and 10 % in
/// memory.
fn unrolled(machine: &Machine, factor: f64) -> Planted {
    let loops = |series: &str, [plain, prefetching]: [f64; 2]| match series {
        "compiled without the option" => plain,
        "with the option, its prefetches left out" => plain * factor,
        _ => prefetching * factor,
    };
    Planted::new("E39", machine, |series, x| {
        time(loops(series, if x == 1024.0 { [1.0, 1.2] } else { [10.0, 11.0] }))
    })
}

/// The document's values.
fn usual(machine: &Machine) -> Planted {
    compiled(machine, [0.0, 1.0], [time(1.2), time(8.0)])
}

const NO_GCC: Value = Value::Untestable("gcc: No such file or directory");

#[test]
fn the_document_is_judged_by_the_prefetches_alone() {
    let experiment = super::planted::experiment("E39");
    let of_the_document = |id: &str| {
        let claim = experiment.claims.iter().find(|claim| claim.id == id);
        matches!(claim.unwrap().origin, Origin::Document { .. })
    };
    let origins = ["E39.2", "E39.3", "E39.4", "E39.5"].map(of_the_document);
    assert_eq!(origins, [false, false, true, true]);
}

pub fn rows() -> Vec<Row> {
    vec![
        row("E39", EMITTED, Holds, usual),
        row("E39", EMITTED, DoesNotHold, |m| compiled(m, [0.0, 0.0], [time(1.2), time(8.0)]))
            .says("with the option: 0"),
        row("E39", EMITTED, DoesNotHold, |m| compiled(m, [1.0, 1.0], [time(1.2), time(8.0)])),
        row("E39", EMITTED, Untestable, |m| Planted::new("E39", m, |_, _| NO_GCC)).says("gcc"),
        row("E39", IN_MEMORY, Holds, usual),
        row("E39", IN_MEMORY, DoesNotHold, |m| compiled(m, [0.0, 1.0], [time(1.2), time(11.0)])),
        row("E39", IN_MEMORY, Inconclusive, |m| {
            compiled(m, [0.0, 1.0], [time(1.2), noisy(9.7, 0.05)])
        }),
        row("E39", IN_MEMORY, Untestable, |m| compiled(m, [0.0, 1.0], [time(1.2), NO_GCC]))
            .says("gcc"),
        row("E39", SMALL, Holds, usual),
        row("E39", SMALL, DoesNotHold, |m| compiled(m, [0.0, 1.0], [time(0.8), time(8.0)])),
        row("E39", SMALL, Inconclusive, |m| {
            compiled(m, [0.0, 1.0], [noisy(1.03, 0.05), time(8.0)])
        }),
        row("E39", SMALL, Untestable, |m| compiled(m, [0.0, 1.0], [NO_GCC, time(8.0)])).says("gcc"),
        row("E39", ALONE, Holds, usual),
        row("E39", ALONE, DoesNotHold, |m| compiled(m, [0.0, 1.0], [time(1.2), time(11.0)])),
        row("E39", ALONE, Inconclusive, |m| compiled(m, [0.0, 1.0], [time(1.2), noisy(9.7, 0.05)])),
        row("E39", ALONE, Untestable, |m| {
            usual(m).without(|series, _| series.ends_with("left out"))
        }),
        // The document speaks of prefetches: what the unrolling saves is not theirs.
        row("E39", ALONE, DoesNotHold, |m| unrolled(m, 0.5)),
        row("E39", IN_MEMORY, Holds, |m| unrolled(m, 0.5)),
        row("E39", ALONE_SMALL, Holds, |m| unrolled(m, 0.5)),
        row("E39", SMALL, DoesNotHold, |m| unrolled(m, 0.5)),
        row("E39", ALONE_SMALL, Holds, usual),
        row("E39", ALONE_SMALL, DoesNotHold, |m| compiled(m, [0.0, 1.0], [time(0.8), time(8.0)])),
        row("E39", ALONE_SMALL, Inconclusive, |m| {
            compiled(m, [0.0, 1.0], [noisy(1.03, 0.05), time(8.0)])
        }),
        row("E39", ALONE_SMALL, Untestable, |m| {
            usual(m).without(|series, _| series.ends_with("left out"))
        }),
    ]
}
