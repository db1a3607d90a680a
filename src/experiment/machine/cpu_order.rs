//! Which CPUs the threads of an experiment run on.

use crate::experiment::{Testable, Untestable};
use crate::host::{CpuLocation, Nearness};
use crate::order;
use crate::prelude::*;

/// The CPUs that the second and further threads get.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// Cores before hyper-threads, and near CPUs before far ones.
    #[default]
    Near,
    /// Cores before hyper-threads, and far CPUs before near ones: other packages, other last levels.
    Far,
    /// CPUs that share the most come first: the hyper-threads of a core before the next core.
    Siblings,
}

impl Placement {
    /// All placements.
    pub const ALL: [Placement; 3] = [Placement::Near, Placement::Far, Placement::Siblings];

    /// Returns the name in a record.
    pub const fn name(self) -> &'static str {
        match self {
            Placement::Near => "near",
            Placement::Far => "far",
            Placement::Siblings => "siblings",
        }
    }

    /// Returns the placement with this name.
    pub fn named(name: &str) -> Option<Self> {
        Placement::ALL.into_iter().find(|placement| placement.name() == name)
    }
}

/// The CPUs of this process, the measuring CPU first, and what they share. Empty if a record does not
/// list them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuOrder {
    /// The CPUs, in the order in which threads get them.
    locations: Vec<CpuLocation>,
    /// The CPUs of the performance cores, if cores are of two kinds.
    performance: Vec<usize>,
}

impl CpuOrder {
    /// Returns the order in which the first thread gets `first`, or the first of `locations` if `first` is
    /// not among them. The other threads get CPUs near it.
    pub fn around(first: Option<usize>, locations: Vec<CpuLocation>) -> Self {
        CpuOrder::placed(first, locations, Placement::Near)
    }

    /// Like [`CpuOrder::around`], with the other threads placed by `placement`.
    pub fn placed(
        first: Option<usize>,
        mut locations: Vec<CpuLocation>,
        placement: Placement,
    ) -> Self {
        let centre = locations.iter().find(|location| Some(location.cpu) == first);
        let Some(centre) = centre.or(locations.first()).copied() else {
            return CpuOrder::default();
        };
        // The measuring CPU represents its core. Every other core is represented by its first CPU here:
        // the number of a core may be that of a CPU which this process may not use.
        let all = locations.clone();
        let representative = |core| match core == centre.core {
            true => Some(centre.cpu),
            false => {
                let threads = all.iter().filter(|location| location.core == core);
                threads.map(|location| location.cpu).min()
            }
        };
        order::by_key(&mut locations, |location| {
            let rank = usize::from(representative(location.core) != Some(location.cpu));
            let index = |near| Nearness::ALL.iter().position(|other| *other == near);
            let near = if location.cpu == centre.cpu { None } else { index(centre.to(location)) };
            match placement {
                Placement::Near => (rank, near, location.cpu, 0),
                Placement::Far => {
                    let far = near.map(|near| Nearness::ALL.len() - near);
                    (rank, far, location.cpu, 0)
                }
                // Among CPUs that are equally near, the CPUs of a core follow one another.
                Placement::Siblings => {
                    (usize::from(near.is_some()), near, location.core, location.cpu)
                }
            }
        });
        CpuOrder { locations, performance: Vec::new() }
    }

    /// Adds which CPUs are those of performance cores, if cores are of two kinds.
    pub fn with_performance(self, performance: Vec<usize>) -> Self {
        CpuOrder { performance, ..self }
    }

    /// Checks that `threads` threads run on cores of one kind, so that their speed can be compared with that
    /// of one thread alone.
    ///
    /// # Errors
    /// If they do not.
    pub(crate) fn one_kind(&self, threads: usize) -> Testable<()> {
        let mut kinds = self.locations.iter().take(threads);
        let is_performance = |location: &CpuLocation| self.performance.contains(&location.cpu);
        let first = kinds.next().is_some_and(is_performance);
        if kinds.all(|location| is_performance(location) == first) {
            return Ok(());
        }
        Err(Untestable("the threads run on cores of two kinds".to_owned()))
    }

    /// Returns the CPUs in the order in which threads get them.
    pub fn locations(&self) -> &[CpuLocation] {
        &self.locations
    }

    /// Returns the CPUs of the first `threads` threads.
    pub(crate) fn first(&self, threads: usize) -> &[CpuLocation] {
        &self.locations[..threads.min(self.locations.len())]
    }

