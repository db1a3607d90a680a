//! The simulator against numbers from elsewhere.
#![cfg(feature = "alloc")]

mod cachegrind;
mod vectors;
