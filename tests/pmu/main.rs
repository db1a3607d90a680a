//! Events by name, and counters that are programmed on a CPU that is made up.

mod assign;
#[path = "../common/dump.rs"]
mod dump;
mod events;
mod machine;
mod peer;
mod program;
