//! Borrowed, aligned bytes: what every pattern is laid out in.
