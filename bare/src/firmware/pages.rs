//! Memory of the firmware, and page tables of our own in it.

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
/// The least that the walks go through unless the words say otherwise, and how many times the last
/// level of the caches.
const LEAST: usize = 32 << 20;
const LAST_LEVELS: usize = 4;

/// Entries of page tables (Intel SDM volume 3A, section 5.5): present and writable, and with bit 7 a
/// page. Its memory type is that of the MTRRs, as all other bits are 0.
const TABLE: u64 = 0x03;
const PAGE: u64 = 0x83;

type Table = [u64; PAGE_SIZE / 8];

/// What the firmware keeps at least of the memory that it has free, and which share of it.
const KEPT: u64 = 64 << 20;
const SHARE_KEPT: u64 = 16;

/// Areas of free memory that are used at most, the largest of them.
const AREAS: usize = 32;

/// Memory of the firmware, which goes back to it in the end.
struct Lent {
    at: NonNull<u8>,
    count: usize,
}

impl Lent {
    /// The memory of an area, as it is.
    fn at(area: Area) -> Result<Self> {
        let count = (area.bytes() / PAGE_SIZE as u64) as usize;
        let at = AllocateType::Address(area.start);
        let at = boot::allocate_pages(at, MemoryType::LOADER_DATA, count)?;
        Ok(Self { at, count })
    }

    /// Zeros, wherever the firmware has them.
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
        // SAFETY: `new` got exactly these, and whoever borrowed them is gone.
        let _ = unsafe { boot::free_pages(self.at, self.count) };
    }
}

/// The memory that is measured: whole large pages.
pub struct Arena {
    lent: Lent,
    bytes: usize,
}

impl Arena {
    /// Room for working sets of up to `largest` bytes, or well beyond the caches. If the firmware has
    /// not that much it is half of it, or a half of that.
    pub fn of(largest: Option<usize>) -> core::result::Result<Self, Status> {
        let caches = Caches::detect();
        let last = caches.last_level().map_or(0, |cache| cache.size as usize);
        let beyond = (LAST_LEVELS * last).next_power_of_two().max(LEAST);
        let mut bytes = largest.unwrap_or(beyond).max(ROOM);
        loop {
            let whole = bytes.checked_next_multiple_of(LARGE_PAGE);
            // A large page more, so that some address in it is aligned.
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

    /// All of it.
    pub fn bytes(&mut self) -> &mut [u8] {
        let at = self.lent.at;
        // SAFETY: there is a large page more than that, and `self` is borrowed as long as this.
        unsafe {
            let aligned = at.add(at.align_offset(LARGE_PAGE));
            slice::from_raw_parts_mut(aligned.as_ptr(), self.bytes)
        }
    }
}

/// Page tables that map all memory onto itself, as the firmware's do, in pages of 2 MiB throughout.
pub struct Tables {
    _lent: Lent,
    /// What else they map.
    free: [Option<Lent>; AREAS],
    root: u64,
}

impl Tables {
    /// Builds them.
    pub fn identity() -> core::result::Result<Self, Status> {
        // Bit 47 or 51 says that a page is encrypted, where the firmware runs in such a guest (AMD64
        // volume 2, "Secure Encrypted Virtualization"); without it ours would hold nothing that makes sense.
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
        // SAFETY: they are zeroed, and as many.
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

    /// Most of the memory that the firmware has free, mapped by these tables as it is asked for.
    ///
    /// # Safety
    /// Called once, and these tables live as long as the result.
    pub unsafe fn pages(&mut self) -> Pages {
        let mut pool = Pool::new();
        for (lent, area) in self.free.iter_mut().zip(free()) {
            // What is refused, or has no room in the pool, stays unused.
            *lent = Lent::at(area).ok().filter(|_| pool.add(area));
        }
        let levels = match takeover::five_levels() {
            true => 5,
            false => 4,
        };
        // SAFETY: the firmware has lent the memory, which the tables map onto itself like their own, and
        // nobody but the result changes them.
        unsafe {
            Pages::new(
                Physical::new(pool, u64::MAX),
                linefill_bare_memory::Tables::new(self.root, levels, Access::Ring0),
            )
        }
    }
}

/// What the firmware has free, less what it keeps: of the largest area, which comes last.
fn free() -> impl Iterator<Item = Area> {
    let mut areas = [Area::default(); AREAS];
    if let Ok(map) = boot::memory_map(MemoryType::LOADER_DATA) {
        let free = map
            .entries()
            .filter(|part| part.ty == MemoryType::CONVENTIONAL);
        for part in free {
            let area = Area::new(part.phys_start, part.page_count * PAGE_SIZE as u64);
            // The areas are in ascending order of their sizes: the smallest one is replaced.
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
    // Small areas are the firmware's as well.
    areas
        .into_iter()
        .filter(|area| area.bytes() >= LARGE_PAGE as u64)
}

/// Lets the first entries point to `tables`.
fn link(entries: &mut [u64], tables: &[Table]) {
    for (entry, table) in entries.iter_mut().zip(tables) {
        *entry = address(table) | TABLE;
    }
}

/// Virtual and physical addresses are the same, in the firmware's tables and in ours.
fn address(table: &Table) -> u64 {
    table.as_ptr().addr() as u64
}

/// Where the memory ends that holds code, data and tables of anybody.
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
