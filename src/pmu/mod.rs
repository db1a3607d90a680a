//! Performance counters: event names and encodings, reading a count in user mode, and programming
//! counters in ring 0.
//!
//! This module is independent of the operating system. [`Page`] reads counters that a kernel shares with
//! a process; [`Counters`] programs them through a [`MsrPort`] where no kernel does.

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
