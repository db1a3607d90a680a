//! The twin of [`Chase`](crate::kernel::Chase).

use crate::pattern::Links;

/// Follows `links` for `operations` steps, leaves the cursor there, and returns the byte offset of
/// the element that it names.
pub fn chase(links: &mut Links<'_>, operations: u64) -> u64 {
    for _ in 0..operations {
        links.set_cursor(links.next(links.cursor()));
    }
    links.place(links.cursor()) as u64
}
