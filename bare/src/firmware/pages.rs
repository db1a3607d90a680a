//! Memory from the firmware, and the program's own page tables in it.

use core::ptr::NonNull;
use core::slice;

use linefill::cpu::Caches;
use linefill::kernel::verify::ROOM;
use linefill_bare_memory::{Access, Area, Physical, Pool};
use uefi::boot::{self, AllocateType, MemoryType, PAGE_SIZE};
use uefi::mem::memory_map::{MemoryMap, MemoryMapOwned};
use uefi::{Result, Status};

use super::takeover;
use crate::pages::Pages;

const GIB: u64 = 1 << 30;
const LARGE_PAGE: usize = 2 << 20;
/// The default working set of the walks: this factor times the last cache level, but at least `LEAST`.
const LEAST: usize = 32 << 20;
const LAST_LEVELS: usize = 4;

/// Entries of page tables (Intel SDM volume 3A, section 5.5): present and writable. Bit 7 marks a page
/// instead of a table. All other bits are 0, so that the MTRRs determine the memory type.
const TABLE: u64 = 0x03;
const PAGE: u64 = 0x83;

type Table = [u64; PAGE_SIZE / 8];

/// The memory that the firmware keeps: at least `KEPT` bytes, and this fraction of its free memory.
const KEPT: u64 = 64 << 20;
const SHARE_KEPT: u64 = 16;

/// The maximum number of areas of free memory that are used; the largest ones are chosen.
const AREAS: usize = 32;

/// Memory from the firmware, which is returned when this is dropped.
struct Lent {
    at: NonNull<u8>,
    count: usize,
}

impl Lent {
    /// Allocates an area at its address. It is not zeroed.
    fn at(area: Area) -> Result<Self> {
        let count = (area.bytes() / PAGE_SIZE as u64) as usize;
        let at = AllocateType::Address(area.start);
        let at = boot::allocate_pages(at, MemoryType::LOADER_DATA, count)?;
        Ok(Self { at, count })
    }

    /// Allocates zeroed memory at any address.
    fn new(bytes: usize) -> Result<Self> {
        let count = bytes.div_ceil(PAGE_SIZE);
        let at = boot::allocate_pages(AllocateType::AnyPages, MemoryType::LOADER_DATA, count)?;
        // SAFETY: the firmware has just lent these pages.
        unsafe { at.write_bytes(0, count * PAGE_SIZE) };
        Ok(Self { at, count })
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        // SAFETY: the firmware allocated exactly these pages, and no reference to them exists any more.
        let _ = unsafe { boot::free_pages(self.at, self.count) };
    }
}

/// The memory that is measured: whole large pages.
pub struct Arena {
    lent: Lent,
    bytes: usize,
}

impl Arena {
    /// Memory for working sets of up to `largest` bytes, or by default well beyond the caches. If the
    /// firmware does not have this much, the size is halved until it does.
    pub fn of(largest: Option<usize>) -> core::result::Result<Self, Status> {
        let caches = Caches::detect();
        let last = caches.last_level().map_or(0, |cache| cache.size as usize);
        let beyond = (LAST_LEVELS * last).next_power_of_two().max(LEAST);
        let mut bytes = largest.unwrap_or(beyond).max(ROOM);
        loop {
            let whole = bytes.checked_next_multiple_of(LARGE_PAGE);
            // One additional large page, so that the memory contains an aligned start.
            let lent = whole
                .and_then(|whole| whole.checked_add(LARGE_PAGE))
                .map(Lent::new);
            match (whole, lent) {
                (Some(bytes), Some(Ok(lent))) => return Ok(Self { lent, bytes }),
                (_, Some(Err(error))) if bytes <= ROOM => return Err(error.status()),
                _ => bytes = (bytes / 2).max(ROOM),
            }
        }
    }

    /// The whole memory.
    pub fn bytes(&mut self) -> &mut [u8] {
        let at = self.lent.at;
        // SAFETY: the memory has one additional large page for the alignment, and the borrow of `self` lasts
        // as long as the result.
        unsafe {
            let aligned = at.add(at.align_offset(LARGE_PAGE));
            slice::from_raw_parts_mut(aligned.as_ptr(), self.bytes)
        }
    }
}

/// Page tables that map all memory onto itself, as the firmware's tables do, but only in pages of 2 MiB.
pub struct Tables {
    _lent: Lent,
    /// Free memory that they also map.
    free: [Option<Lent>; AREAS],
    root: u64,
}

