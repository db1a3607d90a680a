//! Figure 6.1 and Table 6.1: a matrix that is initialised by row and by column.

use crate::experiment::machine::predict::{Flow, moved};
use crate::experiment::prelude::*;
use crate::kernel::{Store, Sweep, Temporal, Width};
use crate::pattern::Matrix;

/// Side of the paper's matrix: 3000 x 3000 elements of 4 bytes.
const PAPER: usize = 3000;

const SWEEPS: [(&str, Sweep, Temporal); 4] = [
    ("normal, by row", Sweep::Row, Temporal::Cached),
    ("normal, by column", Sweep::Column, Temporal::Cached),
    ("non-temporal, by row", Sweep::Row, Temporal::NonTemporal),
    ("non-temporal, by column", Sweep::Column, Temporal::NonTemporal),
];

pub(super) const FIG_6_1: Experiment = Experiment {
    id: "E4",
    name: "drepper-fig-6.1",
    title: "Initialising a matrix by row and by column",
    question: "When are stores that bypass the cache faster, and when are they slower?",
    source: "Drepper 6.1, Figure 6.1 and Table 6.1: a 3000 x 3000 matrix of 4-byte elements; 5.3 \
             ns per store by row, 14.1 normal and 17.8 non-temporal by column",
    about: "A program fills a matrix with 4-byte stores, cached (normal) or non-temporal, along \
            the rows or along the columns. By row, memory limits both kinds of stores, and \
            non-temporal stores save the read for ownership. By column, successive stores go to \
            different lines. For the paper's matrix a column has 3,000 lines, 192 KiB, which stay \
            in L2, so that 15 of 16 normal stores find their line there. A non-temporal store by \
            column is a partial write of four bytes each time.",
    plot: Some(Plot::bars(Axis::bytes("size of the matrix"), Axis::log("time"), Unit::Nanoseconds)),
    cases: |machine| {
        let mut cases = Vec::new();
        for side in sides(machine) {
            for (series, sweep, temporal) in SWEEPS {
                let setup =
                    MatrixSetup { rows: side, row_bytes: side * 4, sweep, width: 4, temporal };
                cases.push(Case::new(series, bytes_of(side), setup));
            }
        }
        cases
    },
    events: events::STORES,
    claims: &[
        // 0.048 s by row for both kinds of stores.
        measured(
            "E4.1",
            drepper("6.1, Table 6.1"),
            "by row, non-temporal stores to a matrix that exceeds the last level are no slower \
             than normal stores (10 % allowed)",
            |e| each(e, &beyond_caches(e.machine)?, [2, 0], at_most, 1.1),
        )
        .then(1.0, "IA-32, not named")
        .takeaway(
            Shown::Times,
            Touches::Some,
            "Non-temporal over normal stores, by row",
            "Non-temporal stores take {now} the time of normal stores to fill a matrix by row",
        )
        .advice(
            "Use non-temporal stores for full lines that the program will not read soon.",
            "Use normal stores; the only gain of non-temporal stores is that they leave the caches \
             alone.",
        ),
        // 0.127 s by column and 0.048 by row.
        measured(
            "E4.2",
            drepper("6.1, Table 6.1"),
            "normal stores to a matrix are slower by column than by row",
            |e| each(e, &sides(e.machine), [1, 0], at_least, 1.0),
        )
        .then(0.127 / 0.048, "IA-32, not named"),
        // 0.160 s and 0.127: 25 % worse than the cached run.
        measured(
            "E4.3",
            drepper("6.1, Table 6.1"),
            "by column, non-temporal stores to a matrix are slower than normal stores",
            |e| each(e, &sides(e.machine), [3, 1], at_least, 1.0),
        )
        .then(0.160 / 0.127, "IA-32, not named"),
        // 0.160 s and 0.048. A factor of 2 is our threshold.
        measured(
            "E4.4",
            drepper("6.1, Table 6.1"),
            "non-temporal stores to a matrix take more than 2 times as long by column as by row",
            |e| each(e, &sides(e.machine), [3, 2], at_least, 2.0),
        )
        .then(0.160 / 0.048, "IA-32, not named")
        .takeaway(
            Shown::Times,
            Touches::Some,
            "Non-temporal stores by column over by row",
            "Non-temporal stores take {now} as long by column as by row",
        )
        .advice(
            "Use non-temporal stores only for full lines in sequential order.",
            "Partial lines cost less than expected, but full lines in sequential order remain the \
             safe use of non-temporal stores.",
        ),
    ],
    ..Experiment::PLAIN
};

