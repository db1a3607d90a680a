//! Threads that walk lists side by side.

pub mod hyperthread;
pub mod shared_lists;

families![hyperthread, shared_lists,];
