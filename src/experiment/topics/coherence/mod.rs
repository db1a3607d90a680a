//! Lines that several cores access.

mod contention;
pub mod locks;
pub mod mesi;
pub mod migration;
pub mod other_hardware;
pub mod ownership;
pub mod sharing;
pub mod transfer;

families![
    mesi,
    sharing,
    migration,
    transfer,
    ownership,
    contention,
    other_hardware,
];
