//! Memory from the firmware, and the program's own page tables in it.

use core::ptr::NonNull;
use core::slice;

use linefill::cpu::Caches;
use linefill::kernel::verify::ROOM;
use linefill_bare_memory::{self as page, Access, Area, Lend, Physical, Pool, is_ordinary};
use uefi::boot::{self, AllocateType, MemoryDescriptor, MemoryType, PAGE_SIZE};
use uefi::mem::memory_map::{MemoryMap, MemoryMapOwned};
use uefi::{Result, Status};

use super::takeover;
use crate::pages::Pages;

/// Below this address, devices and firmware use memory that the map need not name.
const LOW: Area = Area { start: 0, end: 4 << 30 };
const LARGE_PAGE: usize = 2 << 20;
/// The default working set of the walks: this factor times the last cache level, but at least `LEAST`.
const LEAST: usize = 32 << 20;
const LAST_LEVELS: usize = 4;

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
            let lent = whole.and_then(|whole| whole.checked_add(LARGE_PAGE)).map(Lent::new);
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

/// Page tables that map memory onto itself, as the firmware's tables do, but only in pages of 2 MiB. The
/// entries leave the memory type to the MTRRs.
///
/// Above 4 GiB they map only what the firmware's memory map says is used: the CPU may load speculatively from
/// all that is mapped, and a hole there may raise a machine check.
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
        let areas = || [LOW].into_iter().chain(used(&map));
        let most: u64 = 1 + areas().map(page::Tables::most_tables).sum::<u64>();
        // `Physical` cuts tables from whole large pages.
        let bytes = (most as usize * PAGE_SIZE).next_multiple_of(LARGE_PAGE);
        let lent = Lent::new(bytes).map_err(|error| error.status())?;
        let mut pool = Pool::new();
        pool.add(Area::new(lent.at.addr().get() as u64, bytes as u64));
        // SAFETY: the firmware has just lent this memory, and maps it onto itself.
        let mut frames = unsafe { Physical::new(pool, u64::MAX) };
        let root = frames.lend().ok_or(Status::OUT_OF_RESOURCES)?;
        // SAFETY: only this function uses the tables, which are in that memory.
        let mut tables = unsafe { tables(root) };
        for area in areas() {
            let mapped = tables.map_onto_itself(area, &mut frames);
            mapped.map_err(|_| Status::OUT_OF_RESOURCES)?;
        }
        Ok(Self { root, _lent: lent, free: [const { None }; AREAS] })
    }

    /// The address of the root, for CR3.
    pub fn root(&self) -> u64 {
        self.root
    }

    /// Most of the firmware's free memory, and the bytes of it that are left out because they are no ordinary
    /// memory. These tables map pieces of the memory on request.
    ///
    /// # Safety
    /// This is called once, and these tables live as long as the result.
    pub unsafe fn pages(&mut self) -> (Pages, u64) {
        let mut pool = Pool::new();
        let (areas, left_out) = free();
        // Areas smaller than a large page are left to the firmware.
        let areas = areas.into_iter().filter(|area| area.bytes() >= LARGE_PAGE as u64);
        for (lent, area) in self.free.iter_mut().zip(areas) {
            // An area that the firmware refuses or that does not fit into the pool stays unused.
            *lent = Lent::at(area).ok().filter(|_| pool.add(area));
        }
        // SAFETY: the firmware has allocated the memory for this program. The tables map it and themselves
        // onto themselves, and only the result changes them.
        let pages = unsafe { Pages::new(Physical::new(pool, u64::MAX), tables(self.root)) };
        (pages, left_out)
    }
}

/// The tables at `root`, with as many levels as the CPU walks.
///
/// # Safety
/// As for `linefill_bare_memory::Tables::new`.
unsafe fn tables(root: u64) -> page::Tables {
    let levels = match takeover::five_levels() {
        true => 5,
        false => 4,
    };
    // SAFETY: the caller guarantees it.
    unsafe { page::Tables::new(root, levels, Access::Ring0) }
}

/// The firmware's free memory without the part that it keeps, which is cut from the largest area: the last
/// one. Also returns the bytes that are left out because they are no ordinary memory.
fn free() -> ([Area; AREAS], u64) {
    let mut areas = [Area::default(); AREAS];
    let mut left_out = 0;
    if let Ok(map) = boot::memory_map(MemoryType::LOADER_DATA) {
        let free = map.entries().filter(|part| part.ty == MemoryType::CONVENTIONAL);
        for part in free {
            let area = area(part);
            if !is_ordinary(part.att.bits()) {
                left_out += area.bytes();
                continue;
            }
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
    (areas, left_out)
}

/// The areas that hold code, data, tables or free memory.
fn used(map: &MemoryMapOwned) -> impl Iterator<Item = Area> {
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
    used.map(area)
}

fn area(part: &MemoryDescriptor) -> Area {
    Area::new(part.phys_start, part.page_count * PAGE_SIZE as u64)
}
