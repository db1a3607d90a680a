//! Threads that take and release locks of libraries, whose waiting threads sleep.

use crate::experiment::prelude::*;
use crate::experiment::shared::words::Spacing;
use crate::mem::Region;

#[cfg(feature = "std")]
mod turns;

/// Whose locks they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Library {
    /// `std::sync::Mutex<()>`: 8 bytes.
    Std,
    /// `parking_lot::Mutex<()>`: 1 byte.
    ParkingLot,
}

/// Threads that take locks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MutexSetup {
    /// The library of the locks.
    pub library: Library,
    /// Where the locks lie: in one place, side by side, or on separate lines.
    pub spacing: Spacing,
    /// The CPU of each thread.
    pub cpus: Vec<usize>,
    /// Whose time counts.
    pub pace: SampleOf,
}

impl Setup for MutexSetup {
    /// The region is not used: locks lie in memory of their own.
    fn bytes(&self) -> usize {
        0
    }

    fn prepare<'m>(&self, _: Region<'m>, _: &Context) -> Result<Workload<'m>, Untestable> {
        match self.library {
            #[cfg(feature = "std")]
            Library::Std => Ok(self.team::<std::sync::Mutex<()>, 8>()),
            #[cfg(not(feature = "std"))]
            Library::Std => Err(Untestable::without_std()),
            #[cfg(feature = "peers")]
            Library::ParkingLot => Ok(self.team::<parking_lot::Mutex<()>, 64>()),
            #[cfg(not(feature = "peers"))]
            Library::ParkingLot => Err(Untestable::without_peers()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Linux;

    fn setup(spacing: Spacing) -> MutexSetup {
        MutexSetup {
            library: Library::Std,
            spacing,
            cpus: vec![0, 1, 0],
            pace: SampleOf::Slowest,
        }
    }

    #[test]
    fn locks_lie_where_they_are_said_to() {
        for bytes in [8, 1] {
            let places = |spacing| [0, 1, 2].map(|index| setup(spacing).lock(index, bytes) * bytes);
            assert_eq!(places(Spacing::Shared), [0, 0, 0]);
            assert_eq!(places(Spacing::Apart(8)), [0, bytes, 2 * bytes]);
            assert_eq!(places(Spacing::Apart(64)), [0, 64, 128]);
            assert_eq!(places(Spacing::Apart(128)), [0, 128, 256]);
        }
    }

    #[test]
    fn every_thread_takes_its_turns() {
        let context = Context {
            features: crate::cpu::Features::detect(),
            host: &Linux,
        };
        for library in [Library::Std, Library::ParkingLot] {
            for spacing in [Spacing::Shared, Spacing::Apart(8), Spacing::Apart(128)] {
                let setup = MutexSetup {
                    library,
                    ..setup(spacing)
                };
                let mut bytes = [0; 256];
                let region = Region::new(&mut bytes).unwrap();
                match setup.prepare(region, &context) {
                    Ok(Workload::Threads { mut members, .. }) => {
                        assert_eq!(members.len(), 3);
                        let turns = members.iter_mut().map(|member| member.kernel.run(5));
                        assert_eq!(turns.sum::<u64>(), 15);
                    }
                    Ok(other) => panic!("{other:?}"),
                    Err(reason) => {
                        let refused = (library, cfg!(feature = "peers"));
                        assert_eq!(refused, (Library::ParkingLot, false), "{reason}");
                    }
                }
            }
        }
    }
}
