//! Lines that several cores access.

use crate::prelude::*;

mod contention;
pub mod locks;
pub mod mesi;
pub mod migration;
pub mod other_hardware;
pub mod ownership;
pub mod remote;
pub mod sharing;
pub mod transfer;

families![mesi, sharing, migration, transfer, ownership, contention, other_hardware,];

/// Names the series of a way in a place.
fn series(way: &str, place: &str) -> String {
    format!("{way}, {place}")
}
