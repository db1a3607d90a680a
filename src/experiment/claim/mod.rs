//! The evidence and the verdict of a claim.

pub mod evidence;
pub mod paired;
pub mod reading;
mod runs;
pub mod statement;
pub mod takeaway;
pub mod verdict;
