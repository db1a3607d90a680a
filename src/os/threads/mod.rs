//! Threads and processes that run beside the calling thread: groups that start at the same tick, and
//! background work that goes on until it is dropped.

mod background_process;
mod background_thread;
mod group;

pub use background_process::{BackgroundProcess, BackgroundProcessError};
pub use background_thread::{BackgroundThread, BackgroundThreadError};
pub use group::{ThreadGroup, ThreadGroupError, thread_group};
