//! Performance counters: what an event is called and how it is encoded, how its count is read in
//! user mode, and how ring 0 programs it.
//!
//! Knows no operating system: [`Page`] reads counters that a kernel shares with a process, and
//! [`Counters`] programs them through a [`MsrPort`], where there is no kernel beneath.

mod capabilities;
mod conflict;
mod encoding;
mod events;
mod microarch;
mod page;
mod port;
mod program;
mod quantity;
mod registers;
mod slot;

pub use capabilities::{Capabilities, Maker};
pub use conflict::ProgramError;
pub use encoding::{Encoding, Flavour};
pub use events::{EventCode, UnknownEvent, event, events};
pub use microarch::Microarch;
#[cfg(all(test, feature = "std"))]
pub(crate) use page::made_up_page;
pub use page::{Page, Reading, Unread};
pub use port::{Cpu, MsrPort, Rdpmc};
pub use program::Counters;
pub use quantity::{Answer, Quantity};
pub use slot::{Count, Slot};
