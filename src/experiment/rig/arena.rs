//! Memory that the cases of a run share, one case after another.

use crate::experiment::{PageRequest, Testable, Untestable};
use crate::host::{Backing, Granted, Heap, Host, Lack, MemoryPolicy, Pages};
use crate::mem::{LINE, Region};
use crate::prelude::*;

/// Keeps one mapping per kind of page and lends it to the cases one after another: mapping and
/// populating a quarter of a gigabyte for every point would take longer than measuring it. Memory on
/// nodes that only one case asks for is mapped anew for each such case.
#[derive(Debug)]
pub struct Arena {
    host: &'static dyn Host,
    /// The nodes of all memory, unless a case names others.
    policy: MemoryPolicy,
    /// Memory of each [`Kind`], and the memory of one case.
    slots: [Slot; 6],
    /// The fewest bytes of 2 MiB pages that were refused although all other memory was released.
    never_huge: usize,
}

/// The kind of memory in a slot.
#[derive(Clone, Copy)]
enum Kind {
    /// Pages populated at mapping.
    Populated(Pages),
    /// Pages populated at the first touch.
    Reserved,
    /// Memory of the allocator for cases that are counted and not timed, where the host has no memory in
    /// pages of the given size.
    Heap,
}

/// The slot of memory on the nodes that a case names, or that no other case gets.
const PLACED: usize = 5;

/// The memory of one kind.
#[derive(Debug, Default)]
struct Slot {
    memory: Option<Box<dyn Backing>>,
    /// The previous memory, kept until there is new memory, so that the system cannot hand out the same
    /// frames again.
    outgoing: Option<Box<dyn Backing>>,
}

impl Arena {
    /// Returns an arena without memory, which maps memory of `host` on demand.
    pub fn on(host: &'static dyn Host) -> Self {
        Arena {
            host,
            policy: MemoryPolicy::Default,
            slots: Default::default(),
            never_huge: usize::MAX,
        }
    }

    /// Places all memory on the nodes of `policy` from now on, and drops the memory held.
    pub fn put_on(&mut self, policy: MemoryPolicy) {
        *self = Arena { policy, ..Arena::on(self.host) };
    }

    /// Returns the nodes of all memory, unless a case names others.
    pub fn policy(&self) -> &MemoryPolicy {
        &self.policy
    }

    /// Makes the next case get other physical pages.
    pub fn renew(&mut self) {
        for slot in &mut self.slots {
            slot.outgoing = slot.memory.take();
        }
    }

    /// Returns a region of `bytes` bytes in the requested pages, and the pages that the system granted.
    ///
    /// # Errors
    /// If the system refuses the memory or the pages, with its reason.
    pub fn region(
        &mut self,
        bytes: usize,
        request: PageRequest,
    ) -> Testable<(Region<'_>, Granted)> {
        let policy = self.policy.clone();
        let slot = self.grant(bytes, request, Kind::slot, &policy)?;
        self.slots[slot].region(bytes)
    }

    /// Like [`Arena::region`], but on the nodes of `policy` if it names any.
    ///
    /// # Errors
    /// As for [`Arena::region`], and if the memory lies on other nodes.
    pub fn region_on(
        &mut self,
        bytes: usize,
        request: PageRequest,
        policy: &MemoryPolicy,
    ) -> Testable<(Region<'_>, Granted)> {
        match policy {
            MemoryPolicy::Default => self.region(bytes, request),
            _ => self.new_region(bytes, request, policy),
        }
    }

    /// Like [`Arena::region_on`], in memory that no other case gets, whose pages may be moved.
    ///
    /// # Errors
    /// As for [`Arena::region_on`].
    pub fn new_region(
        &mut self,
        bytes: usize,
        request: PageRequest,
        policy: &MemoryPolicy,
    ) -> Testable<(Region<'_>, Granted)> {
        let policy = match policy {
            MemoryPolicy::Default => self.policy.clone(),
            own => own.clone(),
        };
        self.slots[PLACED].memory = None;
        self.grant(bytes, request, |_| PLACED, &policy)?;
        self.slots[PLACED].region(bytes)
    }

    /// Like [`Arena::region`], for cases that are counted and not timed: where the host has no memory in
    /// pages of a given size, memory of the allocator is used.
    ///
    /// # Errors
    /// If the memory or the pages are refused, with the reason.
    pub fn region_to_count(
        &mut self,
        bytes: usize,
        request: PageRequest,
    ) -> Testable<(Region<'_>, Granted)> {
        let policy = self.policy.clone();
        let slot = match self.grant(bytes, request, Kind::slot, &policy) {
            Err(lack) if lack.is_absence() => {
                self.hold(Kind::Heap.slot(), bytes, Kind::Heap, &MemoryPolicy::Default)?
            }
            granted => granted?,
        };
        self.slots[slot].region(bytes)
    }

    /// Holds at least `bytes` bytes in the requested pages, in the slot that `slot` names for their kind.
    /// Returns the slot.
    fn grant(
        &mut self,
        bytes: usize,
        request: PageRequest,
        slot: fn(Kind) -> usize,
        policy: &MemoryPolicy,
    ) -> Result<usize, Lack> {
        let kind = match request {
            PageRequest::Base => Kind::Populated(Pages::Base),
            PageRequest::Giant => Kind::Populated(Pages::Giant),
            PageRequest::Reserved => Kind::Reserved,
            PageRequest::Huge | PageRequest::HugeIfAny => Kind::Populated(Pages::Huge),
        };
        let at = slot(kind);
        if request != PageRequest::HugeIfAny {
            return self.hold(at, bytes, kind, policy);
        }
        // Other memory is released in vain at most once, because it takes long to populate.
        let huge = match bytes < self.never_huge {
            true => self.hold(at, bytes, kind, policy),
            false => self.slots[at].hold(self.host, bytes, kind, policy).map(|()| at),
        };
        huge.or_else(|_| {
            self.never_huge = self.never_huge.min(bytes);
            let kind = Kind::Populated(Pages::Base);
            self.hold(slot(kind), bytes, kind, policy)
        })
    }

