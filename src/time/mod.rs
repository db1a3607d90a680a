//! The only clock: fenced TSC ticks, their calibration, and the core-cycle yardstick.
