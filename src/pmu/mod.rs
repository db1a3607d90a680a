//! Performance counters: what an event is called and how it is encoded, how its count is read in
//! user mode, and how ring 0 programs it.
//!
//! Knows no operating system: [`Page`] reads counters that a kernel shares with a process, and
//! [`Counters`] programs them through a [`MsrPort`], where there is no kernel beneath.

mod capabilities;
mod encoding;
mod events;
mod page;
mod program;
mod quantity;
mod registers;

pub use capabilities::{Capabilities, Maker};
pub use encoding::{Encoding, Flavour, Microarch};
pub use events::{EventCode, UnknownEvent, event, events};
#[cfg(all(test, feature = "std"))]
pub(crate) use page::made_up_page;
pub use page::{Page, Reading, Unread};
pub use program::{Counters, ProgramError};
pub use quantity::{Answer, Quantity};
pub use registers::{Count, Cpu, MsrPort, Rdpmc, Slot};
