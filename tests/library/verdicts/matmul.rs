//! Matrix multiplication: Drepper 6.2.1.

use linefill::experiment::Machine;
use linefill::experiment::Verdict::{DoesNotHold, Holds, Inconclusive, Untestable};

use super::planted::{CORE_PER_TICK, Planted, Row, Value, row, time};

const SAME: &str = ".1";
const POWER: &str = ".2";
const PAYS: &str = ".1";
const PAYS_ELSEWHERE: &str = ".2";
const TRANSPOSED_SHARE: &str = ".3";
const BEATS_THE_COPY: &str = ".1";
const SUB_MATRIX_SHARE: &str = ".2";
const TWO_AT_A_TIME: &str = ".1";
const VECTORISED_SHARE: &str = ".2";
const ORDER: &str = ".3";
const MISSES: &str = ".1";
const HALVED: &str = ".2";
const EIGHTH: &str = ".3";
const FOLLOWS: &str = ".4";

/// Claims that are judged on counts alone.
pub const EXACT: &[super::Exact] =
    &[("E6", SAME), ("E10", MISSES), ("E10", HALVED), ("E10", EIGHTH)];

/// The counts: results that differ by rounding, and the misses of the argument.
fn counted(series: &str, x: f64) -> Option<f64> {
    match series {
        "misses per multiply-add, original, simulated" => Some(1.0),
        "misses per multiply-add, columns together, simulated" => Some(1.0 / x),
        "misses per multiply-add, sub-matrix, simulated" => Some(1.0 / 64.0),
        _ if series.starts_with("largest difference") => Some(1e-16),
        _ => None,
    }
}

/// Core cycles per multiply-add by version and N, with correct counts. E9 is judged on speed, with two
/// floating-point operations per multiply-add.
fn times(id: &'static str, m: &Machine, cycles: impl Fn(&str, f64) -> f64) -> Planted {
    let core_ghz = CORE_PER_TICK * m.rate.hz() / 1e9;
    Planted::new(id, m, |series, n| match counted(series, n) {
        Some(count) => Value::Counted(count),
        None if id == "E9" => time(2.0 * core_ghz / cycles(series, n)),
        None => time(cycles(series, n)),
    })
}

/// Core cycles of the paper's four versions at every N; the wider versions take half a cycle.
fn columns(id: &'static str, m: &Machine, cycles: [f64; 4]) -> Planted {
    let ways = ["original", "transposed", "sub-matrix", "vectorised"];
    times(id, m, |series, _| {
        let place = ways.iter().position(|way| *way == series);
        place.map_or(0.5, |way| cycles[way])
    })
}

/// The values of Table 6.2.
const TABLE: [f64; 4] = [16.77, 3.92, 2.90, 1.59];

/// The correct counts, except that those of `series` are multiplied by `factor`.
fn with_counts(id: &'static str, m: &Machine, series: &str, factor: f64) -> Planted {
    Planted::new(id, m, |found, x| match counted(found, x) {
        Some(count) if found == series => Value::Counted(count * factor),
        Some(count) => Value::Counted(count),
        None => time(3.0),
    })
}

/// Times of the original version: at N = 1000, and above.
fn original(m: &Machine, at_1000: f64, above: f64) -> Planted {
    times("E6", m, |_, n| if n > 1000.0 { above } else { at_1000 })
}

/// Times of the transposed version as a share of the original: at N = 1000, and above.
fn transposed(m: &Machine, at_1000: f64, above: f64) -> Planted {
    times("E7", m, |series, n| match (series, n) {
        ("transposed", 1000.0) => 10.0 * at_1000,
        ("transposed", _) => 10.0 * above,
        _ => 10.0,
    })
}

pub fn rows() -> Vec<Row> {
    [results(), shares(), misses()].into_iter().flatten().collect()
}

