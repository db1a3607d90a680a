//! The simulator against numbers from elsewhere.
#![cfg(feature = "alloc")]

mod cachegrind;
mod hierarchy;
mod mesi;
mod naive;
mod policies;
mod stack;
mod stripped;
mod vectors;
