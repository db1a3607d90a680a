//! Store-to-load forwarding.

pub mod store_to_load;

families![store_to_load, forwardat in store_to_load::OFFSETS_OF_LOADS,];
