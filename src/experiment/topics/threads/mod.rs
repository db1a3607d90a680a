//! Hyper-threads, threads on shared lists, walks beside streams, and the spread of single runs.

pub(crate) mod accuracy;
pub mod hyperthread;
mod loaded;
pub mod shared_lists;

families![hyperthread, shared_lists, loaded, accuracy];
