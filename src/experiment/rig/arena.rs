//! Memory for one case after the other.

use crate::experiment::{PageRequest, Untestable};
use crate::host::{Backing, Granted, Heap, Host, Lack, MemoryPolicy, Pages};
use crate::mem::{LINE, Region};
use crate::prelude::*;

/// Keeps one mapping of each kind and lends it to the cases in turn: mapping and
/// populating a quarter of a gigabyte for every point would take longer than measuring it. Memory of
/// other nodes than those of most cases is new for each case.
#[derive(Debug)]
pub struct Arena {
    host: &'static dyn Host,
    /// The nodes of all memory, unless a case names others.
    policy: MemoryPolicy,
    /// Memory on nodes that a case names.
    placed: Slot,
    base: Slot,
    huge: Slot,
    giant: Slot,
    reserved: Slot,
    /// What is counted and not timed, where the host has no memory in pages of a given size.
    heap: Slot,
}

/// What a slot holds.
#[derive(Clone, Copy)]
enum Kind {
    /// Pages that are all there.
    Populated(Pages),
    /// Pages that come when they are touched.
    Reserved,
    /// Memory of the allocator.
    Heap,
}

/// The memory of one kind of page.
#[derive(Debug, Default)]
struct Slot {
    memory: Option<Box<dyn Backing>>,
    /// Kept until there is new memory, so that the system cannot hand out the same frames again.
    outgoing: Option<Box<dyn Backing>>,
}

impl Arena {
    /// Of the memory of a host.
    pub fn on(host: &'static dyn Host) -> Self {
        Arena {
            host,
            policy: MemoryPolicy::Default,
            placed: Slot::default(),
            base: Slot::default(),
            huge: Slot::default(),
            giant: Slot::default(),
            reserved: Slot::default(),
            heap: Slot::default(),
        }
    }

    /// Has all memory lie on these nodes from now on.
    pub fn put_on(&mut self, policy: MemoryPolicy) {
        *self = Arena {
            policy,
            ..Arena::on(self.host)
        };
    }

    /// The nodes of all memory, unless a case names others.
    pub fn policy(&self) -> &MemoryPolicy {
        &self.policy
    }

