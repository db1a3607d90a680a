//! The evidence and the verdict of a claim.

pub mod counted;
pub mod evidence;
pub mod extreme;
pub mod guest;
pub mod paired;
pub mod statement;
pub mod takeaway;
pub mod verdict;
