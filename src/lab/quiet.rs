//! How often a run was disturbed while it sampled.

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
        write!(f, "{interrupts} interrupts in {samples} samples, {disturbed} samples disturbed")
    }
}

/// The share of a run's samples during which another task or a hyper-thread used the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Disturbed {
    /// Percent, rounded down.
    pub percent: u64,
    /// Number of samples.
    pub samples: u64,
}

impl Disturbed {
    /// Sums up the points of a run. `None` if it has no samples.
    pub fn of(points: &[PointLine]) -> Option<Self> {
        let own = points.iter().filter(|line| line.same_as.is_none());
        let samples = own.filter_map(|line| Some(&line.point.measured()?.samples));
        let (mut all, mut disturbed) = (0, 0);
        for samples in samples {
            all += samples.len() as u64;
            disturbed += samples.iter().filter(|sample| sample.disturbed).count() as u64;
        }
        let percent = (100 * disturbed).checked_div(all)?;
        Some(Disturbed { percent, samples: all })
    }
}

impl fmt::Display for Disturbed {
    /// Formats `71 % of 650,345 samples were disturbed by another task or a hyper-thread`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (percent, samples) = (self.percent, grouped(self.samples));
        write!(
            f,
            "{percent} % of {samples} samples were disturbed by another task or a hyper-thread"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Point, State, Untestable};
    use crate::recorded::planted;

    #[test]
    fn the_proof_groups_its_digits() {
        let quiet = Quiet { samples: 312_000, interrupts: 0, disturbed: 3 };
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

    #[test]
    fn each_sample_counts_where_it_was_measured() {
        let line = |disturbed: usize| {
            let sample = |index| [10, 20, 5, u64::from(index < disturbed)];
            planted(1.0, 1.0, &(0..100).map(sample).collect::<Vec<_>>())
        };
        let of_another = PointLine { same_as: Some("X1".to_owned()), ..line(100) };
        let disturbed = Disturbed::of(&[line(40), line(0), of_another]).unwrap();
        let text = "20 % of 200 samples were disturbed by another task or a hyper-thread";
        assert_eq!(disturbed.to_string(), text);
        assert_eq!(Disturbed::of(&[]), None);
    }
}
