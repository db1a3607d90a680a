//! A pass over a point, and its quality.

use crate::experiment::ThreadStats;
use crate::host::Misplaced;
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
