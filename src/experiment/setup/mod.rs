//! Layouts with kernels, as data: the building blocks of cases.

mod count;
mod jump;
mod walk;

pub use count::CountSetup;
pub use jump::JumpSetup;
pub use walk::WalkSetup;
