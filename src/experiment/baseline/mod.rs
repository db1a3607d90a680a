//! The points that every run measures before any experiment: the ladder and the calibration.

pub mod calibrating;
pub mod ladder;
