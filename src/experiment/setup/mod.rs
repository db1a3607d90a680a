//! Layouts with kernels, as data: the building blocks of cases.

mod arrive;
mod blocked;
mod chase;
mod count;
mod evict;
mod fields;
mod hint;
mod jump;
mod lines;
mod matrix;
mod orders;
mod pair;
mod pollution;
mod prefetch;
mod register;
mod rewrite;
mod touch;
mod walk;

pub use arrive::{ArriveSetup, Streamed};
pub use blocked::BlockedSetup;
pub use chase::ChaseSetup;
pub use count::CountSetup;
pub use evict::{Evict, EvictSetup, LineState, ReloadSetup, Then};
pub use fields::FieldsSetup;
pub use hint::{HintSetup, Past, Place};
pub use jump::JumpSetup;
pub use lines::{FillSetup, LoadSetup};
pub use matrix::MatrixSetup;
pub use orders::OrdersSetup;
pub use pair::PairSetup;
pub use pollution::{Passage, PollutionSetup};
pub use prefetch::PrefetchSetup;
pub use register::RegisterSetup;
pub use rewrite::{Policy, ReadBackSetup, RewriteSetup};
pub use touch::{Touch, TouchSetup};
pub use walk::WalkSetup;
