//! Traces from elsewhere: as valgrind's lackey prints them, and in a compact form.

mod compact;
pub mod lackey;

pub use compact::{CorruptTrace, Decoder, Encoder, MAGIC};
