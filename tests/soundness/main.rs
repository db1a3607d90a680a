//! No safe call reads or writes memory outside its region, whatever its arguments.
#![cfg(feature = "std")]

mod arbitrary;
#[path = "../common/constructors/mod.rs"]
mod constructors;
mod reproduced;