    /// Holds at least `bytes` bytes in a slot. Releases the memory of all other slots if there is not enough
    /// for both.
    fn hold(
        &mut self,
        at: usize,
        bytes: usize,
        kind: Kind,
        policy: &MemoryPolicy,
    ) -> Result<usize, Lack> {
        let mut held = self.slots[at].hold(self.host, bytes, kind, policy);
        if held.as_ref().is_err_and(|lack| !lack.is_absence()) && self.release_all_but(at) {
            held = self.slots[at].hold(self.host, bytes, kind, policy);
        }
        held.map(|()| at)
    }

    /// Releases the memory of the other slots. Returns whether there was any.
    fn release_all_but(&mut self, at: usize) -> bool {
        let mut any = false;
        for (index, slot) in self.slots.iter_mut().enumerate() {
            if index != at {
                any |= slot.release();
            }
        }
        any
    }
}

impl Kind {
    /// Returns the index of the slot of this kind.
    fn slot(self) -> usize {
        match self {
            Kind::Populated(Pages::Base) => 0,
            Kind::Populated(Pages::Huge) => 1,
            Kind::Populated(Pages::Giant) => 2,
            Kind::Reserved => 3,
            Kind::Heap => 4,
        }
    }

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

/// Rounds up to whole lines, at least one: a count may need no memory at all.
fn whole_lines(bytes: usize) -> usize {
    bytes.next_multiple_of(LINE).max(LINE)
}

impl Slot {
    /// Releases the memory of the slot. Returns whether there was any.
    fn release(&mut self) -> bool {
        let outgoing = self.outgoing.take().is_some();
        self.memory.take().is_some() || outgoing
    }

    /// Ensures that the slot holds at least `bytes` bytes: keeps its memory, or maps new memory.
    fn hold(
        &mut self,
        host: &dyn Host,
        bytes: usize,
        kind: Kind,
        policy: &MemoryPolicy,
    ) -> Result<(), Lack> {
        let bytes = whole_lines(bytes);
        if self.memory.as_ref().is_none_or(|memory| memory.bytes().len() < bytes) {
            // Memory that is too small is released first. Outgoing memory is released too if there is
            // not enough for both.
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

    /// Returns the first `bytes` bytes of the slot's memory.
    fn region(&mut self, bytes: usize) -> Testable<(Region<'_>, Granted)> {
        let memory = self.memory.as_mut();
        let memory = memory.ok_or_else(|| Untestable("no memory is held".to_owned()))?;
        let granted = memory.granted().clone();
        let region = Region::new(&mut memory.bytes_mut()[..whole_lines(bytes)])?;
        Ok((region, granted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    const MIB: usize = 1 << 20;

    /// Bytes left on a host with little memory.
    static LEFT: AtomicUsize = AtomicUsize::new(3 * MIB);

    #[derive(Debug)]
    struct Little;

    #[derive(Debug)]
    struct Part(Heap);

    impl Host for Little {
        fn name(&self) -> &'static str {
            "a host of three MiB"
        }

        fn memory(
            &self,
            bytes: usize,
            _: Pages,
            _: &MemoryPolicy,
        ) -> Result<Box<dyn Backing>, Lack> {
            let take = |left: usize| left.checked_sub(bytes);
            LEFT.fetch_update(Relaxed, Relaxed, take)
                .map_err(|_| Lack::refused("there is not so much memory"))?;
            Ok(Box::new(Part(Heap::new(bytes)?)))
        }
    }

    impl Drop for Part {
        fn drop(&mut self) {
            LEFT.fetch_add(self.0.bytes().len(), Relaxed);
        }
    }

    impl Backing for Part {
        fn bytes(&self) -> &[u8] {
            self.0.bytes()
        }

        fn bytes_mut(&mut self) -> &mut [u8] {
            self.0.bytes_mut()
        }

        fn granted(&self) -> &Granted {
            self.0.granted()
        }

        fn give_back(&mut self) -> Result<(), Lack> {
            self.0.give_back()
        }

        fn populate(&mut self) -> Result<(), Lack> {
            self.0.populate()
        }
    }

    #[test]
    fn memory_in_other_pages_goes_where_there_is_not_enough_for_both() {
        let mut arena = Arena::on(&Little);
        let mut region = |mib: usize, pages| {
            let region = arena.region(mib * MIB, pages);
            region.map(|(region, _)| region.len() / MIB)
        };
        assert_eq!(region(1, PageRequest::Base), Ok(1));
        assert_eq!(region(2, PageRequest::Huge), Ok(2));
        assert_eq!(region(3, PageRequest::Huge), Ok(3));
        assert_eq!(region(2, PageRequest::Base), Ok(2));
        // More than the host has in all.
        assert!(region(4, PageRequest::Base).is_err());
        assert_eq!(region(3, PageRequest::Giant), Ok(3));
        // Large pages where they are had, in spite of the memory in other pages.
        assert_eq!(region(3, PageRequest::HugeIfAny), Ok(3));
        assert!(arena.slots[Kind::Populated(Pages::Huge).slot()].memory.is_some());
        // The memory of one case alone, and then that of the others.
        let own = arena.new_region(3 * MIB, PageRequest::Base, &MemoryPolicy::Default);
        assert!(own.is_ok());
        assert!(arena.region(3 * MIB, PageRequest::Base).is_ok());
    }
}
