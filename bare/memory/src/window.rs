//! Mappings of memory in pages of a given size, each at addresses that no mapping had before.

use crate::tables::{Error, Tables};
use crate::{Area, Physical, Size};

const GIB: u64 = Size::Giant.bytes();

/// Addresses for mappings.
///
/// No address is used twice, so that the CPU cannot know an old translation of it: nothing has to be
/// invalidated, which only ring 0 could do.
#[derive(Debug)]
pub struct Window {
    tables: Tables,
    /// Addresses that nothing was mapped at, in whole GiB.
    free: Area,
}

/// Memory that is mapped in pages of one size.
#[derive(Debug, PartialEq, Eq)]
pub struct Mapped {
    /// The address at which it is.
    pub address: u64,
    /// The physical memory.
    pub memory: Area,
}

impl Window {
    /// Mappings by `tables` at addresses of `free`.
    pub fn new(tables: Tables, free: Area) -> Self {
        Window { tables, free }
    }

    /// Maps `memory` in pages of `size`. Those of 4 KiB lie in an order that `below` decides, which gives
    /// a random number below another: where neighbours lie side by side, some CPUs keep them as one page.
    ///
    /// # Errors
    /// If `memory` is no whole pages, or no addresses or no memory for tables are left. Then nothing is mapped.
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
            let done = self
                .tables
                .map(address + page, memory.start + page, size, physical);
            if let Err(error) = done {
                self.clear(&mapped, physical);
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

    /// Maps the memory of a mapping in 4 KiB pages at further addresses, page by page the same.
    ///
    /// # Errors
    /// As for [`map`](Self::map), and if the mapping is not there.
    pub fn map_again(&mut self, mapped: &Mapped, physical: &mut Physical) -> Result<Mapped, Error> {
        let again = self.reserve(mapped.memory)?;
        for page in (0..mapped.memory.bytes()).step_by(Size::Base.bytes() as usize) {
            let found = self.tables.walk(mapped.address + page);
            let done = found
                .ok_or(Error::Address(mapped.address + page))
                .and_then(|found| {
                    let address = again.address + page;
                    self.tables
                        .map(address, found.physical, Size::Base, physical)
                });
            if let Err(error) = done {
                self.clear(&again, physical);
                return Err(error);
            }
        }
        Ok(again)
    }

    /// Takes a mapping away whose memory is still used by another.
    pub fn forget(&mut self, mapped: Mapped, physical: &mut Physical) {
        self.clear(&mapped, physical);
    }

    /// Addresses for as much memory.
    fn reserve(&mut self, memory: Area) -> Result<Mapped, Error> {
        let gibs = memory.bytes().div_ceil(GIB) * GIB;
        if self.free.bytes() < gibs {
            return Err(Error::NoAddresses);
        }
        let address = self.free.start;
        self.free.start += gibs;
        Ok(Mapped { address, memory })
    }

    /// Takes a mapping away, and gives its memory back.
    pub fn unmap(&mut self, mapped: Mapped, physical: &mut Physical) {
        self.clear(&mapped, physical);
        physical.give_back(mapped.memory);
    }

    /// The size of all pages of a mapping, as a walk of the tables finds them. `None` if they differ, or
    /// if one of them leads outside of its memory.
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

    /// The physical address behind an address of a mapping.
    pub fn physical(&self, address: u64) -> Option<u64> {
        Some(self.tables.walk(address)?.physical)
    }

    fn clear(&mut self, mapped: &Mapped, physical: &mut Physical) {
        for gib in (0..mapped.memory.bytes()).step_by(GIB as usize) {
            self.tables.clear_gib(mapped.address + gib, physical);
        }
    }
}
