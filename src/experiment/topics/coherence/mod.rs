//! Lines that several cores access.

use crate::prelude::*;

mod contention;
mod locks;
mod mesi;
pub(crate) mod migration;
mod other_hardware;
mod ownership;
mod remote;
mod sharing;
pub(crate) mod transfer;

families![mesi, sharing, migration, transfer, ownership, contention, other_hardware,];

fn series(way: &str, place: &str) -> String {
    format!("{way}, {place}")
}
