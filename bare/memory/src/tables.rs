//! Page tables (Intel SDM volume 3A, section 5.5): writes entries, and translates addresses by the same walk
//! as the CPU.

use core::fmt::{self, Display, Formatter};

use crate::{Area, Size};

/// Entries per table, and the number of address bits that select an entry.
const ENTRIES: u64 = 512;
const INDEX_BITS: u32 = 9;
const OFFSET_BITS: u32 = 12;
const MOST_LEVELS: u32 = 5;

const PRESENT: u64 = 1;
const WRITABLE: u64 = 1 << 1;
const USER: u64 = 1 << 2;
/// The CPU sets the accessed and dirty bits when it first uses an entry. Setting them in advance saves the
/// CPU that write.
const ACCESSED: u64 = 1 << 5;
const DIRTY: u64 = 1 << 6;
/// Set in an entry of level 2 or 3 that maps a page instead of pointing to a table.
const PAGE: u64 = 1 << 7;
/// The address of the table or page. In an entry for a page of 2 MiB or 1 GiB, the lowest of these bits is
/// part of the memory type.
const ADDRESS: u64 = 0x000f_ffff_ffff_f000;

/// A lender of memory for page tables.
pub trait Lend {
    /// Returns the address of 4 KiB of zeros, or `None` if no memory is left.
    fn lend(&mut self) -> Option<u64>;

    /// Takes back a frame that [`lend`](Self::lend) returned.
    fn give_back(&mut self, frame: u64);
}

/// The rings that may access mapped memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Ring 0 only.
    Ring0,
    /// All rings.
    AllRings,
}

/// Why a page cannot be mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The address is not a multiple of the page size, the tables cannot translate or hold it, or nothing is
    /// mapped at it.
    Address(u64),
    /// Something is already mapped at this address.
    Occupied(u64),
    /// No memory is left for tables.
    NoTables,
    /// No unused addresses are left.
    NoAddresses,
}

impl Display for Error {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Error::Address(address) => {
                write!(f, "{address:#x} is not where a page of this size can begin")
            }
            Error::Occupied(address) => write!(f, "something is mapped at {address:#x}"),
            Error::NoTables => f.write_str("no memory is left for page tables"),
            Error::NoAddresses => f.write_str("no addresses are left for another mapping"),
        }
    }
}

impl core::error::Error for Error {}

/// The translation of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Translation {
    /// The physical address.
    pub physical: u64,
    /// The size of the page that contains the address.
    pub size: Size,
}

/// The page tables below a root.
#[derive(Debug)]
pub struct Tables {
    root: u64,
    levels: u32,
    access: Access,
}

impl Tables {
    /// Uses the tables at `root`, with 4 or 5 `levels`. New mappings are accessible to `access`.
    ///
    /// # Safety
    /// `root` is the address of a page table. That table and all tables below it can be read and written at
    /// their physical addresses as long as the result lives, and nothing else changes them.
    pub unsafe fn new(root: u64, levels: u32, access: Access) -> Self {
        Tables { root, levels, access }
    }

    /// Maps a page at `address` to the memory at `physical`. Takes missing tables from `lend`.
    ///
    /// # Errors
    /// If an address does not fit the page size, something is mapped at `address`, or no memory is left for
    /// tables.
    pub fn map(
        &mut self,
        address: u64,
        physical: u64,
        size: Size,
        lend: &mut dyn Lend,
    ) -> Result<(), Error> {
        for wrong in [address, physical] {
            if !wrong.is_multiple_of(size.bytes()) {
                return Err(Error::Address(wrong));
            }
        }
        if physical & !ADDRESS != 0 {
            return Err(Error::Address(physical));
        }
        if !self.translates(address) {
            return Err(Error::Address(address));
        }
        let mut table = self.root;
        for level in (size.level() + 1..=self.levels).rev() {
            let entry = Entry::of(table, level, address);
            let value = entry.read();
            table = match value & PRESENT {
                0 => {
                    let frame = lend.lend().ok_or(Error::NoTables)?;
                    entry.write(frame | self.flags());
                    frame
                }
                _ if value & PAGE != 0 && level <= Size::Giant.level() => {
                    return Err(Error::Occupied(address));
                }
                _ => value & ADDRESS,
            };
        }
        let entry = Entry::of(table, size.level(), address);
        if entry.read() & PRESENT != 0 {
            return Err(Error::Occupied(address));
        }
        let page = match size {
            Size::Base => 0,
            Size::Large | Size::Giant => PAGE,
        };
        entry.write(physical | page | DIRTY | self.flags());
        Ok(())
    }

