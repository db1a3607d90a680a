//! A pass over a point, its quality, and its threads.

use crate::host::{Misplaced, RunAhead};
use crate::stats::Interval;

/// One of several passes over a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pass {
    /// The number of the pass in its run, from 0. A point lacks passes in which it was not measured.
    pub number: u32,
    /// The interval of the pass.
    pub interval: Interval,
    /// The quality of the pass.
    pub quality: Quality,
    /// Core cycles per tick meanwhile; `None` if the yardstick gave no value.
    pub core_per_tick: Option<f64>,
    /// The time of disturbed samples over that of undisturbed samples, if there were enough of both.
    pub slowed: Option<f64>,
    /// The time of the slowest thread over that of the fastest, if there were several.
    pub spread: Option<f64>,
}

/// The quality of a pass, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quality {
    /// Enough samples had the core to themselves.
    Clean,
    /// Only disturbed samples were available, or the host had placed the threads far apart.
    Disturbed,
    /// Two threads ran on other cores than the host reports.
    Misplaced(Misplaced),
}

impl Quality {
    /// Returns the quality of a measurement with these threads. `disturbed` is whether its samples were
    /// disturbed.
    pub(crate) fn of(threads: Option<ThreadStats>, disturbed: bool) -> Self {
        match threads.and_then(|threads| threads.misplaced) {
            Some(misplaced) => Quality::Misplaced(misplaced),
            None if disturbed => Quality::Disturbed,
            None => Quality::Clean,
        }
    }

    /// Returns the reason why a point of this quality shows nothing of what it was measured for; `None`
    /// if it shows it, however vaguely.
    pub(crate) const fn refusal(self) -> Option<&'static str> {
        match self {
            Quality::Clean | Quality::Disturbed => None,
            Quality::Misplaced(misplaced) => Some(misplaced.reason()),
        }
    }
}

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
    /// ratio also tells how the passes differ; [`Pass`] has that of each. The lead
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
