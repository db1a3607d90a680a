//! The simulator against numbers from elsewhere.
#![cfg(feature = "alloc")]

mod cachegrind;
mod hierarchy;
mod stack;
mod vectors;
