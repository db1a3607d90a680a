//! How good a point is: its passes, what disturbed them, and the doubt that follows.

pub mod doubt;
pub mod looks;
pub mod passes;
