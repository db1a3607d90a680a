//! Statistics of the threads of a point.

use crate::host::{Misplaced, RunAhead};

/// Statistics of a measured group's workers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "record", derive(serde::Serialize, serde::Deserialize))]
pub struct ThreadStats {
    /// The number of threads.
    #[cfg_attr(feature = "record", serde(rename = "members"))]
    pub workers: u32,
    /// The number of CPUs they run on.
    pub cpus: u32,
    /// Median of the fastest worker's ticks per operation.
    pub fastest: f64,
    /// Median of the slowest worker's ticks per operation.
    pub slowest: f64,
    /// The CPUs of the first two workers, if there are at least two.
    #[cfg_attr(feature = "record", serde(skip_serializing_if = "Option::is_none"))]
    pub pair: Option<[usize; 2]>,
    /// How the first two workers ran on other cores than the system reports, in most rounds.
    #[cfg_attr(feature = "record", serde(flatten, with = "crate::host::misplaced"))]
    pub misplaced: Option<Misplaced>,
    /// Median ticks that a line took from the first worker to the second and back by `lock cmpxchg`,
    /// measured at the start of each round. `None` if the system reports that they share a core.
    #[cfg_attr(feature = "record", serde(skip_serializing_if = "Option::is_none"))]
    pub round_trip: Option<f64>,
    /// How far the helper ran ahead, for a walk with a helper.
    #[cfg_attr(feature = "record", serde(skip_serializing_if = "Option::is_none"))]
    pub lead: Option<RunAhead>,
}

impl ThreadStats {
    /// Merges the statistics of two passes. Keeps the smaller `fastest` and the larger `slowest`, whose
    /// ratio also tells how the passes differ; [`Pass`](crate::experiment::Pass) has that of each. The lead
    /// covers the least and the most of both, with its other fields from the first pass. The round trip is
    /// the first pass's too: a median of medians would not be that of all passes.
    pub fn with(self, other: ThreadStats) -> ThreadStats {
        let lead = match (self.lead, other.lead) {
            (Some(one), Some(other)) => Some(RunAhead {
                least: one.least.min(other.least),
                most: one.most.max(other.most),
                ..one
            }),
            (one, other) => one.or(other),
        };
        ThreadStats {
            fastest: self.fastest.min(other.fastest),
            slowest: self.slowest.max(other.slowest),
            misplaced: self.misplaced.filter(|_| self.misplaced == other.misplaced),
            round_trip: self.round_trip.or(other.round_trip),
            lead,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_spread_as_far_as_the_widest() {
        let stats = |fastest, slowest| ThreadStats {
            workers: 2,
            cpus: 2,
            fastest,
            slowest,
            ..ThreadStats::default()
        };
        assert_eq!(stats(3.0, 4.0).with(stats(2.0, 3.5)), stats(2.0, 4.0));
        let ahead = |least, median, most| ThreadStats {
            lead: Some(RunAhead { least, lower: least, median, upper: most, most }),
            ..stats(2.0, 4.0)
        };
        let both = ahead(3, 50, 90).with(ahead(1, 40, 95)).lead.unwrap();
        assert_eq!((both.least, both.median, both.most), (1, 50, 95));
        assert_eq!(stats(2.0, 4.0).with(ahead(3, 50, 90)), ahead(3, 50, 90));
        let distant = |ticks| ThreadStats { round_trip: Some(ticks), ..stats(2.0, 4.0) };
        assert_eq!(distant(200.0).with(distant(600.0)), distant(200.0));
        assert_eq!(stats(2.0, 4.0).with(distant(600.0)), distant(600.0));
        for way in Misplaced::ALL {
            let elsewhere = ThreadStats { misplaced: Some(way), ..stats(2.0, 4.0) };
            assert_eq!(elsewhere.with(elsewhere).misplaced, Some(way));
            assert_eq!(elsewhere.with(stats(2.0, 4.0)).misplaced, None);
        }
    }
}
