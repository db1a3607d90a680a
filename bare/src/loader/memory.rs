//! The loader's information: the command line, and the free memory.

use core::ffi::CStr;
use core::slice;

use linefill_bare_memory::{Access, Area, Map, Physical, Pool, Tables, multiboot, pvh};

use crate::pages::Pages;

/// `XEN_HVM_START_MAGIC_VALUE` (xen/include/public/arch-x86/hvm/start_info.h).
const START_MAGIC: u32 = 0x336e_c578;

/// `struct hvm_start_info` (same source).
#[derive(Clone, Copy)]
#[repr(C)]
struct StartInfo {
    magic: u32,
    version: u32,
    flags: u32,
    modules: u32,
    module_list: u64,
    command_line: u64,
    rsdp: u64,
    /// Valid since version 1.
    map: u64,
    entries: u32,
    reserved: u32,
}

/// The maximum size of a Multiboot2 loader's information.
const MOST_INFORMATION: u32 = 1 << 20;

/// Bytes per entry of the memory map.
const ENTRY_BYTES: usize = 24;

/// `boot.S` maps this many bytes onto themselves, with tables of four levels.
const ACCESSIBLE: u64 = 4 << 30;
const LEVELS: u32 = 4;

/// The BIOS and PVH loaders keep their data in this area.
const LOW: Area = Area { start: 0, end: 1 << 20 };

unsafe extern "C" {
    /// The root of the page tables in `boot.S`.
    static pml4: u8;
    /// The end of the image (`link.ld`).
    static image_end: u8;
}

/// The loader's information.
pub struct Loader {
    map: Map<'static>,
    /// The areas of this information, which must not be overwritten.
    data: [Area; 3],
}

impl Loader {
    /// Reads the information.
    ///
    /// # Safety
    /// `information` is the physical address that the loader passed in EBX, memory is identity mapped, and
    /// nothing writes to the loader's data.
    pub unsafe fn read(information: u32) -> Self {
        let nothing = Loader { map: Map::default(), data: [Area::default(); 3] };
        let at = information as usize;
        let head = core::ptr::with_exposed_provenance::<[u32; 2]>(at);
        if head.is_null() || !head.is_aligned() {
            return nothing;
        }
        // SAFETY: the caller guarantees that the address is mapped, and the information of both loaders has
        // at least this size.
        let [first, second] = unsafe { head.read() };
        if first == START_MAGIC {
            // SAFETY: the magic number identifies a PVH loader.
            return unsafe { Self::of_pvh(head.cast(), second) };
        }
        let length = first.min(MOST_INFORMATION);
        // SAFETY: otherwise it is a Multiboot2 loader's information, which begins with its size.
        let bytes = unsafe { slice::from_raw_parts(head.cast::<u8>(), length as usize) };
        Loader {
            map: multiboot(bytes),
            data: [Area::new(at as u64, length.into()), Area::default(), Area::default()],
        }
    }

    /// # Safety
    /// `information` is from a PVH loader with this version.
    unsafe fn of_pvh(information: *const StartInfo, version: u32) -> Self {
        // SAFETY: the caller guarantees the address. The fields since version 1 come last, and their place is
        // mapped memory in version 0, too.
        let information_read = unsafe { information.read() };
        let StartInfo { command_line, map, entries, .. } = information_read;
        let line = match command_line {
            0 => c"",
            // SAFETY: the protocol says that this is the address of a zero-terminated string.
            at => unsafe { CStr::from_ptr(core::ptr::with_exposed_provenance(at as usize)) },
        };
        let entries = match (version, map) {
            (0, _) | (_, 0) => &[],
            // SAFETY: the protocol says that this is the address of this number of entries.
            (_, at) => unsafe {
                let first = core::ptr::with_exposed_provenance(at as usize);
                slice::from_raw_parts(first, entries as usize * ENTRY_BYTES)
            },
        };
        let area = |bytes: &[u8]| Area::new(bytes.as_ptr().addr() as u64, bytes.len() as u64);
        let own = Area::new(information.addr() as u64, size_of::<StartInfo>() as u64);
        Loader {
            map: pvh(entries, line),
            data: [own, area(line.to_bytes_with_nul()), area(entries)],
        }
    }

    /// The words of the command line.
    pub fn command_line(&self) -> &'static str {
        self.map.command_line
    }

    /// All free memory except the loader's and the image's. The tables of `boot.S` map pieces of it on
    /// request.
    ///
    /// # Safety
    /// This is called once.
    pub unsafe fn pages(&self) -> Pages {
        let mut pool = Pool::new();
        for area in self.map.free() {
            // Memory that does not fit into the pool stays unused.
            let _ = pool.add(area);
        }
        let image = Area { start: LOW.end, end: (&raw const image_end).addr() as u64 };
        let mut taken = [LOW, image].into_iter().chain(self.data);
        // A pool that could not remove the occupied areas must not be used.
        if !taken.all(|area| pool.remove(area)) {
            pool = Pool::new();
        }
        let root = (&raw const pml4).expose_provenance() as u64;
        // SAFETY: the memory is free, `boot.S` maps it and its own tables onto themselves, and only the
        // result, of which there is one, changes them.
        unsafe {
            Pages::new(Physical::new(pool, ACCESSIBLE), Tables::new(root, LEVELS, Access::AllRings))
        }
    }
}
