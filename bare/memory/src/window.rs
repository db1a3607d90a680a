//! Mappings of memory in pages of a given size, each at addresses that were never mapped before.

use crate::tables::{Error, Tables};
use crate::{Area, Physical, Size};

const GIB: u64 = Size::Giant.bytes();

/// Addresses for mappings, and the tables that map them.
///
/// No address is used twice, so the CPU cannot hold an old translation of it. Nothing has to be invalidated,
/// which only ring 0 could do.
#[derive(Debug)]
pub struct Window {
    tables: Tables,
    /// Addresses that were never mapped, in whole GiB.
    free: Area,
}

/// Memory that is mapped in pages of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapped {
    /// The virtual address.
    pub address: u64,
    /// The physical memory.
    pub memory: Area,
}

impl Window {
    /// Creates mappings in `tables` at addresses from `free`.
    pub fn new(tables: Tables, free: Area) -> Self {
        Window { tables, free }
    }

    /// Maps `memory` in pages of `size`. Pages of 4 KiB are shuffled, because some CPUs translate adjacent
    /// pages that are adjacent in memory as one page. `below` returns a random number below its argument.
    ///
    /// # Errors
    /// If `memory` is not a whole number of pages, or no addresses or no memory for tables are left. Then
    /// nothing is mapped.
    pub fn map(
        &mut self,
        memory: Area,
        size: Size,
        physical: &mut Physical,
        below: &mut dyn FnMut(u64) -> u64,
    ) -> Result<Mapped, Error> {
        if !memory.bytes().is_multiple_of(size.bytes()) {
            return Err(Error::Address(memory.end));
        }
        let mapped = self.reserve(memory)?;
        let address = mapped.address;
        for page in (0..memory.bytes()).step_by(size.bytes() as usize) {
            let done = self.tables.map(address + page, memory.start + page, size, physical);
            if let Err(error) = done {
                self.forget(&mapped, physical);
                return Err(error);
            }
        }
        if size == Size::Base {
            let page = |index: u64| address + index * size.bytes();
            for last in (1..memory.bytes() / size.bytes()).rev() {
                self.tables.exchange(page(last), page(below(last + 1)));
            }
        }
        Ok(mapped)
    }

    /// Maps the memory of `mapped` at further addresses in 4 KiB pages, in the same page order.
    ///
    /// # Errors
    /// As for [`map`](Self::map), and if `mapped` is not mapped.
    pub fn map_again(&mut self, mapped: &Mapped, physical: &mut Physical) -> Result<Mapped, Error> {
        let again = self.reserve(mapped.memory)?;
        for page in (0..mapped.memory.bytes()).step_by(Size::Base.bytes() as usize) {
            let found = self.tables.walk(mapped.address + page);
            let done = found.ok_or(Error::Address(mapped.address + page)).and_then(|found| {
                let address = again.address + page;
                self.tables.map(address, found.physical, Size::Base, physical)
            });
            if let Err(error) = done {
                self.forget(&again, physical);
                return Err(error);
            }
        }
        Ok(again)
    }

    /// Removes a mapping but keeps its memory, which another mapping uses.
    pub fn forget(&mut self, mapped: &Mapped, physical: &mut Physical) {
        for gib in (0..mapped.memory.bytes()).step_by(GIB as usize) {
            self.tables.clear_gib(mapped.address + gib, physical);
        }
    }

    /// Reserves addresses for `memory`, rounded up to whole GiB.
    fn reserve(&mut self, memory: Area) -> Result<Mapped, Error> {
        let gibs = memory.bytes().div_ceil(GIB) * GIB;
        if self.free.bytes() < gibs {
            return Err(Error::NoAddresses);
        }
        let address = self.free.start;
        self.free.start += gibs;
        Ok(Mapped { address, memory })
    }

    /// Removes a mapping and gives its memory back.
    pub fn unmap(&mut self, mapped: Mapped, physical: &mut Physical) {
        self.forget(&mapped, physical);
        physical.give_back(mapped.memory);
    }

    /// Returns the size of the pages of a mapping, as a walk of the tables finds it. `None` if sizes differ,
    /// or a page points outside the mapping's memory.
    pub fn pages_of(&self, mapped: &Mapped) -> Option<Size> {
        let mut of_all = None;
        let mut at = 0;
        while at < mapped.memory.bytes() {
            let found = self.tables.walk(mapped.address + at)?;
            let inside = mapped.memory.start..mapped.memory.end;
            if *of_all.get_or_insert(found.size) != found.size || !inside.contains(&found.physical)
            {
                return None;
            }
            at += found.size.bytes();
        }
        of_all
    }

    /// Translates an address of a mapping to its physical address.
    pub fn physical(&self, address: u64) -> Option<u64> {
        Some(self.tables.walk(address)?.physical)
    }
}