impl Tables {
    /// Builds the tables.
    pub fn identity() -> core::result::Result<Self, Status> {
        // In a guest with encrypted memory, bit 47 or 51 of an entry marks an encrypted page (AMD64 volume 2,
        // "Secure Encrypted Virtualization"). Our entries lack this bit, so the data would be unreadable.
        if takeover::first_entry() >> 46 & 0x3f != 0 {
            return Err(Status::UNSUPPORTED);
        }
        let map = boot::memory_map(MemoryType::LOADER_DATA).map_err(|error| error.status())?;
        // A directory maps 1 GiB, and a directory pointer table 512 of them.
        let directories = end(&map).div_ceil(GIB).max(4) as usize;
        let pointers = directories.div_ceil(512);
        let bytes = (directories + pointers + 2) * PAGE_SIZE;
        let lent = Lent::new(bytes).map_err(|error| error.status())?;
        let at = lent.at.cast::<Table>().as_ptr();
        // SAFETY: the memory is zeroed, and holds this number of tables.
        let tables = unsafe { slice::from_raw_parts_mut(at, bytes / PAGE_SIZE) };

        let (directories, tables) = tables.split_at_mut(directories);
        let (pointers, top) = tables.split_at_mut(pointers);
        let [level_4, level_5] = top else {
            return Err(Status::ABORTED);
        };
        for (index, entry) in directories.as_flattened_mut().iter_mut().enumerate() {
            *entry = (index * LARGE_PAGE) as u64 | PAGE;
        }
        link(pointers.as_flattened_mut(), directories);
        link(level_4, pointers);
        link(level_5, slice::from_ref(level_4));
        let root = match takeover::five_levels() {
            true => level_5,
            false => level_4,
        };
        Ok(Self {
            root: address(root),
            _lent: lent,
            free: [const { None }; AREAS],
        })
    }

    /// The address of the root, for CR3.
    pub fn root(&self) -> u64 {
        self.root
    }

    /// Most of the firmware's free memory. These tables map pieces of it on request.
    ///
    /// # Safety
    /// This is called once, and these tables live as long as the result.
    pub unsafe fn pages(&mut self) -> Pages {
        let mut pool = Pool::new();
        for (lent, area) in self.free.iter_mut().zip(free()) {
            // An area that the firmware refuses or that does not fit into the pool stays unused.
            *lent = Lent::at(area).ok().filter(|_| pool.add(area));
        }
        let levels = match takeover::five_levels() {
            true => 5,
            false => 4,
        };
        // SAFETY: the firmware has allocated the memory for this program. The tables map it and themselves
        // onto themselves, and only the result changes them.
        unsafe {
            Pages::new(
                Physical::new(pool, u64::MAX),
                linefill_bare_memory::Tables::new(self.root, levels, Access::Ring0),
            )
        }
    }
}

/// The firmware's free memory without the part that it keeps, which is cut from the largest area: the last
/// one.
fn free() -> impl Iterator<Item = Area> {
    let mut areas = [Area::default(); AREAS];
    if let Ok(map) = boot::memory_map(MemoryType::LOADER_DATA) {
        let free = map
            .entries()
            .filter(|part| part.ty == MemoryType::CONVENTIONAL);
        for part in free {
            let area = Area::new(part.phys_start, part.page_count * PAGE_SIZE as u64);
            // The areas are sorted by size: the first one is the smallest, and is replaced.
            if area.bytes() > areas[0].bytes() {
                areas[0] = area;
                areas.sort_unstable_by_key(|area| area.bytes());
            }
        }
    }
    let all: u64 = areas.iter().map(|area| area.bytes()).sum();
    let kept = (all / SHARE_KEPT).max(KEPT);
    let largest = &mut areas[AREAS - 1];
    largest.end = largest.end.saturating_sub(kept).max(largest.start);
    // Areas smaller than a large page are left to the firmware.
    areas
        .into_iter()
        .filter(|area| area.bytes() >= LARGE_PAGE as u64)
}

/// Makes the first entries point to `tables`.
fn link(entries: &mut [u64], tables: &[Table]) {
    for (entry, table) in entries.iter_mut().zip(tables) {
        *entry = address(table) | TABLE;
    }
}

/// The physical address of a table, which is its virtual address: both the firmware's tables and ours map it
/// onto itself.
fn address(table: &Table) -> u64 {
    table.as_ptr().addr() as u64
}

/// The end of the memory that holds any code, data or tables.
fn end(map: &MemoryMapOwned) -> u64 {
    let used = map.entries().filter(|part| {
        !matches!(
            part.ty,
            MemoryType::RESERVED
                | MemoryType::UNUSABLE
                | MemoryType::MMIO
                | MemoryType::MMIO_PORT_SPACE
                | MemoryType::PERSISTENT_MEMORY
        )
    });
    used.map(|part| part.phys_start + part.page_count * PAGE_SIZE as u64)
        .max()
        .unwrap_or(0)
}
