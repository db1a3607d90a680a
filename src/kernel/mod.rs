//! What is timed.
