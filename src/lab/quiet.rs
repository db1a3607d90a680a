//! Whether an isolated run was disturbed while it sampled.

use std::fmt;

use super::record::{Header, PointLine};
use super::size::grouped;

/// How often the measuring CPU was interrupted or taken away while a run sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quiet {
    /// Number of samples and single runs.
    pub samples: u64,
    /// Interrupts of the CPU during them.
    pub interrupts: u64,
    /// Samples in which the thread left its CPU or shared its core.
    pub disturbed: u64,
}

impl Quiet {
    /// Sums up the points of a run. `None` if the CPU was not isolated, or interrupts were not counted.
    pub fn of(header: &Header, points: &[PointLine]) -> Option<Self> {
        header.isolation.as_ref()?;
        of_points(points)
    }
}

/// Sums up the points at which interrupts were counted; `None` if there are none.
fn of_points(points: &[PointLine]) -> Option<Quiet> {
    // A point shared with another experiment counts only where it was measured.
    let own = points.iter().filter(|line| line.same_as.is_none());
    let measured = own.filter_map(|line| line.point.measured());
    let counted = measured.filter_map(|of| {
        let runs: u64 = of.runs.iter().map(|runs| runs.count).sum();
        Some(Quiet {
            samples: of.samples.len() as u64 + runs,
            interrupts: of.interrupts?,
            disturbed: of.disturbed as u64,
        })
    });
    counted.reduce(|one, other| Quiet {
        samples: one.samples + other.samples,
        interrupts: one.interrupts + other.interrupts,
        disturbed: one.disturbed + other.disturbed,
    })
}

impl fmt::Display for Quiet {
    /// Formats `0 interrupts in 312,000 samples, 0 samples disturbed`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [interrupts, samples, disturbed] =
            [self.interrupts, self.samples, self.disturbed].map(grouped);
        write!(
            f,
            "{interrupts} interrupts in {samples} samples, {disturbed} samples disturbed"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Point, State, Untestable};

    #[test]
    fn the_proof_groups_its_digits() {
        let quiet = Quiet {
            samples: 312_000,
            interrupts: 0,
            disturbed: 3,
        };
        let text = "0 interrupts in 312,000 samples, 3 samples disturbed";
        assert_eq!(quiet.to_string(), text);
    }

    #[test]
    fn points_that_were_not_counted_prove_nothing() {
        let point = Point {
            series: "a".to_owned(),
            x: 1.0,
            state: State::Untestable(Untestable("no threads".to_owned())),
        };
        let lines = [PointLine::new("X15", 0, point)];
        assert_eq!(of_points(&lines), None);
    }
}
