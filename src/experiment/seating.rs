//! Which CPUs the threads of an experiment run on.

use super::Untestable;
use crate::os::sysfs::{Nearness, Seat};

/// The CPUs of this process, the measuring one first, and what they share. Empty where a record
/// does not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seating {
    /// The seats, in the order in which threads take them: cores before hyper-threads, near ones
    /// before far ones.
    seats: Vec<Seat>,
}

impl Seating {
    /// The seating in which the first thread sits on `first`, or on the first of `seats` if that
    /// is none of them.
    pub fn around(first: Option<usize>, mut seats: Vec<Seat>) -> Self {
        let centre = seats.iter().find(|seat| Some(seat.cpu) == first);
        let Some(centre) = centre.or(seats.first()).copied() else {
            return Seating::default();
        };
        seats.sort_by_key(|seat| {
            // The centre stands for its core; of another core, its first CPU does.
            let rank = if seat.core == centre.core {
                usize::from(seat.cpu != centre.cpu)
            } else {
                usize::from(seat.cpu != seat.core)
            };
            let near = (seat.cpu != centre.cpu).then(|| centre.to(seat));
            (rank, near, seat.cpu)
        });
        Seating { seats }
    }

    /// The seats in the order in which threads take them.
    pub fn seats(&self) -> &[Seat] {
        &self.seats
    }

    /// How many CPUs there are.
    pub fn cpus(&self) -> usize {
        self.seats.len()
    }

    /// How many cores they are.
    pub fn cores(&self) -> usize {
        let mut cores: Vec<usize> = self.seats.iter().map(|seat| seat.core).collect();
        cores.sort_unstable();
        cores.dedup();
        cores.len()
    }

    /// The CPUs of `threads` threads; from the first again where there are more threads than CPUs.
    ///
    /// # Errors
    /// If no CPU is known.
    pub fn of(&self, threads: usize) -> Result<Vec<usize>, Untestable> {
        if self.seats.is_empty() {
            return Err(Untestable("no CPU for a second thread is known".into()));
        }
        let cpus = self.seats.iter().map(|seat| seat.cpu).cycle();
        Ok(cpus.take(threads).collect())
    }

    /// The measuring CPU and the first other one that shares just this with it.
    ///
    /// # Errors
    /// If there is none.
    pub fn pair(&self, nearness: Nearness) -> Result<[usize; 2], Untestable> {
        let none = || Untestable(format!("no two CPUs here: {}", nearness.name()));
        let (first, others) = self.seats.split_first().ok_or_else(none)?;
        let other = others.iter().find(|seat| first.to(seat) == nearness);
        Ok([first.cpu, other.ok_or_else(none)?.cpu])
    }

    /// What the nearest two CPUs on different cores share, if there are two.
    pub fn nearest(&self) -> Option<Nearness> {
        let (first, others) = self.seats.split_first()?;
        let near = others.iter().map(|seat| first.to(seat));
        near.filter(|near| *near != Nearness::Core).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two packages of two cores with two threads each, numbered as Linux does: cores first.
    fn sockets() -> Vec<Seat> {
        let seat = |cpu: usize| Seat {
            cpu,
            core: cpu % 4,
            l2: cpu % 4,
            last_level: cpu % 4 / 2 * 2,
            package: cpu % 4 / 2 * 2,
        };
        (0..8).map(seat).collect()
    }

    #[test]
    fn cores_come_before_threads_and_near_ones_before_far_ones() {
        let seating = Seating::around(Some(6), sockets());
        assert_eq!(seating.of(8).unwrap(), [6, 3, 0, 1, 2, 7, 4, 5]);
        assert_eq!((seating.cpus(), seating.cores()), (8, 4));
    }

    #[test]
    fn more_threads_than_cpus_begin_again() {
        let seating = Seating::around(None, sockets()[..2].to_vec());
        assert_eq!(seating.of(5).unwrap(), [0, 1, 0, 1, 0]);
    }

    #[test]
    fn a_pair_shares_what_is_asked_for_and_no_more() {
        let seating = Seating::around(Some(1), sockets());
        assert_eq!(seating.pair(Nearness::Core).unwrap(), [1, 5]);
        assert_eq!(seating.pair(Nearness::LastLevel).unwrap(), [1, 0]);
        assert_eq!(seating.pair(Nearness::System).unwrap(), [1, 2]);
        let none = seating.pair(Nearness::Level2).unwrap_err();
        assert!(none.to_string().contains("same L2"), "{none}");
        assert_eq!(seating.nearest(), Some(Nearness::LastLevel));
    }

    #[test]
    fn nobody_sits_where_nothing_is_known() {
        let seating = Seating::around(Some(0), Vec::new());
        assert!(seating.of(1).is_err() && seating.pair(Nearness::Core).is_err());
        assert_eq!((seating.cores(), seating.nearest()), (0, None));
    }
}
