//! Memory for one case after the other.

use super::{Untestable, Wish};
use crate::mem::{LINE, Region};
use crate::os::{Granted, Memory, Pages};

/// Keeps one mapping of each kind of page and lends it to the cases in turn: mapping and
/// populating a quarter of a gigabyte for every point would take longer than measuring it.
#[derive(Debug, Default)]
pub struct Arena {
    base: Option<Memory>,
    huge: Option<Memory>,
}

impl Arena {
    /// A region of `bytes` in the pages wished for, and what was really granted.
    ///
    /// # Errors
    /// If the system refuses the memory or the pages, with its reason.
    pub fn region(
        &mut self,
        bytes: usize,
        wish: Wish,
    ) -> Result<(Region<'_>, Granted), Untestable> {
        // Whole lines, and never none: a count may need no memory at all.
        let bytes = bytes.next_multiple_of(LINE).max(LINE);
        let pages = match wish {
            Wish::Base => Pages::Base,
            Wish::Huge => Pages::Huge,
            Wish::HugeIfAny if ensure(&mut self.huge, bytes, Pages::Huge).is_ok() => Pages::Huge,
            Wish::HugeIfAny => Pages::Base,
        };
        let slot = match pages {
            Pages::Base => &mut self.base,
            Pages::Huge => &mut self.huge,
        };
        let memory = ensure(slot, bytes, pages)?;
        let granted = memory.granted().clone();
        let region =
            Region::new(&mut memory.as_mut_slice()[..bytes]).map_err(Untestable::because)?;
        Ok((region, granted))
    }
}

/// Maps `slot` anew if it holds fewer than `bytes`.
fn ensure(
    slot: &mut Option<Memory>,
    bytes: usize,
    pages: Pages,
) -> Result<&mut Memory, Untestable> {
    if slot.as_ref().is_none_or(|memory| memory.len() < bytes) {
        // The old mapping goes first: both together may exceed the limit.
        *slot = None;
        *slot = Some(Memory::new(bytes, pages).map_err(Untestable::because)?);
    }
    Ok(slot.as_mut().expect("just mapped"))
}