    /// Has the next case laid out in other physical pages.
    pub fn renew(&mut self) {
        let Arena {
            placed,
            base,
            huge,
            giant,
            reserved,
            heap,
            ..
        } = self;
        for slot in [placed, base, huge, giant, reserved, heap] {
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
        let (slot, _) = self.slot(bytes, wish);
        slot?.region(bytes)
    }

    /// The same on nodes that a case names, if it does.
    ///
    /// # Errors
    /// Also if it lies on other nodes.
    pub fn region_on(
        &mut self,
        bytes: usize,
        wish: PageRequest,
        policy: &MemoryPolicy,
    ) -> Result<(Region<'_>, Granted), Untestable> {
        match policy {
            MemoryPolicy::Default => self.region(bytes, wish),
            _ => self.new_region(bytes, wish, policy),
        }
    }

    /// The same in memory that no other case gets, whose pages may be moved.
    ///
    /// # Errors
    /// Likewise.
    pub fn new_region(
        &mut self,
        bytes: usize,
        wish: PageRequest,
        policy: &MemoryPolicy,
    ) -> Result<(Region<'_>, Granted), Untestable> {
        let policy = match policy {
            MemoryPolicy::Default => &self.policy,
            own => own,
        };
        let slot = &mut self.placed;
        slot.memory = None;
        let mut hold = |kind| slot.hold(self.host, bytes, kind, policy);
        let held = match wish {
            PageRequest::Base => hold(Kind::Populated(Pages::Base)),
            PageRequest::Huge => hold(Kind::Populated(Pages::Huge)),
            PageRequest::Giant => hold(Kind::Populated(Pages::Giant)),
            PageRequest::Reserved => hold(Kind::Reserved),
            PageRequest::HugeIfAny => {
                hold(Kind::Populated(Pages::Huge)).or_else(|_| hold(Kind::Populated(Pages::Base)))
            }
        };
        held?;
        slot.region(bytes)
    }

    /// The same for what is counted and not timed: memory of the allocator serves where the host has
    /// none in pages of a given size.
    ///
    /// # Errors
    /// If the memory or the pages are refused, with the reason.
    pub fn region_to_count(
        &mut self,
        bytes: usize,
        wish: PageRequest,
    ) -> Result<(Region<'_>, Granted), Untestable> {
        let host = self.host;
        match self.slot(bytes, wish) {
            (Err(lack), heap) if lack.is_absence() => {
                heap.hold(host, bytes, Kind::Heap, &MemoryPolicy::Default)?;
                heap.region(bytes)
            }
            (slot, _) => slot?.region(bytes),
        }
    }

    /// The slot that holds as many bytes in the pages wished for; and that of the allocator.
    fn slot(&mut self, bytes: usize, wish: PageRequest) -> (Result<&mut Slot, Lack>, &mut Slot) {
        let (host, policy) = (self.host, &self.policy);
        let (slot, kind) = match wish {
            PageRequest::Base => (&mut self.base, Kind::Populated(Pages::Base)),
            PageRequest::Huge => (&mut self.huge, Kind::Populated(Pages::Huge)),
            PageRequest::Giant => (&mut self.giant, Kind::Populated(Pages::Giant)),
            PageRequest::Reserved => (&mut self.reserved, Kind::Reserved),
            PageRequest::HugeIfAny => {
                let huge = Kind::Populated(Pages::Huge);
                if self.huge.hold(host, bytes, huge, policy).is_ok() {
                    (&mut self.huge, huge)
                } else {
                    (&mut self.base, Kind::Populated(Pages::Base))
                }
            }
        };
        let held = slot.hold(host, bytes, kind, policy);
        (held.map(|()| slot), &mut self.heap)
    }
}

impl Kind {
    fn map(
        self,
        host: &dyn Host,
        bytes: usize,
        policy: &MemoryPolicy,
    ) -> Result<Box<dyn Backing>, Lack> {
        match self {
            Kind::Populated(pages) => host.memory(bytes, pages, policy),
            Kind::Reserved => host.reserve(bytes, policy),
            Kind::Heap => Ok(Box::new(Heap::new(bytes)?)),
        }
    }
}

/// Whole lines, and never none: a count may need no memory at all.
fn whole_lines(bytes: usize) -> usize {
    bytes.next_multiple_of(LINE).max(LINE)
}

impl Slot {
    /// Has memory of at least `bytes`: what is there, or a new mapping.
    fn hold(
        &mut self,
        host: &dyn Host,
        bytes: usize,
        kind: Kind,
        policy: &MemoryPolicy,
    ) -> Result<(), Lack> {
        let bytes = whole_lines(bytes);
        if self
            .memory
            .as_ref()
            .is_none_or(|memory| memory.bytes().len() < bytes)
        {
            // Memory that is too small goes first, and so does outgoing memory if there is not
            // enough for both.
            self.memory = None;
            let memory = match kind.map(host, bytes, policy) {
                Err(_) if self.outgoing.take().is_some() => kind.map(host, bytes, policy),
                first => first,
            };
            self.memory = Some(memory?);
            self.outgoing = None;
        }
        Ok(())
    }

    /// The first `bytes` of the memory that it holds.
    fn region(&mut self, bytes: usize) -> Result<(Region<'_>, Granted), Untestable> {
        let memory = self.memory.as_mut();
        let memory = memory.ok_or_else(|| Untestable("no memory is held".to_owned()))?;
        let granted = memory.granted().clone();
        let region = Region::new(&mut memory.bytes_mut()[..whole_lines(bytes)])?;
        Ok((region, granted))
    }
}