    /// Returns the number of CPUs.
    pub fn cpus(&self) -> usize {
        self.locations.len()
    }

    /// Returns the number of cores.
    pub fn cores(&self) -> usize {
        let cores = order::distinct(self.locations.iter().map(|location| location.core));
        cores.len()
    }

    /// Checks that there are so many cores.
    ///
    /// # Errors
    /// If there are fewer.
    pub(crate) fn at_least(&self, cores: usize) -> Testable<()> {
        let here = self.cores();
        if here >= cores {
            return Ok(());
        }
        let may = match here {
            0 => "the record does not say how many there were".to_owned(),
            1 => "this process may use only one".to_owned(),
            _ => format!("this process may use only {here}"),
        };
        Err(Untestable(format!("the test needs {cores} cores, and {may}")))
    }

    /// Returns the CPUs of `threads` threads, starting again at the first CPU if there are more threads
    /// than CPUs.
    ///
    /// # Errors
    /// If no CPU is known.
    pub fn of(&self, threads: usize) -> Testable<Vec<usize>> {
        if self.locations.is_empty() {
            return Err(Untestable("no CPU for a second thread is known".into()));
        }
        let cpus = self.locations.iter().map(|location| location.cpu).cycle();
        Ok(cpus.take(threads).collect())
    }

    /// Returns the measuring CPU and the first other CPU of exactly this nearness to it.
    ///
    /// # Errors
    /// If there is no such CPU.
    pub fn pair(&self, nearness: Nearness) -> Testable<[usize; 2]> {
        let none = || {
            Untestable::because(match nearness {
                Nearness::Core => "no two CPUs here are hyper-threads of one core",
                Nearness::Level2 => "no two cores here share an L2",
                Nearness::LastLevel => "no two cores here share a last level and have an L2 each",
                Nearness::Package => "no two cores of one package here have a last level each",
                Nearness::System => "no two cores here lie in different packages",
            })
        };
        let (first, others) = self.locations.split_first().ok_or_else(none)?;
        let other = others.iter().find(|location| first.to(location) == nearness);
        Ok([first.cpu, other.ok_or_else(none)?.cpu])
    }

    /// Returns the nearness of the measuring CPU to the nearest CPU on another core.
    ///
    /// # Errors
    /// If there is only one core.
    pub(crate) fn nearest_core(&self) -> Testable<Nearness> {
        self.nearest().ok_or_else(|| {
            Untestable::because(match self.locations.is_empty() {
                true => "the test needs two cores, and the record does not say how many there were",
                false => "the test needs two cores, and this process may use only one",
            })
        })
    }

    /// Returns the measuring CPU and the nearest CPU on another core.
    ///
    /// # Errors
    /// If there is only one core.
    pub(crate) fn two_cores(&self) -> Testable<[usize; 2]> {
        self.pair(self.nearest_core()?)
    }

    /// Returns the nearness of the measuring CPU to the nearest CPU on another core, if there is one.
    pub fn nearest(&self) -> Option<Nearness> {
        let (first, others) = self.locations.split_first()?;
        let near = others.iter().map(|location| first.to(location));
        near.filter(|near| *near != Nearness::Core).min()
    }
}