fn results() -> Vec<Row> {
    vec![
        row("E6", SAME, Holds, |m| columns("E6", m, TABLE)),
        // A CPU without AVX-512: the claim is still judged on the other results.
        row("E6", SAME, Holds, |m| {
            Planted::new("E6", m, |series, x| match counted(series, x) {
                Some(_) if series.ends_with("AVX-512") => Value::Untestable("no AVX-512"),
                Some(count) => Value::Counted(count),
                None => time(3.0),
            })
        }),
        row("E6", SAME, DoesNotHold, |m| {
            with_counts("E6", m, "largest difference, vectorised", 1e9)
        })
        .says("vectorised 1.0e-7"),
        row("E6", SAME, Untestable, |m| {
            columns("E6", m, TABLE).without(|series, _| series == "largest difference, sub-matrix")
        })
        .says("was not measured at 104"),
        row("E6", POWER, Holds, |m| original(m, 3.1, 13.0)),
        row("E6", POWER, DoesNotHold, |m| original(m, 16.8, 17.0)),
        row("E6", POWER, Inconclusive, |m| original(m, 4.0, 6.0)),
        row("E6", POWER, Untestable, |m| columns("E6", m, TABLE).without(|_, n| n == 1024.0))
            .says("`original` was not measured at 1024"),
    ]
}

/// The columns of Table 6.2 as shares of each other.
fn shares() -> Vec<Row> {
    vec![
        row("E7", PAYS, Holds, |m| transposed(m, 0.234, 0.9)),
        row("E7", PAYS, DoesNotHold, |m| transposed(m, 0.95, 0.2)).says("N = 1000: 0.95"),
        row("E7", PAYS, Inconclusive, |m| transposed(m, 0.6, 0.2)),
        row("E7", PAYS, Untestable, |m| transposed(m, 0.2, 0.2).without(|_, n| n == 1000.0))
            .says("was not measured at 1000"),
        row("E7", PAYS_ELSEWHERE, Holds, |m| transposed(m, 0.95, 0.234)),
        row("E7", PAYS_ELSEWHERE, DoesNotHold, |m| transposed(m, 0.2, 0.95)).says("N = 1024: 0.95"),
        row("E7", PAYS_ELSEWHERE, Inconclusive, |m| transposed(m, 0.2, 0.6)),
        row("E7", PAYS_ELSEWHERE, Untestable, |m| {
            transposed(m, 0.2, 0.2).without(|_, n| n == 1024.0)
        })
        .says("was not measured at 1024"),
        row("E7", TRANSPOSED_SHARE, Holds, |m| columns("E7", m, TABLE)),
        row("E7", TRANSPOSED_SHARE, DoesNotHold, |m| transposed(m, 0.95, 0.2)),
        row("E7", TRANSPOSED_SHARE, Inconclusive, |m| transposed(m, 0.281, 0.2)),
        row("E7", TRANSPOSED_SHARE, Untestable, |m| {
            columns("E7", m, TABLE).without(|series, _| series == "transposed")
        }),
        row("E8", BEATS_THE_COPY, Holds, |m| columns("E8", m, TABLE)),
        row("E8", BEATS_THE_COPY, DoesNotHold, |m| columns("E8", m, [16.0, 3.0, 3.2, 1.0])),
        row("E8", BEATS_THE_COPY, Inconclusive, |m| columns("E8", m, [16.0, 3.0, 3.0, 1.0])),
        row("E8", BEATS_THE_COPY, Untestable, |m| {
            columns("E8", m, TABLE).without(|series, n| series == "sub-matrix" && n == 1000.0)
        }),
        row("E8", SUB_MATRIX_SHARE, Holds, |m| columns("E8", m, TABLE)),
        row("E8", SUB_MATRIX_SHARE, DoesNotHold, |m| columns("E8", m, [3.0, 3.0, 1.6, 0.9]))
            .says("sub-matrix over original: 0.53"),
        row("E8", SUB_MATRIX_SHARE, Inconclusive, |m| columns("E8", m, [10.0, 3.0, 2.08, 1.0])),
        row("E8", SUB_MATRIX_SHARE, Untestable, |m| {
            columns("E8", m, TABLE).without(|series, _| series == "original")
        }),
        row("E9", TWO_AT_A_TIME, Holds, |m| columns("E9", m, TABLE)),
        row("E9", TWO_AT_A_TIME, DoesNotHold, |m| columns("E9", m, [16.0, 4.0, 2.0, 2.2])),
        row("E9", TWO_AT_A_TIME, Inconclusive, |m| columns("E9", m, [16.0, 4.0, 2.0, 2.0])),
        row("E9", TWO_AT_A_TIME, Untestable, |m| {
            columns("E9", m, TABLE).without(|series, _| series == "vectorised")
        })
        .says("`vectorised` was not measured at 1000"),
        row("E9", VECTORISED_SHARE, Holds, |m| columns("E9", m, TABLE)),
        row("E9", VECTORISED_SHARE, DoesNotHold, |m| columns("E9", m, [3.0, 3.0, 1.6, 0.9]))
            .says("vectorised over original: 0.30"),
        row("E9", VECTORISED_SHARE, Inconclusive, |m| columns("E9", m, [10.0, 4.0, 2.0, 1.14])),
        row("E9", VECTORISED_SHARE, Untestable, |m| {
            columns("E9", m, TABLE).without(|series, _| series == "original")
        }),
        row("E9", ORDER, Holds, |m| columns("E9", m, TABLE))
            .says("original 16.77 (16.77), transposed 3.92 (3.92)"),
        row("E9", ORDER, DoesNotHold, |m| columns("E9", m, [3.0, 2.9, 1.6, 0.9]))
            .says("transposed over original: 0.97"),
        row("E9", ORDER, Inconclusive, |m| columns("E9", m, [10.0, 9.0, 2.0, 1.0])),
        row("E9", ORDER, Untestable, |m| {
            columns("E9", m, TABLE).without(|series, _| series == "sub-matrix")
        }),
    ]
}