    /// Maps all pages of 2 MiB that `area` touches onto themselves. Pages that are mapped already stay mapped.
    ///
    /// # Errors
    /// As for [`map`](Self::map).
    pub fn map_onto_itself(&mut self, area: Area, lend: &mut dyn Lend) -> Result<(), Error> {
        let large = Size::Large.bytes();
        for page in (area.start / large * large..area.end).step_by(large as usize) {
            match self.map(page, page, Size::Large, lend) {
                Ok(()) | Err(Error::Occupied(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The most tables that [`map_onto_itself`](Self::map_onto_itself) takes for `area`.
    pub fn most_tables(area: Area) -> u64 {
        // At both ends, a table may be mapped by this area in part.
        let of_level = |level| area.bytes() / span(level) + 2;
        (Size::Large.level()..MOST_LEVELS).map(of_level).sum()
    }

    /// Translates `address`; `None` if nothing is mapped there.
    pub fn walk(&self, address: u64) -> Option<Translation> {
        if !self.translates(address) {
            return None;
        }
        let (entry, size) = self.leaf(address)?;
        let inside = address & (size.bytes() - 1);
        Some(Translation { physical: entry.read() & ADDRESS & !(size.bytes() - 1) | inside, size })
    }

    /// Exchanges the physical memory of two pages of 4 KiB. Returns `false`, and changes nothing, if one of
    /// them is not mapped by a page of 4 KiB.
    ///
    /// The CPU may still hold the old translations: exchange pages before they are accessed.
    pub fn exchange(&mut self, one: u64, other: u64) -> bool {
        let [Some((one, Size::Base)), Some((other, Size::Base))] =
            [one, other].map(|at| self.leaf(at))
        else {
            return false;
        };
        let value = one.read();
        one.write(other.read());
        other.write(value);
        true
    }

    /// Removes the mappings in the GiB that begins at `address`, and gives the tables below it back to
    /// `lend`. Does nothing where nothing is mapped.
    ///
    /// The CPU may still hold translations: reload CR3, or never use these addresses again.
    pub fn clear_gib(&mut self, address: u64, lend: &mut dyn Lend) {
        let level = Size::Giant.level();
        let mut table = self.root;
        for level in (level + 1..=self.levels).rev() {
            let value = Entry::of(table, level, address).read();
            if value & PRESENT == 0 {
                return;
            }
            table = value & ADDRESS;
        }
        let entry = Entry::of(table, level, address);
        let value = entry.read();
        if value & PRESENT != 0 && value & PAGE == 0 {
            give_back(value & ADDRESS, level - 1, lend);
        }
        entry.write(0);
    }

    /// Returns the entry that maps the page at `address`, and the size of the page.
    fn leaf(&self, address: u64) -> Option<(Entry, Size)> {
        let mut table = self.root;
        for level in (1..=self.levels).rev() {
            let entry = Entry::of(table, level, address);
            let value = entry.read();
            if value & PRESENT == 0 {
                return None;
            }
            let size = Size::ALL.into_iter().find(|size| size.level() == level);
            if let Some(size) = size.filter(|size| *size == Size::Base || value & PAGE != 0) {
                return Some((entry, size));
            }
            table = value & ADDRESS;
        }
        None
    }

    /// Returns whether these tables translate `address`. Addresses of the upper half (all high bits set) are
    /// not supported, as nothing here uses them.
    fn translates(&self, address: u64) -> bool {
        address >> (OFFSET_BITS + INDEX_BITS * self.levels - 1) == 0
    }

    fn flags(&self) -> u64 {
        let access = match self.access {
            Access::Ring0 => 0,
            Access::AllRings => USER,
        };
        PRESENT | WRITABLE | ACCESSED | access
    }
}

/// Gives back a table of `level` and all tables below it.
fn give_back(table: u64, level: u32, lend: &mut dyn Lend) {
    if level > 1 {
        for index in 0..ENTRIES {
            let value = Entry(table + 8 * index).read();
            if value & PRESENT != 0 && value & PAGE == 0 {
                give_back(value & ADDRESS, level - 1, lend);
            }
        }
    }
    lend.give_back(table);
}

/// The bytes that a table of `level` maps.
const fn span(level: u32) -> u64 {
    1 << (OFFSET_BITS + INDEX_BITS * level)
}

/// The address of an entry.
#[derive(Clone, Copy)]
struct Entry(u64);

impl Entry {
    /// Returns the entry of a table of `level` that `address` selects.
    fn of(table: u64, level: u32, address: u64) -> Self {
        let index = address >> (OFFSET_BITS + INDEX_BITS * (level - 1)) & (ENTRIES - 1);
        Entry(table + 8 * index)
    }

    fn read(self) -> u64 {
        // SAFETY: the entry lies in one of the tables, which the caller of `Tables::new` promised are
        // accessible. The read is volatile because the CPU reads and writes the entry as well.
        unsafe { core::ptr::with_exposed_provenance::<u64>(self.0 as usize).read_volatile() }
    }

    fn write(self, value: u64) {
        // SAFETY: as in `read`, and nothing else changes the tables.
        unsafe {
            core::ptr::with_exposed_provenance_mut::<u64>(self.0 as usize).write_volatile(value);
        }
    }
}
