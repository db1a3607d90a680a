//! Where data lies in a line: structures, holes, alignment.

pub mod alignment;
pub mod elements;
pub mod holes;
pub mod instruction;
pub mod orders;
pub mod placement;
pub mod straddle;
pub mod structure;

families![structure, instruction, elements, orders, holes, placement, alignment, straddle,];
