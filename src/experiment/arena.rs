//! Memory for one case after the other.

use super::{Untestable, Wish};
use crate::mem::{LINE, Region};
use crate::os::{Granted, Memory, Pages};

/// Keeps one mapping of each kind of page and lends it to the cases in turn: mapping and
/// populating a quarter of a gigabyte for every point would take longer than measuring it.
#[derive(Debug, Default)]
pub struct Arena {
    base: Slot,
    huge: Slot,
}

/// The memory of one kind of page.
#[derive(Debug, Default)]
struct Slot {
    memory: Option<Memory>,
    /// Kept until there is new memory, so that the system cannot hand out the same frames again.
    outgoing: Option<Memory>,
}

impl Arena {
    /// Has the next case laid out in other physical pages.
    pub fn renew(&mut self) {
        for slot in [&mut self.base, &mut self.huge] {
            slot.outgoing = slot.memory.take();
        }
    }

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
            Wish::HugeIfAny if self.huge.hold(bytes, Pages::Huge).is_ok() => Pages::Huge,
            Wish::HugeIfAny => Pages::Base,
        };
        let slot = match pages {
            Pages::Base => &mut self.base,
            Pages::Huge => &mut self.huge,
        };
        let memory = slot.hold(bytes, pages)?;
        let granted = memory.granted().clone();
        let region =
            Region::new(&mut memory.as_mut_slice()[..bytes]).map_err(Untestable::because)?;
        Ok((region, granted))
    }
}

impl Slot {
    /// Memory of at least `bytes`: what is there, or a new mapping.
    fn hold(&mut self, bytes: usize, pages: Pages) -> Result<&mut Memory, Untestable> {
        if self
            .memory
            .as_ref()
            .is_none_or(|memory| memory.len() < bytes)
        {
            // Memory that is too small goes first, and so does outgoing memory if there is not
            // enough for both.
            self.memory = None;
            let memory = match Memory::new(bytes, pages) {
                Err(_) if self.outgoing.take().is_some() => Memory::new(bytes, pages),
                first => first,
            };
            self.memory = Some(memory.map_err(Untestable::because)?);
            self.outgoing = None;
        }
        Ok(self.memory.as_mut().expect("just mapped"))
    }
}
