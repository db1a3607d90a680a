//! What a claim is judged on, and what it comes to.

pub mod counted;
pub mod evidence;
pub mod extreme;
pub mod guest;
pub mod paired;
pub mod statement;
pub mod takeaway;
pub mod verdict;