fn misses() -> Vec<Row> {
    const ORIGINAL: &str = "misses per multiply-add, original, simulated";
    const TOGETHER: &str = "misses per multiply-add, columns together, simulated";
    const SUB_MATRIX: &str = "misses per multiply-add, sub-matrix, simulated";
    vec![
        row("E10", MISSES, Holds, |m| columns("E10", m, TABLE)),
        row("E10", MISSES, DoesNotHold, |m| with_counts("E10", m, ORIGINAL, 0.125)),
        row("E10", MISSES, Untestable, |m| {
            columns("E10", m, TABLE).without(|series, _| series == ORIGINAL)
        }),
        row("E10", HALVED, Holds, |m| columns("E10", m, TABLE)),
        row("E10", HALVED, DoesNotHold, |m| {
            Planted::new("E10", m, |series, x| match counted(series, x) {
                Some(count) if series == TOGETHER && x == 8.0 => Value::Counted(2.0 * count),
                Some(count) => Value::Counted(count),
                None => time(3.0),
            })
        })
        .says("8 columns together: 0.25"),
        row("E10", HALVED, Untestable, |m| {
            columns("E10", m, TABLE).without(|series, x| series == TOGETHER && x == 4.0)
        })
        .says("was not measured at 4"),
        row("E10", EIGHTH, Holds, |m| columns("E10", m, TABLE)),
        row("E10", EIGHTH, DoesNotHold, |m| with_counts("E10", m, SUB_MATRIX, 16.0)),
        row("E10", EIGHTH, Untestable, |m| {
            columns("E10", m, TABLE).without(|series, _| series == SUB_MATRIX)
        }),
        row("E10", FOLLOWS, Holds, |m| columns("E10", m, TABLE)),
        row("E10", FOLLOWS, DoesNotHold, |m| columns("E10", m, [3.0, 2.9, 1.6, 0.9]))
            .says("original over transposed: 1.03"),
        row("E10", FOLLOWS, Inconclusive, |m| columns("E10", m, [3.6, 3.0, 1.6, 0.9])),
        row("E10", FOLLOWS, Untestable, |m| {
            columns("E10", m, TABLE).without(|series, _| series == "transposed")
        }),
    ]
}
