//! Object files, their debug sections, and the files in which these may lie instead.

mod bytes;
mod image;
mod opened;
mod relocate;
mod separate;
mod unpack;

use bytes::Bytes;
use image::Image;
use separate::added;

pub(super) use opened::{Opened, Slice};
pub use separate::Places;
