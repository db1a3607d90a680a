//! Threads that walk lists side by side.

pub mod hyperthread;
mod loaded;
pub mod shared_lists;

families![hyperthread, shared_lists, loaded];
