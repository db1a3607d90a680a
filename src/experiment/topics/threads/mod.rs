//! Threads that walk lists side by side.

pub(crate) mod accuracy;
pub mod hyperthread;
mod loaded;
pub mod shared_lists;

families![hyperthread, shared_lists, loaded, accuracy];