/// Returns the sides of the matrices: the paper's, and one well beyond the last-level cache. The
/// second is no power of two, so that its columns do not all fall into a few sets.
fn sides(machine: &Machine) -> [usize; 2] {
    let wanted = (machine.in_memory() / 4).isqrt();
    [PAPER, (wanted / 1000 * 1000).max(PAPER + 1000)]
}

fn bytes_of(side: usize) -> f64 {
    (side * side * 4) as f64
}

/// Returns the sides of the matrices that exceed the last level. Normal stores to a smaller one stay in the
/// cache, and save no traffic by bypassing it.
fn beyond_caches(machine: &Machine) -> Testable<Vec<usize>> {
    let last = machine.ranges.capacities.iter().map(Capacity::usable);
    let last = last.fold(0.0, f64::max);
    let mut beyond = sides(machine).to_vec();
    beyond.retain(|&side| bytes_of(side) > last);
    if beyond.is_empty() {
        return Err(Untestable(format!(
            "each matrix lies in the last level of {:.0} MiB",
            last / f64::from(1 << 20)
        )));
    }
    Ok(beyond)
}

/// Judges the ratio of two of the [`SWEEPS`] for the matrices of these sides.
fn each(
    e: &Evidence<'_>,
    sides: &[usize],
    [of, to]: [usize; 2],
    judge: fn(&str, Interval, f64) -> Judged,
    bound: f64,
) -> Judged {
    let [of, to] = [SWEEPS[of].0, SWEEPS[to].0];
    all_of(sides.iter().map(|&side| {
        let slower = ratio(e.at(of, bytes_of(side)), e.at(to, bytes_of(side)))?;
        judge(&format!("{of} over {to}, {side} x {side}"), slower, bound)
    }))
}

/// Set-up of stores of one width that sweep a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MatrixSetup {
    pub rows: usize,
    pub row_bytes: usize,
    /// Direction of the inner loop.
    pub sweep: Sweep,
    /// Bytes of a store: 4, 8, 16, 32 or 64.
    pub width: usize,
    pub temporal: Temporal,
}

impl Setup for MatrixSetup {
    fn bytes(&self) -> usize {
        self.rows * self.row_bytes
    }

    fn prepare<'m>(&self, region: Region<'m>, context: &Context) -> Testable<Workload<'m>> {
        let width = Width::of(self.width, context.features)
            .ok_or_else(|| Untestable(format!("this CPU has no stores of {} bytes", self.width)))?;
        let matrix = Matrix::new(region, self.rows, self.row_bytes)?;
        let store = Store::new(matrix, self.sweep, width, self.temporal)?;
        let period = store.pass();
        Ok(Workload::steady(store, period))
    }

    /// Predicts only sweeps by row: by column, lines leave the cache and come back in parts.
    fn predict(&self, parameters: &Parameters<'_>) -> Option<Forecast> {
        (self.sweep == Sweep::Row).then_some(())?;
        let none = Flow { width: Some(self.width), ..Flow::default() };
        let flow = match self.temporal {
            Temporal::Cached => Flow { stored: self.width, ..none },
            Temporal::NonTemporal => Flow { bypassing: self.width, ..none },
        };
        Some(moved(parameters, self.bytes(), flow, &ROWS)?.at_least(1.0))
    }
}

static ROWS: Model = Model {
    name: "one store per cycle, or lines at the rate of a stream",
    basis: Basis::Published,
    bar: 0.25,
    leaves_out: "stores that write only a part of a line",
};
