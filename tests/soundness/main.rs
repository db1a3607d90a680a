//! No safe call reads or writes memory outside its region, whatever its arguments.
#![cfg(feature = "std")]

mod reproduced;
