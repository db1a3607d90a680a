//! Orders and layouts in a caller's region.