/// Returns the smallest and the largest number of these threads that share a part of the machine,
/// which `of` names.
pub(crate) fn sharers(locations: &[CpuLocation], of: fn(&CpuLocation) -> usize) -> [usize; 2] {
    let with = |location| locations.iter().filter(|other| of(other) == of(location)).count().max(1);
    let counts = || locations.iter().map(with);
    [counts().min().unwrap_or(1), counts().max().unwrap_or(1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns two packages of two cores with two threads each, numbered as Linux does: cores first.
    fn sockets() -> Vec<CpuLocation> {
        let location = |cpu: usize| CpuLocation {
            cpu,
            core: cpu % 4,
            l2: cpu % 4,
            last_level: cpu % 4 / 2 * 2,
            package: cpu % 4 / 2 * 2,
        };
        (0..8).map(location).collect()
    }

    #[test]
    fn cores_come_before_threads_and_near_ones_before_far_ones() {
        let cpu_order = CpuOrder::around(Some(6), sockets());
        assert_eq!(cpu_order.of(8).unwrap(), [6, 3, 0, 1, 2, 7, 4, 5]);
        assert_eq!((cpu_order.cpus(), cpu_order.cores()), (8, 4));
    }

    /// Of two cores only the second hyper-threads are allowed, as `taskset` chooses them.
    #[test]
    fn a_core_is_represented_by_its_first_allowed_cpu() {
        let allowed = [0, 4, 5, 6].map(|cpu| sockets()[cpu]);
        for (placement, cpus) in [(Placement::Near, [0, 5, 6, 4]), (Placement::Far, [0, 6, 5, 4])] {
            let cpu_order = CpuOrder::placed(Some(0), allowed.to_vec(), placement);
            assert_eq!(cpu_order.of(4).unwrap(), cpus);
        }
    }

    #[test]
    fn far_cores_come_first_where_that_is_asked_for() {
        let cpu_order = CpuOrder::placed(Some(6), sockets(), Placement::Far);
        assert_eq!(cpu_order.of(8).unwrap(), [6, 0, 1, 3, 4, 5, 7, 2]);
        assert_eq!(cpu_order.pair(Nearness::LastLevel).unwrap(), [6, 3]);
    }

    #[test]
    fn hyper_threads_come_first_where_that_is_asked_for() {
        let cpu_order = CpuOrder::placed(Some(6), sockets(), Placement::Siblings);
        assert_eq!(cpu_order.of(8).unwrap(), [6, 2, 3, 7, 0, 4, 1, 5]);
        assert_eq!((cpu_order.cpus(), cpu_order.cores()), (8, 4));
    }

    #[test]
    fn a_placement_is_found_by_its_name() {
        for placement in Placement::ALL {
            assert_eq!(Placement::named(placement.name()), Some(placement));
        }
        assert_eq!(Placement::named("nearest"), None);
    }

    #[test]
    fn more_threads_than_cpus_begin_again() {
        let cpu_order = CpuOrder::around(None, sockets()[..2].to_vec());
        assert_eq!(cpu_order.of(5).unwrap(), [0, 1, 0, 1, 0]);
    }

    #[test]
    fn a_pair_shares_what_is_asked_for_and_no_more() {
        let cpu_order = CpuOrder::around(Some(1), sockets());
        assert_eq!(cpu_order.pair(Nearness::Core).unwrap(), [1, 5]);
        assert_eq!(cpu_order.pair(Nearness::LastLevel).unwrap(), [1, 0]);
        assert_eq!(cpu_order.pair(Nearness::System).unwrap(), [1, 2]);
        let none = cpu_order.pair(Nearness::Level2).unwrap_err();
        assert_eq!(none.to_string(), "no two cores here share an L2");
        assert_eq!(cpu_order.nearest(), Some(Nearness::LastLevel));
    }

    #[test]
    fn cores_of_two_kinds_are_told_apart() {
        let cpu_order = CpuOrder::around(Some(1), sockets());
        assert_eq!(cpu_order.of(4).unwrap(), [1, 0, 2, 3]);
        assert!(cpu_order.one_kind(8).is_ok());
        let two = cpu_order.with_performance(vec![0, 1, 4, 5]);
        assert!(two.one_kind(2).is_ok());
        let mixed = two.one_kind(3).unwrap_err();
        assert!(mixed.to_string().contains("cores of two kinds"), "{mixed}");
        // The efficient cores alone, as `taskset` chooses them.
        let efficient = CpuOrder::around(None, sockets()[2..4].to_vec());
        assert!(efficient.with_performance(vec![0, 1]).one_kind(2).is_ok());
    }

    #[test]
    fn threads_that_share_a_part_of_the_machine_are_counted() {
        let cpu_order = CpuOrder::around(None, sockets());
        let shared = |threads, of| sharers(cpu_order.first(threads), of);
        assert_eq!(shared(1, |location| location.last_level), [1, 1]);
        assert_eq!(shared(3, |location| location.last_level), [1, 2]);
        assert_eq!(shared(4, |location| location.l2), [1, 1]);
        assert_eq!(shared(8, |location| location.l2), [2, 2]);
        assert_eq!(shared(99, |location| location.package), [4, 4]);
    }

    #[test]
    fn nobody_sits_where_nothing_is_known() {
        let cpu_order = CpuOrder::around(Some(0), Vec::new());
        assert!(cpu_order.of(1).is_err() && cpu_order.pair(Nearness::Core).is_err());
        assert_eq!((cpu_order.cores(), cpu_order.nearest()), (0, None));
    }
}
