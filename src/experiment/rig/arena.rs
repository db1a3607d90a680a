//! Memory for one case after the other.

use crate::experiment::{PageRequest, Untestable};
use crate::mem::{LINE, Region};
use crate::os::{Granted, Memory, MemoryError, Pages};

/// Keeps one mapping of each kind and lends it to the cases in turn: mapping and
/// populating a quarter of a gigabyte for every point would take longer than measuring it.
#[derive(Debug, Default)]
pub struct Arena {
    base: Slot,
    huge: Slot,
    giant: Slot,
    reserved: Slot,
}

/// What a slot holds.
#[derive(Clone, Copy)]
enum Kind {
    /// Pages that are all there.
    Populated(Pages),
    /// Pages that come when they are touched.
    Reserved,
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
        let Arena {
            base,
            huge,
            giant,
            reserved,
        } = self;
        for slot in [base, huge, giant, reserved] {
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
        wish: PageRequest,
    ) -> Result<(Region<'_>, Granted), Untestable> {
        // Whole lines, and never none: a count may need no memory at all.
        let bytes = bytes.next_multiple_of(LINE).max(LINE);
        let (slot, kind) = match wish {
            PageRequest::Base => (&mut self.base, Kind::Populated(Pages::Base)),
            PageRequest::Huge => (&mut self.huge, Kind::Populated(Pages::Huge)),
            PageRequest::Giant => (&mut self.giant, Kind::Populated(Pages::Giant)),
            PageRequest::Reserved => (&mut self.reserved, Kind::Reserved),
            PageRequest::HugeIfAny => {
                let huge = Kind::Populated(Pages::Huge);
                if self.huge.hold(bytes, huge).is_ok() {
                    (&mut self.huge, huge)
                } else {
                    (&mut self.base, Kind::Populated(Pages::Base))
                }
            }
        };
        let memory = slot.hold(bytes, kind)?;
        let granted = memory.granted().clone();
        let region = Region::new(&mut memory.as_mut_slice()[..bytes])?;
        Ok((region, granted))
    }
}

impl Kind {
    fn map(self, bytes: usize) -> Result<Memory, MemoryError> {
        match self {
            Kind::Populated(pages) => Memory::new(bytes, pages),
            Kind::Reserved => Memory::reserve(bytes),
        }
    }
}

impl Slot {
    /// Memory of at least `bytes`: what is there, or a new mapping.
    fn hold(&mut self, bytes: usize, kind: Kind) -> Result<&mut Memory, Untestable> {
        if self
            .memory
            .as_ref()
            .is_none_or(|memory| memory.len() < bytes)
        {
            // Memory that is too small goes first, and so does outgoing memory if there is not
            // enough for both.
            self.memory = None;
            let memory = match kind.map(bytes) {
                Err(_) if self.outgoing.take().is_some() => kind.map(bytes),
                first => first,
            };
            self.memory = Some(memory?);
            self.outgoing = None;
        }
        Ok(self.memory.as_mut().expect("just mapped"))
    }
}
