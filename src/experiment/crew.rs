//! Kernels on several threads at once: which of them a sample is, and how it is taken.

use core::cell::Cell;

use super::Untestable;
use crate::measure::{Buffers, Outcome, Plan, Watch, in_stretches};
use crate::os::{Manner, Member, Turn, team};
use crate::stats::median;
use crate::time::Rate;

/// Which member's time a sample is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pace {
    /// The quickest member's, as in Drepper's figures.
    Fastest,
    /// The median member's.
    Median,
    /// The slowest member's, from the common start: the time that all of it takes, as in Sestoft's
    /// table.
    Slowest,
}

/// How the members of a measured team spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crew {
    /// How many threads there were.
    pub members: u32,
    /// On how many CPUs.
    pub cpus: u32,
    /// Median of the quickest member's ticks an operation.
    pub fastest: f64,
    /// Median of the slowest member's.
    pub slowest: f64,
}

impl Crew {
    /// The same of two passes: the quickest of the quickest, the slowest of the slowest.
    pub fn with(self, other: Crew) -> Crew {
        Crew {
            fastest: self.fastest.min(other.fastest),
            slowest: self.slowest.max(other.slowest),
            ..self
        }
    }
}

/// Nanoseconds from the call of a round to its start.
const AHEAD: f64 = 30_000.0;

/// A member that starts later than this share of its time after the others has not met them all
/// along.
const LATE: u64 = 10;

/// Counts the rounds in which a member was disturbed.
struct Disturbed<'c>(&'c Cell<u64>);

impl Watch for Disturbed<'_> {
    fn state(&mut self) -> u64 {
        self.0.get()
    }
}

/// Measures ticks an operation of `members` that run at once, each doing its own operations.
///
/// # Errors
/// If a thread cannot be started or kept on its CPU.
pub(super) fn at_once(
    members: &mut [Member<'_>],
    pace: Pace,
    in_step: bool,
    rate: Rate,
    plan: &Plan<'_>,
    buffers: Buffers<'_>,
) -> Result<Option<(Outcome, Crew)>, Untestable> {
    let mut cpus: Vec<usize> = members.iter().map(|member| member.cpu).collect();
    let count = cpus.len();
    cpus.sort_unstable();
    cpus.dedup();
    let alone = cpus.len() == count;
    let manner = Manner {
        ahead: rate.ticks(AHEAD),
        keep_on: alone && !in_step,
    };
    // Members that share a CPU take turns of milliseconds, of which a sample is to hold some.
    let plan = &Plan {
        sample_ticks: rate.ticks(if alone { 100e3 } else { 10e6 }),
        ..*plan
    };
    let disturbances = Cell::new(0);
    let (mut fastest, mut slowest) = (Vec::new(), Vec::new());
    let outcome = team(members, manner, |team| {
        let mut time = |operations| {
            let turns = team.round(operations);
            let apart = |turn: &Turn| turn.disturbed || turn.late > turn.ticks / LATE;
            // Members that share a CPU disturb each other; that is what is measured.
            let disturbed = alone && turns.iter().any(apart);
            disturbances.set(disturbances.get() + u64::from(disturbed));
            let each = |turn: &Turn| turn.ticks as f64 / operations as f64;
            let values = || turns.iter().map(each);
            fastest.extend(values().reduce(f64::min));
            slowest.extend(values().reduce(f64::max));
            stretch(turns, pace)
        };
        in_stretches(&mut time, plan, &mut Disturbed(&disturbances), buffers)
    })
    .map_err(Untestable::because)?;
    let middle = |values: &mut Vec<f64>| {
        values.sort_by(f64::total_cmp);
        median(values).unwrap_or(f64::NAN)
    };
    let crew = Crew {
        members: count as u32,
        cpus: cpus.len() as u32,
        fastest: middle(&mut fastest),
        slowest: middle(&mut slowest),
    };
    Ok(outcome.map(|outcome| (outcome, crew)))
}

/// The ticks and the proof of a round.
fn stretch(turns: &[Turn], pace: Pace) -> (u64, u64) {
    let mut own: Vec<u64> = turns.iter().map(|turn| turn.ticks).collect();
    own.sort_unstable();
    let ticks = match pace {
        Pace::Fastest => own[0],
        Pace::Median => own[own.len() / 2],
        Pace::Slowest => turns.iter().map(Turn::until).fold(0, u64::max),
    };
    let proof = turns
        .iter()
        .fold(0u64, |sum, turn| sum.wrapping_add(turn.proof));
    (ticks, proof)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_is_as_long_as_the_member_asked_for() {
        let turns = [30, 10, 20].map(|ticks| Turn {
            late: 25 - ticks / 2,
            ticks,
            proof: 2,
            ..Turn::default()
        });
        assert_eq!(stretch(&turns, Pace::Fastest), (10, 6));
        assert_eq!(stretch(&turns, Pace::Median), (20, 6));
        assert_eq!(stretch(&turns, Pace::Slowest), (40, 6));
    }

    #[test]
    fn passes_spread_as_far_as_the_widest() {
        let crew = |fastest, slowest| Crew {
            members: 2,
            cpus: 2,
            fastest,
            slowest,
        };
        assert_eq!(crew(3.0, 4.0).with(crew(2.0, 3.5)), crew(2.0, 4.0));
    }
}
