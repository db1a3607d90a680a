//! Which caches the cores of a processor have to themselves: the arrangements of Drepper 3.5.3.

use std::collections::BTreeSet;

use super::{CpuLocation, Sysfs};
use crate::os::root::Unreadable;

/// How the cores of the processors share their caches beyond the first level. The first four are
/// those of Drepper, "What Every Programmer Should Know About Memory", 3.5.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Arrangement {
    /// Each core has its own last level: early multi-core processors.
    Separate,
    /// All cores share the second level, which is the last: Intel's dual cores of 2006.
    SharedL2,
    /// Groups of cores share a second level, which is the last: Intel's quad cores of 2007.
    L2OfGroups,
    /// Each core has its second level, and all share the third: AMD's family 10h, and most since.
    SharedL3,
    /// Each core has its second level, and groups of them a third: core complexes of Zen.
    L3OfGroups,
    /// Groups of cores share a second level, and larger ones a third: clusters of efficient cores.
    L2InL3,
    /// Each processor has one core.
    OneCore,
}

impl Arrangement {
    /// All of them.
    pub const ALL: [Arrangement; 7] = [
        Arrangement::Separate,
        Arrangement::SharedL2,
        Arrangement::L2OfGroups,
        Arrangement::SharedL3,
        Arrangement::L3OfGroups,
        Arrangement::L2InL3,
        Arrangement::OneCore,
    ];

    /// The arrangement of the CPUs that sit so; `None` without any.
    pub fn of(seats: &[CpuLocation]) -> Option<Arrangement> {
        // Of all that share what `shared` tells, so many different ones of `counted` at most.
        let most = |shared: fn(&CpuLocation) -> usize, counted: fn(&CpuLocation) -> usize| {
            let pairs: BTreeSet<_> = seats.iter().map(|of| (shared(of), counted(of))).collect();
            let count = |key| pairs.iter().filter(|pair| pair.0 == key).count();
            pairs.iter().map(|pair| count(pair.0)).max()
        };
        let cores_a_package = most(|seat| seat.package, |seat| seat.core)?;
        let cores_an_l2 = most(|seat| seat.l2, |seat| seat.core)?;
        let cores_a_last = most(|seat| seat.last_level, |seat| seat.core)?;
        let l2s_a_last = most(|seat| seat.last_level, |seat| seat.l2)?;
        let lasts_a_package = most(|seat| seat.package, |seat| seat.last_level)?;
        Some(match () {
            () if cores_a_package == 1 => Arrangement::OneCore,
            () if cores_a_last == 1 => Arrangement::Separate,
            () if l2s_a_last == 1 && lasts_a_package == 1 => Arrangement::SharedL2,
            () if l2s_a_last == 1 => Arrangement::L2OfGroups,
            () if cores_an_l2 > 1 => Arrangement::L2InL3,
            () if lasts_a_package == 1 => Arrangement::SharedL3,
            () => Arrangement::L3OfGroups,
        })
    }
}

impl Sysfs {
    /// How the cores that are online share their caches. CPUs of whose cores the kernel tells
    /// nothing count as cores.
    ///
    /// # Errors
    /// [`Unreadable`] when the kernel does not describe the caches of a CPU that is online.
    pub fn arrangement(&self) -> Result<Arrangement, Unreadable> {
        let online = self.online()?;
        for cpu in &online {
            self.caches(*cpu)?;
        }
        // The list of CPUs is never empty.
        Ok(Arrangement::of(&self.seats(&online)).unwrap_or(Arrangement::OneCore))
    }
}
