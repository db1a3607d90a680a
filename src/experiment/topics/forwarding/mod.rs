//! A load behind a store.

pub mod forwardat;
pub mod store_to_load;

families![store_to_load, forwardat,];
