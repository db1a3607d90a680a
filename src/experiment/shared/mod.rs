//! Set-ups that experiments of several topics use.

pub mod addition;
pub mod bandwidth;
pub mod burst;
pub mod company;
pub mod count;
pub mod hint;
pub mod increment;
pub mod lines;
pub mod orders;
pub mod pending;
pub mod pollution;
pub mod register;
pub mod remote;
pub mod roundtrip;
pub mod sharedfields;
pub mod touch;
pub mod walk;
