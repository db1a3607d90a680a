//! Robust statistics over samples.
