//! Services that only an operating system can provide (Linux).
//!
//! Pages of a chosen size between guard pages, pinning, detection of preemption, a raw clock, and
//! what the kernel reports about the machine. No module here depends on what is measured. If the kernel
//! refuses a request, the error names the value and the limit behind it. A missing file under
//! `/proc` or `/sys` causes no panic.
//!
//! The public items are those that a measurement of your own needs. The modules behind them serve the
//! lab: they are hidden, and their interface may change in any version.

#[doc(hidden)]
pub mod affinity;
#[doc(hidden)]
pub mod clock;
#[doc(hidden)]
pub mod code;
mod core_distance;
mod guardian;
#[doc(hidden)]
pub mod health;
#[doc(hidden)]
pub mod interrupt;
#[doc(hidden)]
pub mod irq;
#[doc(hidden)]
pub mod isolation;
#[doc(hidden)]
pub mod limits;
#[doc(hidden)]
pub mod maps;
#[doc(hidden)]
pub mod memory;
#[doc(hidden)]
pub mod perf;
#[doc(hidden)]
pub mod preempt;
#[doc(hidden)]
pub mod prefetchers;
#[doc(hidden)]
pub mod root;
#[doc(hidden)]
pub mod sampler;
#[doc(hidden)]
pub mod settings;
#[doc(hidden)]
pub mod split_locks;
#[doc(hidden)]
pub mod sysfs;
pub(crate) mod threads;
#[doc(hidden)]
pub mod trial;
#[cfg(feature = "lab")]
pub(crate) mod unnamed;

#[doc(hidden)]
pub use crate::host::{BackgroundLoad, RoundOptions, Worker, WorkerTime};
pub use affinity::{AffinityError, Choice, Pinned, allowed, measuring_cpu, pin, pin_to_measure};
pub use clock::{calibrate, monotonic_raw_ns, pause};
pub use code::CodeError;
#[doc(hidden)]
pub use code::{Alias, Code};
#[cfg(feature = "lab")]
pub(crate) use interrupt::resume;
#[doc(hidden)]
pub use memory::nodes_of;
pub use memory::{
    Granted, LockRefused, Memory, MemoryError, Pages, Populated, Via, first_touched_on,
};
pub use preempt::{Disturbance, Switches, current_cpu};
#[doc(hidden)]
pub use root::{Root, Unreadable};
#[doc(hidden)]
pub use sysfs::Sysfs;
#[doc(hidden)]
pub use threads::{
    BackgroundProcess, BackgroundProcessError, BackgroundThread, BackgroundThreadError,
    ThreadGroup, ThreadGroupError, thread_group,
};

/// Returns the error of a call into C that has answered with another status than 0.
fn check(status: impl Into<i64>) -> std::io::Result<()> {
    match status.into() {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}
