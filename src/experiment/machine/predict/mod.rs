//! Models of the time of accesses, and what they know of the machine.

pub use crate::experiment::machine::predict::forecast::{Basis, Forecast, Model, Parameters};
pub(in crate::experiment) use crate::experiment::machine::predict::memory::{
    Flow, Places, in_flight, in_order, moved, random, window,
};

mod forecast;
mod memory;
