//! The std shim: what only an operating system can give (Linux).
//!
//! Pages of a wanted size between guard pages, one CPU for a thread, marks of preemption, a raw
//! clock, and what the kernel says about the machine. Nothing here knows what is measured.
//! Whatever the kernel refuses comes back as an error that names the value and the limit behind
//! it; nothing panics because a file under `/proc` or `/sys` is missing.

pub mod affinity;
mod apart;
mod cgroup;
mod choice;
pub mod clock;
pub mod code;
pub mod futex;
pub mod health;
pub mod hugepages;
pub mod interrupt;
pub mod leash;
pub mod limits;
pub mod maps;
pub mod memory;
pub mod msr;
pub mod neighbour;
pub mod partner;
pub mod perf;
pub mod preempt;
pub mod prefetchers;
pub mod root;
pub mod sampler;
mod signals;
pub mod split_locks;
pub mod sysfs;
pub mod team;

pub use affinity::{AffinityError, Pinned, allowed, pin};
pub use choice::{Choice, measuring_cpu};
pub use clock::pause;
pub use code::{Alias, Code};
pub use memory::{Granted, Memory, MemoryError, Pages, Populated, Via};
pub use neighbour::{BackgroundLoad, BackgroundProcess, NeighbourError};
pub use partner::{BackgroundThread, PartnerError};
pub use preempt::{Disturbance, Switches};
pub use root::{Root, Unreadable};
pub use sysfs::Sysfs;
pub use team::{RoundOptions, ThreadGroup, ThreadGroupError, Worker, WorkerTime, team};
